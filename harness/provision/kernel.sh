#!/bin/sh
# The private kernel: Debian's newest kernel source, our configuration and patches, built as a User-Mode Linux.
#
# The source of backports is newer than the system's own: it has a faster way to run guest programs, and with our
# patches of kernel/7.2 a booted kernel can be forked. It is fetched without root through a package list of our own.
# Where it is not to be had, the system's linux-source-6.12 serves.
set -eu

recipe=$provision/kernel
target=$cache/kernel-$kernel_hash
work=$cache/build-$kernel_hash
begun=$(date +%s)
lines=1210 # about as many as building prints
say() { echo "tutti: $*" >&2; }
minutes() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }
since() { minutes $(($(date +%s) - $1)); }
mkdir -p "$work"

fetch() { # VERSION: Debian's source package of that version into $work
    lists=$work/apt
    mkdir -p "$lists/lists/partial" "$lists/archives/partial"
    mirror=$(sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] *\)\{0,1\}\([^ ]*\) .*/\2/p' \
        /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null | head -n 1)
    [ -n "$mirror" ] || return 1
    keys=/usr/share/keyrings/debian-archive-keyring.gpg
    case $1 in
        6.12) suites="bookworm-backports bookworm-security" ;;
        *) suites=trixie-backports ;;
    esac
    for suite in $suites; do
        site=$mirror
        case $suite in *-security) site=${mirror%/}-security ;; esac
        echo "deb [signed-by=$keys] $site $suite main"
    done >"$lists/sources.list"
    set -- "linux-source-$1" -o "Dir::Etc::sourcelist=$lists/sources.list" -o Dir::Etc::sourceparts=- \
        -o "Dir::State::lists=$lists/lists" -o "Dir::Cache=$lists" -o "Dir::Cache::archives=$lists/archives" \
        -o Acquire::Languages=none -o APT::Sandbox::User=root
    package=$1
    shift
    apt-get "$@" update >"$work/apt.log" 2>&1 || true
    (cd "$work" && apt-get "$@" download "$package") >>"$work/apt.log" 2>&1
}

if [ ! -e "$work/source" ]; then
    for version in 7.2 6.12; do
        say "fetching the source of Linux $version"
        if fetch $version; then break; fi
        version=
    done
    if [ -z "$version" ]; then
        tail -n 5 "$work/apt.log" >&2
        say "no kernel source could be fetched (see above); run the same command again to go on"
        exit 69
    fi
    say "unpacking it, after $(since "$begun")"
    rm -rf "$work/tree"
    mkdir "$work/tree"
    # Of what a User-Mode Linux does not have, only what configures it is needed.
    dpkg-deb --fsys-tarfile "$work"/linux-source-"$version"_*.deb |
        tar -x -O "./usr/src/linux-source-$version.tar.xz" |
        xz -d -c -T 0 |
        tar -x -C "$work/tree" --strip-components=1 --wildcards \
            --exclude='*/Documentation/*/*' --exclude='*/drivers/[d-mo-su-z]*/*.[chS]' --exclude='*/sound/*.[ch]' \
            --exclude='*/drivers/net/[ew]*/*.[ch]' --exclude='*/arch/[a-tv-w]*/*.[chS]' --exclude='*.dts*' \
            --exclude='*/tools/testing'
    rm -f "$work"/linux-source-*.deb
    ls -v "$recipe"/*.patch "$recipe/$version"/*.patch 2>/dev/null |
        while read -r patch; do (cd "$work/tree" && patch -s -p1 <"$patch"); done
    echo "$version" >"$work/source"
fi

cd "$work/tree"
# Equal recipes give equal kernels: nothing of this machine or this moment is built in.
export KBUILD_BUILD_TIMESTAMP=2020-01-01 KBUILD_BUILD_USER=tutti KBUILD_BUILD_HOST=tutti LC_ALL=C
version=$(make -s ARCH=um kernelversion)
series=$recipe/$(cat "$work/source")
cat "$recipe/config" >"$work/config"
[ ! -e "$series/config" ] || cat "$series/config" >>"$work/config"
if ! KCONFIG_ALLCONFIG=$work/config make ARCH=um allnoconfig >"$work/make.log" 2>&1; then
    tail -n 5 "$work/make.log" >&2
    say "Linux $version cannot be configured (see above)"
    exit 69
fi
# A kernel that silently lacks an option would fail much later, and nobody would know why.
grep -E '^(CONFIG_|# CONFIG_)' "$work/config" | while read -r line; do
    name=$(expr "$line" : '#* *\(CONFIG_[A-Z0-9_]*\)')
    case $line in
        '# '* | *=n) if grep -q "^$name=" .config; then bad=1; else bad=0; fi ;;
        *) if grep -qxF "$line" .config; then bad=0; else bad=1; fi ;;
    esac
    [ $bad = 0 ] || { say "Linux $version cannot be configured with: $line"; exit 69; }
done

say "building the private kernel, Linux $version, after $(since "$begun")"
compiling=$(date +%s)
# Files seen so far tell how long the rest will take.
show() { # COUNT of lines that the build has printed
    share=$((100 * $1 / lines))
    [ $share -le 99 ] || share=99
    [ $share != "$shown" ] || return 0
    text="$share %, $(since "$begun") so far"
    [ $share -lt 5 ] || text="$text, about $(minutes $((($(date +%s) - compiling) * (100 - share) / share))) to go  "
    if [ -t 2 ]; then printf '\r  %s' "$text" >&2
    elif [ $share -ge $((shown + 25)) ]; then printf '  %s\n' "$text" >&2
    else return 0; fi
    shown=$share
}
# Compiling with -O1 takes two thirds of the time that -O2 takes.
make ARCH=um KCFLAGS="-O1 -finline-small-functions" -j"$(nproc)" linux 2>"$work/make.err" | {
    count=0 shown=-1
    while read -r _; do
        count=$((count + 1))
        show $count
    done
    [ ! -t 2 ] || printf '\r%60s\r' '' >&2
}
if [ ! -x linux ]; then
    grep -m 5 -B 2 -A 5 'error' "$work/make.err" >&2 || tail -n 20 "$work/make.err" >&2
    say "the kernel could not be built (see above)"
    exit 69
fi
rm -rf "$target.partial"
mkdir -p "$target.partial"
cp linux "$target.partial/linux"
has() { if [ -e "$1" ] && grep -q "$2" "$1"; then echo true; else echo false; fi; }
printf '{"version": "%s", "recipe": "%s", "seccomp": %s, "forks": %s}\n' "$version" "$kernel_hash" \
    "$(has arch/um/os-Linux/start_up.c 'seccomp=')" "$(has arch/um/kernel/fork.c template)" >"$target.partial/info.json"
touch "$target.partial/complete"
rm -rf "$target"
mv "$target.partial" "$target"
cd "$cache" && rm -rf "$work"
