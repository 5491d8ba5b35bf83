# For box.sh and stock-kernel.sh, which read it: a Debian 12 from nothing, set up by machine.sh, and the disk it boots from.
#
# They set $work, where everything is made ($work/root is the system), and name themselves in $me. Packages come from
# where this machine has them from: its Debian mirror, its proxy, its certificates, its pip configuration.

size_gb=8 # of the disk
here=$(dirname "$(readlink -f "$0")")
repository=$(readlink -f "$here/../..")
say() { echo "$me: $*" >&2; }
fail() { say "$*"; exit 69; }

need() { # COMMAND:PACKAGE...: says which packages are missing
    [ "$(id -u)" = 0 ] || fail "run it as root: a file system with Debian's owners is made"
    missing=
    for pair in debootstrap:debootstrap mke2fs:e2fsprogs git:git "$@"; do
        command -v "${pair%%:*}" >/dev/null || missing="$missing ${pair#*:}"
    done
    [ -z "$missing" ] || fail "missing; run: apt-get update && apt-get install -y --no-install-recommends$missing"
}

within() { # COMMAND...: in $work/root, in namespaces of its own: nothing stays mounted or running, whatever happens
    TUTTI_CACHE='' HOME=/root LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
        unshare --mount --pid --fork --kill-child sh -eu -c '
            mount -t proc proc "$1/proc"
            mount --rbind /dev "$1/dev"
            exec chroot "$@"
        ' sh "$work/root" "$@"
}

make_system() { # [CACHE]: $work/root, with what CACHE has of the kernel and the Python environment, made if it is not there
    root=$work/root
    mkdir -p "$root"
    sources=$(apt-get indextargets --format 'deb $(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        grep -E ' bookworm[a-z-]* ' | LC_ALL=C sort -u)
    mirror=$(echo "$sources" | sed -n 's/^deb \([^ ]*\) bookworm .*/\1/p' | head -n 1)
    [ -n "$mirror" ] || fail "this machine knows no mirror of Debian 12; run: apt-get update (on a Debian 12)"
    if [ ! -e "$root/etc/fresh" ]; then
        debootstrap --include=ca-certificates,udev,systemd-sysv,initramfs-tools,kmod bookworm "$root" "$mirror" \
            >"$work/debootstrap.log" || { tail -n 5 "$work/debootstrap.log" >&2; fail "debootstrap: see above"; }
        touch "$root/etc/fresh"
    fi
    echo "$sources" >"$root/etc/apt/sources.list"
    apt-config dump --format '%F "%v";%n' | grep -E '^Acquire::(http|https|Check-Valid-Until)' \
        >"$root/etc/apt/apt.conf.d/90as-outside" || true
    cp -L /etc/resolv.conf "$root/etc/resolv.conf"
    cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
    cp -r /usr/local/share/ca-certificates "$root/usr/local/share/"
    for file in /etc/pip.conf ~/.config/pip/pip.conf ~/.pip/pip.conf; do
        if [ -e "$file" ]; then cp -L "$file" "$root/etc/pip.conf"; fi
    done
    if [ -d "${1:-}" ]; then
        mkdir -p "$root/var/cache/tutti"
        cp -a -u "$1/." "$root/var/cache/tutti"
    fi
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # no service starts while the disk is made
    chmod +x "$root/usr/sbin/policy-rc.d"
    rm -rf "$root/vagrant"
    mkdir -p "$root/vagrant"
    git -c safe.directory='*' -C "$repository" archive HEAD | tar -x -C "$root/vagrant" # what a clone has
    within /vagrant/harness/provision/machine.sh >"$work/machine.log" 2>&1 ||
        { tail -n 20 "$work/machine.log" >&2; fail "machine.sh: see above"; }
    tail -n 12 "$work/machine.log"
    kernel=$(ls -v "$root"/boot/vmlinuz-* | tail -n 1)
    initrd=$root/boot/initrd.img-${kernel##*/vmlinuz-}
    printf '/dev/vda / ext4 defaults 0 1\n' >"$root/etc/fstab"
    echo tutti >"$root/etc/hostname"
}

make_disk() { # FILE: the system as a file system, which is the whole disk: it is booted with $kernel and $initrd
    rm -f "$root/usr/sbin/policy-rc.d" "$1"
    mke2fs -q -t ext4 -d "$root" "$1" 8G
}
