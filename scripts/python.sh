#!/usr/bin/env bash
# Builds the wheel as it is tested, installs it into an environment without the source, and runs the tests of the package.
#
# The tested wheel is built with the profile of `cargo test`: what both need is compiled once, and overflow checks and debug
# assertions are on. `make wheel` builds the one to publish.
set -euo pipefail
cd "$(dirname "$0")/.."

tools=.tools/python
python=${PYTHON:-python3}

# environment NAME: an environment with the pinned requirements of that name.
environment() {
    local place="$tools/$1" pins="python/requirements/$1.txt"
    if [ "$pins" -nt "$place/.ready" ]; then
        "$python" -m venv --clear "$place"
        "$place/bin/pip" install --quiet --disable-pip-version-check --requirement "$pins"
        # What has no wheel is built with the packages above, and not with others that pip would download for it.
        if [ -e "${pins%.txt}-source.txt" ]; then
            "$place/bin/pip" install --quiet --disable-pip-version-check --no-build-isolation --no-deps \
                --requirement "${pins%.txt}-source.txt"
        fi
        touch "$place/.ready"
    fi
}

environment build
environment test
rm -rf "$tools/dist"
nice "$tools/build/bin/maturin" build --quiet --locked --profile dev --interpreter "$python" --out "$tools/dist"
# With both packages named, the binary is made of the same libraries as the wheel.
cargo build --quiet --locked -p truthfed-py -p truthfed-cli --bin truthfed
"$tools/test/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall "$tools"/dist/truthfed-*.whl

# The tests see the installed package, never the one in the source.
target=$(realpath "${CARGO_TARGET_DIR:-target}")
here=$PWD
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
"$here/$tools/test/bin/python" -m mypy.stubtest truthfed._core --mypy-config-file "$here/pyproject.toml"
"$here/$tools/test/bin/mypy" --config-file "$here/pyproject.toml"
TRUTHFED_BINARY="$target/debug/truthfed" "$here/$tools/test/bin/python" -m pytest -c "$here/pyproject.toml" --rootdir "$here" \
    -p no:cacheprovider --nbmake "$here/python/tests" "$here"/examples/*.ipynb "$@"
