"""The command ``truthfed``: the same program as the binary, within Python's process."""

from __future__ import annotations

import signal
import sys

from truthfed._core import main_with


def main() -> int:
    # Ctrl-C ends the program as it ends the binary; Python's handler would wait for the end of the command. Where the signal is
    # ignored, as in the background of a shell, it stays so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return main_with(["truthfed", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
