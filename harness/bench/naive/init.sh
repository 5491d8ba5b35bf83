#!/bin/sh
# The first process of the naive guest: what one would write first, to compare tutti with.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
mount -t tmpfs shm /dev/shm
mkdir -p /dev/pts && mount -t devpts devpts /dev/pts
ip link set lo up
cd "$NAIVE_OUT" && /usr/bin/python3 "$NAIVE_CODE/scenario.py" "$NAIVE_NODES" "$NAIVE_COUNT" >log.txt 2>&1 </dev/null
echo "$?" >status
halt -f
