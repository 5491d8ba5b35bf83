#!/bin/sh
# The Python environment: the system's Python 3.11 (Mininet is Debian's package for it), everything else pinned.
set -eu

target=$cache/python-$python_hash
partial=$target.partial
echo "tutti: making the Python environment (about a minute)" >&2
mkdir -p "$cache"
[ -x "$partial/bin/pip" ] || { rm -rf "$partial"; /usr/bin/python3 -m venv "$partial"; }
if ! "$partial/bin/pip" install --quiet --disable-pip-version-check --no-input --require-hashes \
        -r "$here/requirements.lock" >"$partial/log" 2>&1; then
    tail -n 20 "$partial/log" >&2
    echo "tutti: the Python packages could not be installed (see above); run the same command again to go on" >&2
    exit 69
fi
ln -sfn /usr/lib/python3/dist-packages/mininet "$partial/lib/python3.11/site-packages/mininet"
"$partial/bin/python" -m compileall -q "$partial/lib/python3.11/site-packages" >/dev/null 2>&1 || true
touch "$partial/complete"
rm -rf "$target"
mv "$partial" "$target"
