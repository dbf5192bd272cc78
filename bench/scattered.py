"""What a sweep on Ray or joblib costs: overhead for each cell, and the speed-up from one worker to two.

The overhead is measured with cells that compute almost nothing, beside the same cells in this process. The speed-up is measured with the
paper's setting, a second time after workers have started. Every folder must have the same bytes, otherwise the exit code is 1.
"""

import argparse
import hashlib
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import truthfed as tf
import truthfed.joblib
import truthfed.ray

EMPTY = {"world.clients": 1, "world.steps": 1, "world.arm_count": 2, "world.arms_per_step": 1}


def digest(folder: Path) -> str:
    """All files of a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return hashlib.sha256(b"".join(path.name.encode() + path.read_bytes() for path in files)).hexdigest()


def measured(run: Callable[[Path], object]) -> tuple[float, str]:
    """Seconds, and what was written."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        run(Path(folder))
        return time.perf_counter() - start, digest(Path(folder))


def main() -> int:
    """Measures, prints, and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--empty", type=int, default=2000, help="cells that compute nothing (%(default)s)")
    parser.add_argument("--cells", type=int, default=400, help="cells of the paper's setting (%(default)s)")
    arguments = parser.parse_args()
    import ray

    differ = 0
    print("host      cells  setting  one process  1 worker  2 workers  overhead per cell  speed-up")
    for config, name, cells in ((EMPTY, "empty", arguments.empty), ({}, "paper", arguments.cells)):
        options = {"grid": {"mechanism": ["clock", "greedy"]}, "seeds": cells // 2}
        alone, bytes_alone = measured(lambda out: tf.sweep(config, out=out, jobs=1, **options))
        for host in ("ray", "joblib"):
            times = []
            for workers in (1, 2):
                if host == "ray":
                    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)

                    def run(out: Path) -> object:
                        return truthfed.ray.sweep(config, out, workers=workers, **options)
                else:

                    def run(out: Path) -> object:
                        return truthfed.joblib.sweep(config, out, n_jobs=workers, **options)

                measured(run)  # workers start, and import truthfed
                seconds, written = measured(run)
                times.append(seconds)
                differ += written != bytes_alone
                if host == "ray":
                    ray.shutdown()
            overhead = f"{1000 * (times[0] - alone) / cells:.2f} ms"
            print(
                f"{host:<8}{cells:>7}  {name:<7}{alone:>11.2f} s{times[0]:>8.2f} s{times[1]:>9.2f} s{overhead:>19}{times[0] / times[1]:>10.2f}",
                flush=True,
            )
    if differ:
        print(f"error: {differ} folders differ from that of one process", file=sys.stderr)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
