#!/usr/bin/env bash
# Looks for violations as long as one likes. Beside simulated rounds on fresh seeds, for all of the time: real processes
# killed at every durable step (a quarter of it), rounds over a simulated network on fresh seeds (a quarter), and fuzzing.
#
#   bash scripts/soak.sh [SECONDS]
#
# Prints what each part printed, and last a line of sums. Fails when anything was violated.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-3600}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# Runs a part, shows and keeps what it prints, and notes whether it failed.
part() {
    local name=$1
    shift
    echo "== $name: $*"
    "$@" 2>&1 | tee -a "$logs/$name" || echo "$name" >>"$logs/failed"
}

# A hundred rounds in each of four worlds that nobody has seen.
network() {
    local first=$(((RANDOM << 15 | RANDOM) << 10))
    part network env TRUTHFED_NETWORK_SEEDS="$first..$((first + 4))" \
        cargo test --locked -p truthfed-node --test network -- thousand
}

kills() {
    part kills bash scripts/postgres.sh run \
        cargo test --locked -p truthfed-proof --test killed -- --nocapture
}

# One part after the other, the last for the time that is left.
beside() {
    while [ $((SECONDS - started)) -lt $((seconds / 4)) ]; do kills; done
    while [ $((SECONDS - started)) -lt $((seconds / 2)) ]; do network; done
    local left=$((seconds - (SECONDS - started))) targets
    targets=$(find fuzz/fuzz_targets -name '*.rs' | wc -l)
    part fuzz bash scripts/fuzz.sh $(((left > 0 ? left : 0) * $(nproc) / targets + 1))
}

# Nothing is left to build when the time begins, but for the fuzz targets.
cargo build --release --locked -p truthfed-proof
cargo test --locked --no-run -p truthfed-node --test network
cargo test --locked --no-run -p truthfed-proof --test killed
started=$SECONDS
part simulation "${CARGO_TARGET_DIR:-target}/release/truthfed-proof" soak --seconds "$seconds" &
beside
wait

# The sum of the first number on each line that is picked.
sum() {
    { grep -hE "$2" "$logs/$1" || true; } | grep -oE "$3" | awk '{ sum += $1 } END { print sum + 0 }'
}
echo "soak: $((SECONDS - started)) s, $(sum simulation ' rounds \(' '[0-9]+ rounds') simulated rounds," \
    "$(sum simulation 'power-lost' '[0-9]+ *$') losses of power," \
    "$(($(grep -c '^test .* ok$' "$logs/network" || true) * 400)) rounds over the network," \
    "$(sum kills '^[0-9]+ kills' '^[0-9]+') kills, $(sum fuzz '^fuzz: ' '[0-9]+ executions') fuzz executions;" \
    "failed: $(cat "$logs/failed" 2>/dev/null || echo nothing)"
[ ! -e "$logs/failed" ]
