#!/usr/bin/env bash
# Compares the instructions of the core cases with bench/baseline.json, or writes them down:
#
#   scripts/counts.sh check | write
#
# Installs Debian's package where valgrind is missing and this is root. The build lacks AVX-512, which valgrind does not know, and has a
# folder of its own: other builds keep theirs.
set -euo pipefail

[ $# -eq 1 ] && { [ "$1" = check ] || [ "$1" = write ]; } || {
    echo "usage: scripts/counts.sh check | write" >&2
    exit 2
}

install_valgrind() {
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        echo "scripts/counts.sh: valgrind is missing: install it" >&2
        exit 1
    fi
    local log
    log=$(mktemp)
    if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends valgrind; } \
        >"$log" 2>&1 </dev/null; then
        cat "$log" >&2
        echo "scripts/counts.sh: valgrind could not be installed" >&2
        exit 1
    fi
    rm -f "$log"
}

command -v valgrind >/dev/null || install_valgrind

export RUSTFLAGS="${RUSTFLAGS:-} --cfg disable_dispatch_avx512 --cfg disable_dispatch_sse4_2"
cargo bench --quiet --locked -p truthfed-sim --bench counts --target-dir "${CARGO_TARGET_DIR:-target}/counts" -- "$1"
