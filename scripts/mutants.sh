#!/usr/bin/env bash
# Changes one expression at a time in the code that must not err, and shows the changes that no test notices.
#
#   bash scripts/mutants.sh [money|validation|mechanisms|ledger]...
#
# All four without a name, which takes hours. A change that does not end is noticed too: that is what TIMEOUT says. Everything
# found lies in out/mutants, by group.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -ge 1 ] || set -- money validation mechanisms ledger
export PATH="$PWD/.tools/bin:$PATH"
# The property tests draw thousands of rounds, and every change is compiled anew: between the two, a little optimisation.
export CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_PROFILE_DEV_DEBUG=0

# Changes files of a package, under the tests that are named after `--`.
mutate() {
    local group=$1 package=$2
    shift 2
    local files=()
    while [ "$1" != -- ]; do
        files+=(--file "crates/$package/src/$1")
        shift
    done
    mkdir -p "out/mutants/$group"
    echo "== $group: crates/$package/src"
    # 2: some were missed.
    cargo mutants --package "$package" --baseline skip --timeout 100 --output "out/mutants/$group" "${files[@]}" "$@" || [ $? -le 3 ]
}

for group in "$@"; do
    case $group in
        money) mutate money truthfed money.rs -- --lib money ;;
        validation)
            mutate protocol truthfed 'protocol/{checks,residual,terms}.rs' -- --lib protocol:: -- --skip protocol::tests::honest
            mutate round truthfed 'auction/round/*.rs' 'auction/{coverage,information,client}.rs' -- --lib --test vectors --test work --test theorems
            mutate wire truthfed-node journal.rs engine/intake.rs terms.rs reading.rs -- --lib
            ;;
        mechanisms)
            mutate mechanisms truthfed 'auction/{everyone,inc_feducb,truth_fedban,greedy,greedy_v2,ratchet,budget,ratio}.rs' \
                'auction/clock/*.rs' 'auction/vcg/*.rs' 'auction/{path,walk}.rs' -- --lib --test vectors --test work --test theorems
            ;;
        ledger) mutate ledger truthfed-node 'ledger/**/*.rs' claims.rs -- --lib ledger:: ;;
        *) echo "no group $group: money, validation, mechanisms or ledger" >&2; exit 2 ;;
    esac
done
