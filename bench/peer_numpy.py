"""What the greedy information auction costs in numpy, beside truthfed, on the same rounds in the same run.

For every size, truthfed writes a generated round; three numpy scripts and the truthfed binary then choose
the winners and price all of them:

loop     a Python loop, one slogdet per client and step
batched  one stack of log determinants for all remaining clients at every step
lazy     stale gains in a heap as bounds, only the top few are evaluated anew, in one stack; a payment run
         starts at the winner's own turn, with the matrix and the bounds the main run had there; a winner's
         own gains along its payment run are one stack, and who is essential is one stack for all

A stack of matrices goes through Cholesky where that is faster than slogdet.

Everything runs on one thread. Reading the round is not timed on either side: truthfed's figures are the
seconds it reports for selecting and pricing. Winners must be the same and payments equal within 1e-6
(absolute plus relative; truthfed pays whole micro-units), otherwise the exit code is 1.

A second table gives the log determinants that `lazy` and truthfed evaluate, a third the time of a LinUCB step
(choose and learn) in numpy; truthfed's is in `make bench`.

A fourth table gives the time of a whole simulation of the paper's setting, which is truthfed's default. numpy
runs a loop with a kept inverse and one vectorised score per step, and the greedy auction without any payment;
truthfed runs `simulate --threads 1`, `clock` with all payments, timed as a process with start and output,
over as many seeds as fill half a second. Random numbers differ: the exit code is 1 if numpy's mean regret is
outside the range of truthfed's.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

# Read when numpy starts, which the imports below do.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

from peers.binary import TruthfedError
from peers.comparison import Results, Size, compare, compare_simulations
from peers.linucb import LINUCB_DIMENSIONS, linucb_seconds
from peers.tables import json_report, text_report

DEFAULT_SIZES = [Size(25, 5), Size(1000, 5), Size(25, 25), Size(1000, 25)]


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="example:\n  python bench/peer_numpy.py --truthfed target/release/truthfed --sizes 25,5 25,25",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--truthfed", default="target/release/truthfed", help="the binary (%(default)s)")
    parser.add_argument(
        "--sizes",
        nargs="+",
        type=Size.parse,
        default=DEFAULT_SIZES,
        metavar="N,D",
        help=f"clients,dimension of the rounds ({' '.join(map(str, DEFAULT_SIZES))})",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    return parser.parse_args()


def main() -> int:
    """Measures, prints, and returns the exit code."""
    arguments = parse_arguments()
    try:
        with tempfile.TemporaryDirectory() as folder:
            auctions = [compare(arguments.truthfed, size, Path(folder)) for size in arguments.sizes]
        simulation = compare_simulations(arguments.truthfed)
    except TruthfedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    linucb = {dimension: linucb_seconds(dimension) for dimension in LINUCB_DIMENSIONS}
    results = Results(auctions, linucb, simulation)
    print(json_report(results) if arguments.json else text_report(results))
    return 1 if results.differences() else 0


if __name__ == "__main__":
    sys.exit(main())
