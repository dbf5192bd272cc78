#!/usr/bin/env bash
# Builds the wheel as it is tested, installs it into environments without the source, and runs the tests of the package: those of
# Flower in an environment with its own Ray.
#
# The tested wheel is built with the profile of `cargo test`: what both need is compiled once, and overflow checks and debug
# assertions are on. `make wheel` builds the one to publish.
#
#   scripts/python.sh environments    only makes the environments, which takes minutes of downloading
#   scripts/python.sh -k fork         runs some of the tests
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

# Environments that somebody else makes are waited for.
mkdir -p "$tools"
exec 9> "$tools/lock"
flock 9
environment build
environment test &
test=$!
environment flower &
flower=$!
if [ "${1:-}" = environments ]; then
    wait "$test"
    wait "$flower"
    exit
fi
# What is downloaded arrives while the wheel is built.
rm -rf "$tools/dist"
nice "$tools/build/bin/maturin" build --quiet --locked --profile dev --interpreter "$python" --out "$tools/dist"
# With both packages named, the binary is made of the same libraries as the wheel.
cargo build --quiet --locked -p truthfed-py -p truthfed-cli --bin truthfed
wait "$test"
wait "$flower"
for place in test flower; do
    "$tools/$place/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall "$tools"/dist/truthfed-*.whl
done

# The tests see the installed package, never the one in the source.
target=$(realpath "${CARGO_TARGET_DIR:-target}")
here=$PWD
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
"$here/$tools/test/bin/python" -m mypy.stubtest truthfed._core --mypy-config-file "$here/pyproject.toml"
"$here/$tools/test/bin/mypy" --config-file "$here/pyproject.toml"
# With arguments, such as -k, one of the two may have no test to run.
given=$#
tests() {
    local environment=$1 folder=$2 status=0
    shift 2
    TRUTHFED_BINARY="$target/debug/truthfed" "$here/$tools/$environment/bin/python" -m pytest -c "$here/pyproject.toml" \
        --rootdir "$here" -p no:cacheprovider "$here/python/$folder" "$@" || status=$?
    [ "$status" -eq 0 ] || { [ "$status" -eq 5 ] && [ "$given" -gt 0 ]; }
}
shopt -s extglob
tests test tests --nbmake "$here"/examples/!(flower).ipynb "$@"
# What Flower brings warns of itself.
FLWR_TELEMETRY_ENABLED=0 RAY_USAGE_STATS_ENABLED=0 tests flower tests_flower -W default \
    --nbmake --nbmake-timeout=600 "$here/examples/flower.ipynb" "$@"
