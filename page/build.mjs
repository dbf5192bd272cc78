// Builds the pages into the crate that serves it, or with --check compares what is there with what would be built.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const assets = join(here, "../crates/truthfed-node/src/page/assets");
// What a browser must download, packed.
const MOST_BYTES = 300_000;

const built = await build({
  entryPoints: ["page.tsx", "member.tsx", "view.tsx", "page.css"].map((name) => join(here, "src", name)),
  bundle: true,
  minify: true,
  write: false,
  format: "esm",
  target: ["es2022", "chrome109", "firefox115", "safari16"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  charset: "utf8",
  outdir: assets,
});
const files = new Map(built.outputFiles.map((file) => [file.path.slice(assets.length + 1), Buffer.from(file.contents)]));
for (const name of ["index.html", "member.html", "view.html", "icon.svg"]) files.set(name, await readFile(join(here, "src", name)));

const packed = gzipSync(Buffer.concat([...files.values()])).length;
if (packed > MOST_BYTES) throw new Error(`the page has ${packed} bytes packed: at most ${MOST_BYTES}`);
if (process.argv.includes("--check")) {
  for (const [name, content] of files) {
    const kept = await readFile(join(assets, name)).catch(() => Buffer.alloc(0));
    if (!kept.equals(content)) throw new Error(`${name} is not what page/ builds: run \`make page\``);
  }
  console.log(`The page is fresh: ${packed} bytes packed.`);
} else {
  await mkdir(assets, { recursive: true });
  for (const [name, content] of files) await writeFile(join(assets, name), content);
  console.log(`Built the page: ${packed} bytes packed.`);
}
