#!/usr/bin/env bash
# Builds the page, or tests it:
#
#   scripts/page.sh build     writes crates/truthfed-node/src/page/assets
#   scripts/page.sh test      compares these with what page/ builds, then runs the tests in Chromium
#   scripts/page.sh pictures  the same, keeps pictures of every view in out/page, and copies those of the documents
#
# Installs Debian's packages of Node.js, npm and Chromium if missing and this is root.
set -euo pipefail
cd "$(dirname "$0")/.."

need() {
    command -v "$1" >/dev/null && return
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        echo "scripts/page.sh: $1 is missing: install it" >&2
        exit 1
    fi
    apt-get update -qq && apt-get install -y -qq --no-install-recommends "$2" >/dev/null
}

need node nodejs
need npm npm
if [ page/package-lock.json -nt page/node_modules/.ready ]; then
    npm ci --prefix page --no-audit --no-fund --ignore-scripts --loglevel=error
    touch page/node_modules/.ready
fi
export PATH="$PWD/page/node_modules/.bin:$PATH"

case "${1:-}" in
build)
    tsc --noEmit --project page
    node page/build.mjs
    ;;
test | pictures)
    tsc --noEmit --project page
    node page/build.mjs --check
    need chromium chromium
    # With both packages named, it is the binary that the tests of the Python package built.
    cargo build --quiet --locked -p truthfed-py -p truthfed-cli --bin truthfed
    export TRUTHFED CHROMIUM
    TRUTHFED=$(realpath "${CARGO_TARGET_DIR:-target}")/debug/truthfed
    CHROMIUM=$(command -v chromium)
    [ "$1" = pictures ] && export SHOTS=$PWD/out/page
    node --test page/test/*.test.mjs
    if [ "$1" = pictures ]; then
        mkdir -p docs/page
        cp out/page/overview-1280-light.png docs/page/overview.png
        cp out/page/round-1280-light.png docs/page/round.png
        cp out/page/view-bars-1280-light.png docs/page/view.png
    fi
    ;;
*)
    echo "usage: scripts/page.sh build|test|pictures" >&2
    exit 2
    ;;
esac
