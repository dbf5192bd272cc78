"""Hooks of the site: pages that are not in docs/, and links as they are in the repository.

A link that leads nowhere fails the build, as mkdocs is strict.
"""

import ast
import re
from pathlib import Path

import griffe
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
#: Pages beside docs/ by their place in the site.
BESIDE = {"index.md": "README.md", "ARCHITECTURE.md": "ARCHITECTURE.md", "CONTRIBUTING.md": "CONTRIBUTING.md", "CHANGELOG.md": "CHANGELOG.md"}
#: Files that pages link.
FILES = ["LICENSE-MIT", "LICENSE-APACHE", *(f"examples/{book.name}" for book in sorted((ROOT / "examples").glob("*.ipynb")))]
#: Names in docstrings that Sphinx would link.
ROLE = re.compile(r":(?:class|func|meth|mod|attr):(?=`)")
#: A fence with more than the kind of its block.
WORDS = re.compile(r"^( *```[a-z]+) .*$", re.MULTILINE)
#: An example in a docstring, up to an empty line.
EXAMPLE = re.compile(r"^(>>> .*?)(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)


class Docstrings(griffe.Extension):
    """Docstrings are for `help` and doctest; here their examples are blocks of code, and names that Sphinx would link are plain."""

    def on_object(self, *, obj, **others):
        """Rewrites the docstring of whatever has one."""
        if obj.docstring:
            obj.docstring.value = ROLE.sub("", EXAMPLE.sub(r"```pycon\n\1\n```", obj.docstring.value))


def on_files(files, config):
    """Adds the pages beside docs/, the notebooks, and the reference."""
    for place, name in BESIDE.items():
        text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](").replace("](README.md", "](index.md")
        files.append(File.generated(config, place, content=text))
    for name in FILES:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    files.append(File.generated(config, "reference.md", content=reference()))
    return files


def on_page_markdown(markdown, page, config, files):
    """Pages of docs/ name what is beside it by its path in the repository. The kind of a block is its first word only."""
    return WORDS.sub(r"\1", markdown.replace("](../", "]("))


def reference() -> str:
    """All public names of the package, then its other modules that have no underscore."""
    source = ROOT / "python/truthfed"
    tree = ast.parse((source / "__init__.py").read_text(encoding="utf-8"))
    [names] = [ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"]
    hosts = [path.stem for path in sorted(source.glob("*.py")) if not path.stem.startswith("_") and "Needs ``truthfed[" in path.read_text(encoding="utf-8")]
    entries = [f"truthfed.{name}" for name in names if not name.startswith("_")] + [f"truthfed.{host}" for host in [*hosts, "contextualbandits", "disjoint"]]
    return "# Reference of the Python package\n\n" + "".join(f"::: {entry}\n\n" for entry in entries)
