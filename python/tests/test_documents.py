"""What documents show works: docstrings, and the README when it is pasted."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import json
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
import truthfed
from conftest import ROOT

#: A program, and what has an environment and tests of its own.
ELSEWHERE = {"truthfed.__main__", "truthfed.flower"}
MODULES = [name for _, name, _ in pkgutil.iter_modules(truthfed.__path__, "truthfed.") if name not in ELSEWHERE]


@pytest.mark.parametrize("name", ["truthfed", *MODULES])
def test_the_examples_of_docstrings_are_true(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


@pytest.mark.parametrize("name", ["LinUCB", "Round", "Outcome", "Terms", "Member", "Coordinator"])
def test_the_examples_of_classes_in_rust_are_true(name: str) -> None:
    example = doctest.DocTestParser().get_doctest(getattr(truthfed, name).__doc__, {}, name, None, 0)
    assert example.examples, "it has an example"
    assert doctest.DocTestRunner().run(example).failed == 0


def test_the_stubs_of_rust_say_what_help_says() -> None:
    stubs = ast.parse((ROOT / "python/truthfed/_core.pyi").read_text(encoding="utf-8"))
    core = importlib.import_module("truthfed._core")

    def check(node: ast.ClassDef | ast.FunctionDef, thing: object) -> None:
        assert (ast.get_docstring(node) or "") == (inspect.getdoc(thing) or ""), node.name

    for node in stubs.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef):
            continue
        thing = getattr(core, node.name)
        check(node, thing)
        for part in node.body if isinstance(node, ast.ClassDef) else []:
            if isinstance(part, ast.FunctionDef) and not part.name.startswith("__"):
                check(part, getattr(thing, part.name))


def test_everything_public_has_a_docstring() -> None:
    for name in truthfed.__all__:
        thing = getattr(truthfed, name)
        assert name == "__version__" or thing.__doc__, name


def test_notebooks_are_kept_without_their_output() -> None:
    books = list((ROOT / "examples").glob("*.ipynb"))
    assert books, "there are notebooks"
    for book in books:
        cells = json.loads(book.read_text(encoding="utf-8"))["cells"]
        assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells), book.name


def test_the_readme_works_when_it_is_pasted(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert blocks, "the README has a section on Python"
    done = subprocess.run([sys.executable, "-"], input="".join(blocks), cwd=tmp_path, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert os.listdir(tmp_path)
