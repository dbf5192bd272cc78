#!/usr/bin/env bash
# Runs a command beside a PostgreSQL of its own, which is gone afterwards:
#
#   scripts/postgres.sh run CMD...
#
# The command finds its address in TRUTHFED_TEST_POSTGRES, and one with TLS and a password in TRUTHFED_TEST_POSTGRES_TLS. Installs
# Debian's package where PostgreSQL is missing and this is root. Nothing listens on the network: the server is reached by a
# socket in a temporary folder, and by a loopback address of its own. It does not sync to disk, so it is for tests only.
set -euo pipefail

usage() {
    echo "usage: scripts/postgres.sh run CMD..." >&2
    exit 2
}

[ "${1:-}" = run ] && [ $# -ge 2 ] || usage
shift

# The folder of the newest PostgreSQL that has both programs.
find_binaries() {
    local folder initdb
    if initdb=$(command -v initdb) && command -v pg_ctl >/dev/null; then
        # Behind a link lie the programs that belong together.
        dirname "$(readlink -f "$initdb")"
        return
    fi
    for folder in $(ls -d /usr/lib/postgresql/*/bin /usr/local/pgsql/bin /usr/pgsql-*/bin 2>/dev/null | sort -rV); do
        if [ -x "$folder/initdb" ] && [ -x "$folder/pg_ctl" ]; then
            echo "$folder"
            return
        fi
    done
    return 1
}

install_postgres() {
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        echo "scripts/postgres.sh: PostgreSQL is missing (initdb and pg_ctl): install it, 13 or later" >&2
        exit 1
    fi
    local log
    log=$(mktemp)
    # The package must not start a server of its own.
    mkdir -p /etc/postgresql-common
    [ -e /etc/postgresql-common/createcluster.conf ] ||
        echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
    if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends postgresql; } \
        >"$log" 2>&1 </dev/null; then
        cat "$log" >&2
        echo "scripts/postgres.sh: PostgreSQL could not be installed" >&2
        exit 1
    fi
    rm -f "$log"
}

binaries=$(find_binaries) || {
    install_postgres
    binaries=$(find_binaries)
}

# PostgreSQL refuses to run as root.
as_server=()
if [ "$(id -u)" -eq 0 ]; then
    user=nobody
    ! id postgres >/dev/null 2>&1 || user=postgres
    as_server=(setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups --)
fi

# Short, since the path of a socket has at most 107 bytes.
folder=$(mktemp -d /tmp/truthfed-pg.XXXXXX)
[ "$(id -u)" -ne 0 ] || chown "$user" "$folder"

server() {
    # No locale of the machine is relied on; the folder the caller stands in may be closed to the server's user.
    (cd "$folder" && env LC_ALL=C HOME="$folder" ${as_server[@]+"${as_server[@]}"} "$@")
}

stop() {
    local code=$?
    trap - EXIT INT TERM HUP
    [ ! -e "$folder/data/postmaster.pid" ] ||
        server "$binaries/pg_ctl" stop -D "$folder/data" -m immediate -w >/dev/null 2>&1 || true
    rm -rf "$folder"
    exit "$code"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

failed() {
    cat "$folder"/*.log >&2 || true
    echo "scripts/postgres.sh: $1" >&2
    exit 1
}

# All of 127.0.0.0/8 is this machine: with an address of its own the server can have the usual port.
address="127.$((RANDOM % 254 + 1)).$((RANDOM % 254 + 1)).$((RANDOM % 254 + 1))"
password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
certify() {
    local key=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes)
    server openssl req -x509 "${key[@]}" -days 2 -subj /CN=tests -keyout "$folder/root.key" -out "$folder/root.pem" &&
        server openssl req "${key[@]}" -subj /CN=server -keyout "$folder/server.key" -out "$folder/server.csr" &&
        echo "subjectAltName=IP:$address" >"$folder/names" && chmod a+r "$folder/names" &&
        server openssl x509 -req -in "$folder/server.csr" -CA "$folder/root.pem" -CAkey "$folder/root.key" -set_serial 1 \
            -days 2 -extfile "$folder/names" -out "$folder/server.pem"
}
certify >"$folder/certify.log" 2>&1 || failed "no certificates (openssl is needed)"
echo "$password" >"$folder/password" && chmod a+r "$folder/password"
server "$binaries/initdb" -D "$folder/data" -U truthfed --pwfile="$folder/password" -A trust -E UTF8 --no-locale --no-sync \
    >"$folder/initdb.log" 2>&1 || failed "initdb failed"
printf 'local all all trust\nhostssl all all 127.0.0.0/8 md5\n' >"$folder/data/pg_hba.conf"
options="-c listen_addresses='$address' -c unix_socket_directories='$folder' -c fsync=off -c full_page_writes=off"
options="$options -c ssl=on -c ssl_cert_file='$folder/server.pem' -c ssl_key_file='$folder/server.key'"
options="$options -c max_connections=200 -c shared_buffers=32MB"
server "$binaries/pg_ctl" start -D "$folder/data" -l "$folder/server.log" -o "$options" -w -t 60 \
    >"$folder/start.log" 2>&1 || failed "PostgreSQL did not start"

export TRUTHFED_TEST_POSTGRES="postgres://truthfed@${folder//\//%2F}/postgres"
export TRUTHFED_TEST_POSTGRES_TLS="postgres://truthfed:$password@$address/postgres?sslmode=verify-full&sslrootcert=$folder/root.pem"
"$@"
