#!/bin/sh
# A fresh Debian 12 becomes a machine for both engines. Run in it as root: by `vagrant up`, by debian.sh, by hand.
set -eu
export DEBIAN_FRONTEND=noninteractive

apt-get update -q
apt-get install -q -y --no-install-recommends linux-image-amd64 ca-certificates
cd "$(dirname "$(readlink -f "$0")")/../.."
harness/provision/packages.sh # the command sees to them only where its cache lacks something
./tutti doctor # the first start of the command installs what is missing
