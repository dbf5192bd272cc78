"""The command that the wheel installs is the binary: the same bytes, the same exit codes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROUND = "round.json"
CALLS = [
    (["--version"], 0),
    (["--help"], 0),
    (["auction", "--example"], 0),
    (["auction", ROUND, "--certify"], 0),
    (["auction", ROUND, "-m", "inc-feducb", "--certify"], 1),
    (["auction", "nothing.json"], 2),
    (["auction", ROUND, "--mechanism", "clok"], 2),
    (["mechanisms", "--json"], 0),
    (["simulate", "--seeds", "1", "--set", "world.steps=200", "--json", "--threads", "1"], 0),
    (["simulate", "--set", "world.clients=0"], 2),
    (["audit", "-m", "greedy", "--random", "50", "--runs", "0", "--json"], 0),
    (["nonsense"], 2),
    ([], 2),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("command")
    example = subprocess.run([Path(sys.executable).parent / "truthfed", "auction", "--example"], capture_output=True, check=True)
    (place / ROUND).write_bytes(example.stdout)
    return place


@pytest.mark.parametrize(("args", "code"), CALLS, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_the_command_prints_what_the_binary_prints(args: list[str], code: int, folder: Path, program: Path, command: Path) -> None:
    ours, theirs = (subprocess.run([tool, *args], cwd=folder, capture_output=True, check=False) for tool in (command, program))
    assert (ours.returncode, theirs.returncode) == (code, code)
    assert ours.stderr == theirs.stderr
    assert _without_times(ours.stdout) == _without_times(theirs.stdout)


def _without_times(text: bytes) -> bytes:
    """Without how long the auction took."""
    return re.sub(rb", in [0-9.]+ (us|ms|s)\.", b"", text)


def test_the_module_runs_as_the_command(program: Path) -> None:
    ours = subprocess.run([sys.executable, "-m", "truthfed", "mechanisms"], capture_output=True, check=True)
    assert ours.stdout == subprocess.run([program, "mechanisms"], capture_output=True, check=True).stdout


def test_a_reader_that_goes_away_is_no_error(command: Path) -> None:
    done = subprocess.run(f"{command} simulate --print-config | head -1", shell=True, capture_output=True, check=True)
    assert done.stderr == b""
