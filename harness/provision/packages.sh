#!/bin/sh
# Debian packages: says which are missing, and installs them as root, through sudo, or by asking for it (exit 69).
set -eu

run='mininet libpcap0.8 iproute2 openjdk-17-jre-headless python3-venv'
build='gcc libc6-dev make flex bison bc patch xz-utils'
tests='tshark chromium chromium-driver poppler-utils zsh corosync libcpg-dev nats-server redis-server etcd-server python3-pysyncobj'
wanted="$run $build"
case ${1:-} in
    test) wanted="$wanted $tests" ;;
    only) shift; wanted=$* ;; # what a scenario needs
esac

missing=
for package in $wanted; do
    if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)" != installed ]; then
        missing="$missing $package"
    fi
done
[ -n "$missing" ] || exit 0

install="apt-get install -y --no-install-recommends$missing"
if ! command -v apt-get >/dev/null; then
    echo "tutti: this machine has no apt-get; tutti needs Debian 12 (or its packages:$missing)" >&2
    exit 69
elif [ "$(id -u)" = 0 ]; then sudo=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then sudo='sudo -n'
elif command -v sudo >/dev/null && [ -t 0 ]; then sudo=sudo
else
    echo "tutti: Debian packages are missing; as root, run:" >&2
    echo "    apt-get update && $install" >&2
    exit 69
fi
echo "tutti: installing Debian packages:$missing" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { $sudo apt-get update && $sudo env DEBIAN_FRONTEND=noninteractive $install; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "tutti: the packages could not be installed (see above); as root, run:" >&2
    echo "    apt-get update && $install" >&2
    exit 69
fi
