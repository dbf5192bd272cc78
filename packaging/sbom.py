"""What the program is made of, as CycloneDX 1.5 JSON: cargo metadata ... | python3 packaging/sbom.py PACKAGE TREE

TREE is what `cargo tree --edges normal --prefix none` prints: exactly what is in the program, where the metadata also has what other
packages of the workspace turn on.
The same lock file gives the same bytes: no time, no serial number.
"""

import json
import sys

metadata = json.load(sys.stdin)
root_name, tree = sys.argv[1:]
built = {tuple(line.split()[:2]) for line in open(tree, encoding="utf-8") if line.strip()}
packages = {package["id"]: package for package in metadata["packages"]}
nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
hashes = {}
name = version = None
for line in open("Cargo.lock", encoding="utf-8"):
    key, _, value = line.strip().partition(" = ")
    value = value.strip('"')
    if key == "name":
        name = value
    elif key == "version":
        version = value
    elif key == "checksum":
        hashes[name, version] = value


def normal(node):
    """The dependencies that are in the program: neither of tests nor of build scripts."""
    inner = [dep["pkg"] for dep in node["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])]
    return [one for one in inner if (packages[one]["name"], f"v{packages[one]['version']}") in built]


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, kind="library"):
    found = {"type": kind, "bom-ref": purl(package), "name": package["name"], "version": package["version"]}
    if package["license"]:
        found["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    checksum = hashes.get((package["name"], package["version"]))
    if checksum:
        found["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return found | {"purl": purl(package)}


root = next(package for package in packages.values() if package["name"] == root_name)
seen, waiting = {root["id"]}, [root["id"]]
while waiting:
    for inner in normal(nodes[waiting.pop()]):
        if inner not in seen:
            seen.add(inner)
            waiting.append(inner)
inside = sorted((packages[one] for one in seen), key=purl)
document = {
    "bomFormat": "CycloneDX",
    "specVersion": "1.5",
    "version": 1,
    "metadata": {"component": component(root, "application")},
    "components": [component(package) for package in inside if package is not root],
    "dependencies": [
        {"ref": purl(package), "dependsOn": sorted(purl(packages[one]) for one in normal(nodes[package["id"]]))}
        for package in inside
    ],
}
json.dump(document, sys.stdout, indent=2)
print()
