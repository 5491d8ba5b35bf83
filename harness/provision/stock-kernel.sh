#!/bin/sh
# For maintainers: the machine that `vagrant up` makes, from nothing and without Vagrant, and runs on its own, stock kernel.
#
#   sudo harness/provision/stock-kernel.sh [DIRECTORY [SCENARIO...]]      (default: build/stock-kernel st/loss raw/chosen)
#
# 1. a Debian 12 is made from nothing (debootstrap) and set up by machine.sh, as Vagrant does it;
# 2. that disk boots with Debian's kernel in qemu (with KVM if there is one, in software if not) and runs the scenarios
#    with `--engine live`. Log, verdict and report of each appear in DIRECTORY/out, on this machine.
#
# The status is 0 if every scenario was as expected. In software the machine is some thirty times slower than this one:
# scenarios with time-outs of milliseconds or many messages a second are too much for it. What is there already (the
# disk's files) is used again: remove DIRECTORY to begin from nothing. It needs 12 GB and, on two cores, about 15
# minutes.
set -eu

me=stock-kernel
. "$(dirname "$(readlink -f "$0")")/debian.sh"
need qemu-system-x86_64:qemu-system-x86
work=$(readlink -m "${1:-$repository/build/stock-kernel}")
[ $# = 0 ] || shift
[ $# != 0 ] || set -- st/loss raw/chosen
out=$work/out
rm -rf "$out"
mkdir -p "$out"

say "1. a fresh Debian 12 in $work/root"
make_system
mkdir -p "$root/out"

say "2. booting it with its own kernel"
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
make_disk "$work/disk"
boot() { # HOW ...: how qemu runs the machine's code
    timeout 3600 qemu-system-x86_64 "$@" -smp 2 -m 2048 -no-reboot -display none -monitor none \
        -kernel "$kernel" -initrd "$initrd" \
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
