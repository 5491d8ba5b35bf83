#!/bin/sh
# For maintainers: what `vagrant up` would make, where no box can be had, and a run on its own, stock kernel.
#
#   sudo harness/provision/stock-kernel.sh [DIRECTORY [SCENARIO...]]      (default: build/stock-kernel st/loss raw/chosen)
#
# 1. the Vagrantfile is checked by vagrant;
# 2. a Debian 12 is made from nothing (debootstrap) and set up by machine.sh, as Vagrant does it;
# 3. that disk boots with Debian's kernel in qemu (with KVM if there is one, in software if not) and runs the scenarios
#    with `--engine live`. Log, verdict and report of each appear in DIRECTORY/out, on this machine.
#
# The status is 0 if every scenario was as expected. In software the machine is some thirty times slower than this one:
# scenarios with time-outs of milliseconds or many messages a second are too much for it. What is there already (the
# disk's files) is used again: remove DIRECTORY to begin from nothing. It needs 12 GB and, on two cores, about 15
# minutes. Packages come from where this machine has them from: its Debian mirror, its proxy, its certificates, its pip
# configuration.
set -eu

here=$(dirname "$(readlink -f "$0")")
repository=$(readlink -f "$here/../..")
say() { echo "stock-kernel: $*" >&2; }
fail() { say "$*"; exit 69; }

[ "$(id -u)" = 0 ] || fail "run it as root: a file system with Debian's owners is made"
missing=
for pair in debootstrap:debootstrap qemu-system-x86_64:qemu-system-x86 mke2fs:e2fsprogs vagrant:vagrant git:git; do
    command -v "${pair%%:*}" >/dev/null || missing="$missing ${pair#*:}"
done
[ -z "$missing" ] || fail "missing; run: apt-get update && apt-get install -y --no-install-recommends$missing"

work=$(readlink -m "${1:-$repository/build/stock-kernel}")
[ $# = 0 ] || shift
[ $# != 0 ] || set -- st/loss raw/chosen
root=$work/root
out=$work/out
rm -rf "$out"
mkdir -p "$root" "$out"

say "1. the Vagrantfile"
# The providers (VirtualBox, libvirt) are not asked for: they would have to be installed to be checked.
(cd "$repository" && VAGRANT_HOME=$work/vagrant VAGRANT_CWD=$repository vagrant validate --ignore-provider)

say "2. a fresh Debian 12 in $root"
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
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # no service starts while the disk is made
chmod +x "$root/usr/sbin/policy-rc.d"
rm -rf "$root/vagrant"
mkdir -p "$root/vagrant" "$root/out"
git -c safe.directory='*' -C "$repository" archive HEAD | tar -x -C "$root/vagrant" # what a clone has
# In a mount and process namespace of its own: nothing stays mounted or running, whatever happens.
TUTTI_CACHE='' HOME=/root LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    unshare --mount --pid --fork --kill-child sh -eu -c '
        mount -t proc proc "$1/proc"
        mount --rbind /dev "$1/dev"
        exec chroot "$1" /vagrant/harness/provision/machine.sh
    ' sh "$root" >"$work/machine.log" 2>&1 || { tail -n 20 "$work/machine.log" >&2; fail "machine.sh: see above"; }
tail -n 12 "$work/machine.log"
rm "$root/usr/sbin/policy-rc.d"

say "3. booting it with its own kernel"
echo "$@" >"$root/etc/scenarios"
cat >"$root/usr/local/sbin/run-scenarios" <<'GUEST'
#!/bin/sh
mount -t 9p -o trans=virtio,version=9p2000.L out /out || exit 1
cd /vagrant
{ uname -a; nproc; ./tutti doctor; } >/out/machine.txt 2>&1
for scenario in $(cat /etc/scenarios); do
    name=$(echo "$scenario" | tr / -)
    ./tutti run --engine live --out "/out/$name" --stall 600 "$scenario" >"/out/$name.txt" 2>&1
    echo "$? $scenario" >>/out/status.txt
done
{ lsmod | grep -E 'netem|ifb|veth|bridge'; } >>/out/machine.txt
sync
GUEST
chmod +x "$root/usr/local/sbin/run-scenarios"
cat >"$root/etc/systemd/system/scenarios.service" <<'UNIT'
[Unit]
Description=The scenarios, and then off
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
ExecStart=/usr/local/sbin/run-scenarios
StandardOutput=journal+console
[Install]
WantedBy=multi-user.target
UNIT
ln -sfn ../scenarios.service "$root/etc/systemd/system/multi-user.target.wants/scenarios.service"
printf '/dev/vda / ext4 defaults 0 1\n' >"$root/etc/fstab"
echo tutti >"$root/etc/hostname"
rm -f "$work/disk"
mke2fs -q -t ext4 -d "$root" "$work/disk" 8G
kernel=$(ls -v "$root"/boot/vmlinuz-* | tail -n 1)
boot() { # HOW ...: how qemu runs the machine's code
    timeout 3600 qemu-system-x86_64 "$@" -smp 2 -m 2048 -no-reboot -display none -monitor none \
        -kernel "$kernel" -initrd "$root/boot/initrd.img-${kernel##*/vmlinuz-}" \
        -append 'root=/dev/vda rw console=ttyS0 quiet systemd.show_status=0' \
        -drive "file=$work/disk,format=raw,if=virtio,cache=unsafe" -nic none \
        -virtfs "local,path=$out,mount_tag=out,security_model=none" -serial "file:$work/console.log"
}
# A KVM that is there need not work (inside other virtual machines, for instance): software always does.
{ [ -w /dev/kvm ] && boot -accel kvm -cpu host 2>"$work/kvm.log"; } || boot -accel tcg -cpu max \
    || { tail -n 20 "$work/console.log" >&2; fail "qemu: see above"; }
rm "$work/disk"

[ -e "$out/status.txt" ] || { tail -n 20 "$work/console.log" >&2; fail "nothing was run: see $work/console.log"; }
head -n 1 "$out/machine.txt"
while read -r status scenario; do
    echo "== $scenario: $status"
    tail -n 12 "$out/$(echo "$scenario" | tr / -).txt"
done <"$out/status.txt"
! grep -qv '^0 ' "$out/status.txt"
