#!/bin/sh
# babeld at a node that passes on packets of others; its own address, fd01::N, is known to those whom babeld tells.
set -eu
echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
ip -6 address add "fd01::$TUTTI_ME/128" dev lo
exec babeld -d 1 -I /run/babeld.pid -S /run/babeld.state -h 1 -H 1 \
    -C 'redistribute local ip fd01::/16 allow' -C 'redistribute local deny' \
    "$(ls /sys/class/net | grep eth0)"
