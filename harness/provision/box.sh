#!/bin/sh
# A box of one's own for `vagrant up`, from Debian's packages: where the public box cannot be had, or not be started.
#
#   sudo harness/provision/box.sh [DIRECTORY]      (default: build/box)
#
# DIRECTORY/tutti.box is a box for libvirt: Debian 12, set up by machine.sh, with what Vagrant expects (its user and its
# public key, sshd, sudo, qemu's agent). box/Vagrantfile goes into it: it needs neither root nor a bridge nor KVM. What
# this machine's cache has of the private kernel and the Python environment comes along; a start only looks.
#
#   apt-get install --no-install-recommends vagrant vagrant-libvirt libvirt-daemon libvirt-daemon-driver-qemu \
#       qemu-system-x86 qemu-utils
#   vagrant box add --name tutti build/box/tutti.box && TUTTI_BOX=tutti vagrant up --provider libvirt
#
# What is there already is used again: remove DIRECTORY to begin from nothing. It needs 12 GB and, on two busy cores,
# about 13 minutes; the box has 1.5 GB.
set -eu

me=box
. "$(dirname "$(readlink -f "$0")")/debian.sh"
need qemu-img:qemu-utils vagrant:vagrant
work=$(readlink -m "${1:-$repository/build/box}")

say "1. a Debian 12 in $work/root"
make_system "${TUTTI_CACHE:-/var/cache/tutti}"

say "2. what Vagrant expects of it"
within apt-get install -q -y --no-install-recommends openssh-server sudo qemu-guest-agent >"$work/vagrant.log" 2>&1 ||
    { tail -n 20 "$work/vagrant.log" >&2; fail "apt-get: see above"; }
within sh -eu -c 'id vagrant >/dev/null 2>&1 || useradd --create-home --shell /bin/bash vagrant'
echo 'vagrant ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/vagrant"
printf '127.0.0.1 localhost\n127.0.1.1 tutti\n' >"$root/etc/hosts"
for card in eth0 eth1; do printf 'allow-hotplug %s\niface %s inet dhcp\n' $card $card; done \
    >"$root/etc/network/interfaces.d/cards"
# The public half of the key pair that comes with Vagrant, which replaces it at the first start.
mkdir -p "$root/home/vagrant/.ssh"
cp "$(dpkg -L vagrant | grep '/keys/vagrant.pub$')" "$root/home/vagrant/.ssh/authorized_keys"
within chown -R vagrant:vagrant /home/vagrant/.ssh
chmod -R go= "$root/home/vagrant/.ssh"
within apt-get clean
rm -rf "$root/vagrant" # the shared folder's place
mkdir "$root/vagrant"

say "3. $work/tutti.box"
box=$work/box
rm -rf "$box"
mkdir "$box"
make_disk "$work/disk"
qemu-img convert -O qcow2 -c -o compression_type=zstd "$work/disk" "$box/box.img"
rm "$work/disk"
cp "$kernel" "$box/vmlinuz"
cp "$initrd" "$box/initrd.img"
cp "$here/box/Vagrantfile" "$box"
printf '{"provider": "libvirt", "format": "qcow2", "virtual_size": %s}\n' "$size_gb" >"$box/metadata.json"
rm -f "$work/tutti.box"
tar -c -f "$work/tutti.box" -C "$box" .
rm -r "$box"
