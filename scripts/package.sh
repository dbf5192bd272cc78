#!/usr/bin/env bash
# Makes what is installed, in dist/: a Debian package, a list of all that is in the program (CycloneDX), and a container image where
# docker answers.
#
#   scripts/package.sh build [VERSION]    VERSION: of the package, the program's by default
#   scripts/package.sh try                install, run, upgrade and remove the package in a folder of its own, without root
#
# The files of the package are in packaging/. Needs dpkg-deb, binutils and Python 3.
set -euo pipefail
cd "$(dirname "$0")/.."

# An index or a small machine takes no more; `make package` fails above it.
MOST_BYTES=15000000
# The first glibc that reads packed relocations, which make the program half a megabyte smaller: that of Debian 12.
PACKED_RELOCATIONS=2.36
target=${CARGO_TARGET_DIR:-target}
program=$target/packaged/truthfed
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)
architecture=$(dpkg --print-architecture)
work=$(mktemp -d)
pids=()
finish() {
    local code=$?
    [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
    rm -rf "$work"
    exit "$code"
}
trap finish EXIT

bill_of_materials() {
    cargo tree --locked --package truthfed-cli --edges normal --prefix none >"$work/tree"
    cargo metadata --locked --format-version 1 | python3 packaging/sbom.py truthfed-cli "$work/tree"
}

# The files of the package, into a folder.
lay_out() {
    local root=$1 package_version=$2 glibc shell
    install -D -m 755 "$program" "$root/usr/bin/truthfed"
    install -D -m 644 -t "$root/usr/lib/systemd/system" packaging/*.service
    install -D -m 644 -t "$root/usr/share/doc/truthfed" docs/operate.md docs/security.md docs/errors.md dist/truthfed.cdx.json
    gzip -9n <CHANGELOG.md >"$root/usr/share/doc/truthfed/changelog.gz"
    cat LICENSE-MIT LICENSE-APACHE >"$root/usr/share/doc/truthfed/copyright"
    mkdir -p "$root"/usr/share/{bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d}
    "$program" completions bash >"$root/usr/share/bash-completion/completions/truthfed"
    "$program" completions zsh >"$root/usr/share/zsh/vendor-completions/_truthfed"
    "$program" completions fish >"$root/usr/share/fish/vendor_completions.d/truthfed.fish"
    glibc=$({ echo "GLIBC_$PACKED_RELOCATIONS"; objdump -T "$program" | grep -o 'GLIBC_[0-9.]*'; } | sort -Vu | tail -n 1)
    install -D -m 755 -t "$root/DEBIAN" packaging/debian/*
    cat >"$root/DEBIAN/control" <<CONTROL
Package: truthfed
Version: $package_version
Architecture: $architecture
Maintainer: The truthfed authors <truthfed@example.org>
Section: science
Priority: optional
Depends: libc6 (>= ${glibc#GLIBC_}), libgcc-s1, passwd
Installed-Size: $(du -sk "$root/usr" | cut -f 1)
Description: Federated linear bandits whose clients are paid by a truthful auction
 The coordinator of a federation, the agents of its members, and the operator's commands, in one program.
CONTROL
    chmod -R u=rwX,go=rX "$root"
}

deb() {
    lay_out "$work/root-$1" "$1"
    dpkg-deb --root-owner-group --build "$work/root-$1" "$2" >/dev/null
}

build() {
    cargo rustc --profile packaged --locked --package truthfed-cli --bin truthfed -- -C link-arg=-Wl,-z,pack-relative-relocs
    local size
    size=$(stat -c %s "$program")
    echo "the program has $size bytes, at most $MOST_BYTES"
    [ "$size" -le "$MOST_BYTES" ]
    mkdir -p dist
    bill_of_materials >dist/truthfed.cdx.json
    deb "${1:-$version}" "dist/truthfed_${1:-$version}_$architecture.deb"
    ls -l dist
    if docker info >/dev/null 2>&1; then
        docker build --file packaging/Containerfile --tag "truthfed:${1:-$version}" dist
    else
        echo "no container image: docker does not answer"
    fi
}

# dpkg in a folder of its own, in which no dependency is installed. Its scripts know the folder by DPKG_ROOT.
in_folder() {
    ${fakeroot[@]+"${fakeroot[@]}"} dpkg --root="$root" --log="$work/dpkg.log" --force-not-root --force-script-chrootless \
        --force-depends --force-bad-path "$@"
}

# Runs what a unit runs, from the folder, until its coordinator is ready.
start() {
    local command
    command=$(sed -n 's/^ExecStart=//p' "$root/usr/lib/systemd/system/truthfed-coordinator.service")
    command=${command//\/usr\/bin/$root/usr/bin}
    OPTIONS='' bash -c "exec ${command//\/var\/lib/$root/var/lib}" 2>"$work/serve.log" &
    pids=($!)
    for _ in $(seq 100); do
        ! curl -sf "127.0.0.1:$port/readyz" >/dev/null || return 0
        sleep 0.1
    done
    cat "$work/serve.log" >&2
    return 1
}

stop() {
    kill "${pids[@]}"
    wait "${pids[@]}"
    pids=()
}

try() {
    local package="dist/truthfed_${version}_$architecture.deb" root="$work/folder" port=$((20000 + RANDOM % 20000)) fakeroot=()
    [ "$(id -u)" -eq 0 ] || fakeroot=(fakeroot)
    mkdir -p "$root"/var/lib/{dpkg/info,dpkg/updates,truthfed} "$root/etc"
    touch "$root"/var/lib/dpkg/{status,available} "$root"/etc/{passwd,group,shadow,gshadow}
    in_folder --install "$package"
    "$root/usr/bin/truthfed" --version
    grep -q '^truthfed:' "$root/etc/passwd"
    if command -v systemd-analyze >/dev/null; then
        # With the program where it is: what is not there is not verified.
        mkdir "$work/units"
        for unit in packaging/*.service; do
            sed "s|/usr/bin|$root/usr/bin|" "$unit" >"$work/units/$(basename "${unit/@/@ann}")"
        done
        systemd-analyze verify --man=no "$work"/units/*
    fi
    local fed="$root/var/lib/truthfed/fed"
    "$root/usr/bin/truthfed" init "$fed" --members 1 --set "listen=127.0.0.1:$((port + 1))" --set "address=127.0.0.1:$((port + 1))" \
        --set "admin=127.0.0.1:$port"
    start
    # A later version over the one that runs.
    deb "$version+1" "$work/later.deb"
    in_folder --install "$work/later.deb"
    in_folder --status truthfed | grep -q "^Version: $version+1$"
    stop
    start
    stop
    "$root/usr/bin/truthfed" ledger verify "$fed"
    in_folder --remove truthfed
    [ ! -e "$root/usr/bin/truthfed" ] && [ ! -e "$root/usr/lib/systemd/system/truthfed-coordinator.service" ]
    in_folder --purge truthfed
    [ -e "$fed/ledger.db" ]
    echo "installed, run, upgraded, run again, removed and purged; the ledger is still there"
}

case "${1:-}" in
build) build "${2:-}" ;;
try) try ;;
*)
    echo "usage: scripts/package.sh build [VERSION] | try" >&2
    exit 2
    ;;
esac
