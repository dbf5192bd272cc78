"""A real SuperLink on loopback, its nodes, and `flwr run`."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from conftest import ROOT

APP = ROOT / "examples/flower"
QUIET = {"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0"}
#: Far more than anything takes, also on a machine with much else to do.
PATIENCE = 600.0


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Link:
    """A SuperLink with everything it keeps in a folder."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self.folder, self.port = folder, free_port()
        tools = Path(sys.executable).parent
        self.env = {**os.environ, **QUIET, "FLWR_HOME": str(folder / "home"), "TRUTHFED_MEMBERS": str(folder / "members"), **env}
        self.env["PATH"] = f"{tools}{os.pathsep}{self.env['PATH']}"
        (folder / "home").mkdir(parents=True)
        connection = f'[superlink]\ndefault = "test"\n\n[superlink.test]\naddress = "127.0.0.1:{self.port}"\ninsecure = true\n'
        (folder / "home/config.toml").write_text(connection)

    @contextmanager
    def started(self, name: str, *args: str) -> Iterator[None]:
        """A program of Flower while it is needed."""
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(args, env=self.env, cwd=self.folder, stdout=log, stderr=log, start_new_session=True)
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE)

    def logs(self) -> str:
        return "\n".join(path.name + "\n" + path.read_text(errors="replace")[-4000:] for path in self.folder.glob("*.log"))

    def wait_until_it_answers(self) -> None:
        give_up = time.monotonic() + PATIENCE
        while time.monotonic() < give_up:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=5)
                return
            except urllib.error.HTTPError:
                return
            except OSError:
                time.sleep(0.1)
        raise AssertionError(f"no SuperLink answers\n{self.logs()}")

    def run(self, **config: Any) -> dict[str, Any]:
        """What the app wrote."""
        out = self.folder / "out.json"
        given = " ".join(f"{key.replace('_', '-')}={json.dumps(value)}" for key, value in {**config, "out": str(out)}.items())
        nodes = f"num-supernodes={config['num_nodes']}"
        args = ["flwr", "run", str(APP), "test", "--run-config", given, "--federation-config", nodes, "--stream"]
        done = subprocess.run(args, env=self.env, cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert out.exists(), f"{done.stdout}\n{done.stderr}\n{self.logs()}"
        result: dict[str, Any] = json.loads(out.read_text())
        return result


@contextmanager
def link(folder: Path, nodes: int | None = None, env: dict[str, str] | None = None) -> Iterator[Link]:
    """A SuperLink that simulates its nodes, or one with so many SuperNodes; `env` is for all of them."""
    made = Link(folder, env or {})
    about = ["--insecure", "--disable-runtime-dependency-installation", "--host", "127.0.0.1", "--port", str(made.port)]
    with ExitStack() as stack:
        simulates = ["--simulation"] if nodes is None else []
        stack.enter_context(made.started("superlink", "flower-superlink", *about, *simulates))
        made.wait_until_it_answers()
        for node in range(nodes or 0):
            address = ["--superlink", f"127.0.0.1:{made.port}", "--port", str(free_port())]
            which = ["--node-config", f"partition-id={node}"]
            stack.enter_context(made.started(f"supernode-{node}", "flower-supernode", "--insecure", *address, *which))
        yield made
