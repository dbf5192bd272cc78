#!/usr/bin/env bash
# Looks for violations as long as one likes: simulated rounds on fresh seeds, rounds over a simulated network on fresh seeds,
# real processes killed at every durable step, and fuzzing, one after the other.
#
#   bash scripts/soak.sh [SECONDS]
#
# Half of the time goes to the simulation, a quarter to fuzzing, an eighth each to kills and to the network. Prints what
# each part printed, and last a line of sums. Fails when anything was violated.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-3600}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
failures=0

# Runs a part, shows and keeps what it prints, and counts whether it failed.
part() {
    local name=$1
    shift
    echo "== $name: $*"
    "$@" 2>&1 | tee -a "$logs/$name" || failures=$((failures + 1))
}

# Repeats a part until its time is over.
repeat() {
    local end=$((SECONDS + $1))
    shift
    while [ "$SECONDS" -lt "$end" ]; do
        "$@"
    done
}

# A hundred rounds in each of four worlds that nobody has seen.
network() {
    local first=$(((RANDOM << 15 | RANDOM) << 10))
    part network env TRUTHFED_NETWORK_SEEDS="$first..$((first + 4))" \
        cargo test --locked -p truthfed-node --test network -- thousand
}

kills() {
    part kills bash scripts/postgres.sh run \
        cargo test --locked -p truthfed-cli --features kill-points --test killed -- --nocapture
}

cargo build --release --locked
started=$SECONDS
part simulation "${CARGO_TARGET_DIR:-target}/release/truthfed" soak --seconds $((seconds / 2))
targets=$(find fuzz/fuzz_targets -name '*.rs' | wc -l)
cores=$(nproc)
part fuzz bash scripts/fuzz.sh $((seconds / 4 * cores / targets + 1))
repeat $((seconds / 8)) kills
repeat $((seconds / 8)) network
# What is left, for rounding, of the time that was asked for.
left=$((seconds - (SECONDS - started)))
[ "$left" -le 0 ] || part simulation "${CARGO_TARGET_DIR:-target}/release/truthfed" soak --seconds "$left"

# Sums of the numbers before a word.
sum() {
    { grep -ohE "[0-9]+ $2" "$logs/$1" || true; } | awk '{ sum += $1 } END { print sum + 0 }'
}
power=$(sed -nE 's/^.*power-lost[^0-9]*([0-9]+).*$/\1/p' "$logs/simulation" | awk '{ sum += $1 } END { print sum + 0 }')
executions=$(sed -nE 's/^fuzz: .* ([0-9]+) executions.*$/\1/p' "$logs/fuzz")
network_rounds=$(($(grep -c '^test .* ok$' "$logs/network" || true) * 400))
echo "soak: $((SECONDS - started)) s, $(sum simulation 'rounds') simulated rounds, $power losses of power," \
    "$network_rounds rounds over the network, $(sum kills 'kills') kills, ${executions:-0} fuzz executions," \
    "$failures parts failed"
[ "$failures" -eq 0 ]
