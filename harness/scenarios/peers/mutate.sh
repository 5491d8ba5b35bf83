#!/bin/sh
# A copy of PySyncObj as Debian has it, with a mistake: mutate.sh nothing | minority | order
set -eu
cp -r /usr/lib/python3/dist-packages/pysyncobj .
rm -rf pysyncobj/__pycache__
case $1 in
nothing) exit ;;
minority) from='if count > (len(self.__otherNodes) + 1) \/ 2:' to='if count > 0:' ;;  # the leader alone commits
order) from='for entry in entries:' to='for entry in reversed(entries):' ;;          # the last one is applied first
*) echo "there is no mistake called $1" >&2; exit 1 ;;
esac
sed -i "s/$from/$to/" pysyncobj/syncobj.py
[ "$(diff /usr/lib/python3/dist-packages/pysyncobj/syncobj.py pysyncobj/syncobj.py | grep -c '^>')" = 1 ] || {
    echo "this version of PySyncObj has not the one line for the mistake $1" >&2
    exit 1
}
