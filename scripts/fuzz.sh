#!/usr/bin/env bash
# Fuzzes targets of fuzz/: every one for some seconds, or those that are named.
#
#   bash scripts/fuzz.sh SECONDS [TARGET...]
#
# Builds all targets once, then starts each from a copy of its corpus, so that the corpus itself does not grow. Prints what
# each did, and last a line of sums. What fails is kept in fuzz/artifacts, with how to replay it on the screen.
# FUZZ_JOBS is how many run at a time; by default one for each core.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -ge 1 ] || { echo "usage: bash scripts/fuzz.sh SECONDS [TARGET...]" >&2; exit 2; }
seconds=$1
shift
[ $# -ge 1 ] || set -- $(cd fuzz/fuzz_targets && ls | sed 's/\.rs$//')

built=$(realpath -m "${CARGO_TARGET_DIR:-target}")/fuzz
host=$(rustc -vV | sed -n 's/^host: //p')
# What libFuzzer needs to see: which edges ran, and what was compared. Stable Rust is enough without a sanitizer, and there is
# no unsafe code here to sanitize. With --target, build scripts and macros are built without these flags.
flags="-Cpasses=sancov-module -Cdebug-assertions -Cdebuginfo=0 -Ccodegen-units=16"
for option in level=4 inline-8bit-counters pc-table trace-compares stack-depth; do
    flags="$flags -Cllvm-args=-sanitizer-coverage-$option"
done
RUSTFLAGS=$flags cargo build --release --locked --manifest-path fuzz/Cargo.toml --target "$host" --target-dir "$built"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Fuzzes one target; its line of results, or what went wrong.
fuzz() {
    local target=$1 log=$scratch/$1.log corpus=$scratch/$1
    mkdir -p "$corpus" "fuzz/artifacts/$target"
    cp fuzz/corpus/"$target"/* "$corpus"
    local status=0
    RAYON_NUM_THREADS=1 RUST_BACKTRACE=0 "$built/$host/release/$target" "$corpus" -max_total_time="$seconds" -max_len=8192 \
        -timeout=30 -rss_limit_mb=2048 -dict=fuzz/dictionary.txt -artifact_prefix="fuzz/artifacts/$target/" \
        -print_final_stats=1 >"$log" 2>&1 || status=$?
    local runs coverage
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    coverage=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
    if [ "$status" -eq 0 ]; then
        printf '%-16s %9s executions, coverage %s\n' "$target" "$runs" "$coverage"
        echo "$runs" >"$scratch/$target.runs"
        return
    fi
    local artifact
    artifact=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
    touch "$scratch/$target.failed"
    {
        echo "$target FAILED:"
        grep -v -e '^#' -e '^INFO' -e '^stat::' "$log" | tail -n 30
        echo "replay it:  $built/$host/release/$target $artifact"
        echo "keep it:    cp $artifact fuzz/corpus/$target/, then cargo test --manifest-path fuzz/Cargo.toml --no-default-features"
    } >&2
}
export -f fuzz
export scratch built host seconds

printf '%s\n' "$@" | xargs -P "${FUZZ_JOBS:-$(nproc)}" -I{} bash -c 'fuzz {}'
executions=$(cat "$scratch"/*.runs /dev/null | paste -sd+ | sed 's/^$/0/')
failures=$(find "$scratch" -name '*.failed' | wc -l)
echo "fuzz: $# targets, $((executions)) executions, $failures failures"
[ "$failures" -eq 0 ]
