#!/bin/sh
# The private kernel: Debian's newest kernel source, our configuration and patches, built as a User-Mode Linux.
#
# The source of backports is newer than the system's own and has a faster way to run guest programs; it is fetched
# without root through a package list of our own. Where it is not to be had, the system's linux-source-6.12 serves.
set -eu

recipe=$provision/kernel
target=$cache/kernel-$kernel_hash
work=$cache/build-$kernel_hash
say() { echo "tutti: $*" >&2; }
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
        -o APT::Sandbox::User=root
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
    dpkg-deb -x "$work"/linux-source-"$version"_*.deb "$work/package"
    rm -rf "$work/tree" "$work"/linux-source-*.deb
    mkdir "$work/tree"
    tar -x -J -f "$work/package/usr/src/linux-source-$version.tar.xz" -C "$work/tree" --strip-components=1
    rm -rf "$work/package"
    for patch in "$recipe"/*.patch; do (cd "$work/tree" && patch -s -p1 <"$patch"); done
    echo "$version" >"$work/source"
fi

cd "$work/tree"
# Equal recipes give equal kernels: nothing of this machine or this moment is built in.
export KBUILD_BUILD_TIMESTAMP=2020-01-01 KBUILD_BUILD_USER=tutti KBUILD_BUILD_HOST=tutti LC_ALL=C
version=$(make -s ARCH=um kernelversion)
if [ ! -e .config ]; then
    make ARCH=um defconfig >"$work/make.log" 2>&1
    scripts/kconfig/merge_config.sh -m .config "$recipe/config" >>"$work/make.log" 2>&1
    make ARCH=um olddefconfig >>"$work/make.log" 2>&1
fi
# A kernel that silently lacks an option would fail much later, and nobody would know why.
grep -E '^(CONFIG_|# CONFIG_)' "$recipe/config" | while read -r line; do
    name=$(expr "$line" : '#* *\(CONFIG_[A-Z0-9_]*\)')
    case $line in
        '# '* | *=n) if grep -q "^$name=" .config; then bad=1; else bad=0; fi ;;
        *) if grep -qxF "$line" .config; then bad=0; else bad=1; fi ;;
    esac
    [ $bad = 0 ] || { say "Linux $version cannot be configured with: $line"; exit 69; }
done

steps=1000 # about how many lines such a build prints
say "building the private kernel, Linux $version (2 to 6 minutes)"
make ARCH=um -j"$(nproc)" linux 2>"$work/make.err" |
    awk -v steps=$steps -v tty="$([ -t 2 ] && echo 1 || echo 0)" '
        { share = int(100 * NR / steps); if (share > 99) share = 99
          if (tty && share != last) printf "\r  %2d %%", share > "/dev/stderr"
          else if (!tty && share >= last + 25) { printf "  %2d %%\n", share > "/dev/stderr" } else next
          last = share }
        END { if (tty) printf "\r       \r" > "/dev/stderr" }'
if [ ! -x linux ]; then
    grep -m 5 -B 2 -A 5 'error' "$work/make.err" >&2 || tail -n 20 "$work/make.err" >&2
    say "the kernel could not be built (see above)"
    exit 69
fi
rm -rf "$target.partial"
mkdir -p "$target.partial"
cp linux "$target.partial/linux"
seccomp=false
if grep -q 'seccomp=' arch/um/os-Linux/start_up.c; then seccomp=true; fi
printf '{"version": "%s", "recipe": "%s", "seccomp": %s}\n' "$version" "$kernel_hash" "$seccomp" >"$target.partial/info.json"
touch "$target.partial/complete"
rm -rf "$target"
mv "$target.partial" "$target"
cd "$cache" && rm -rf "$work"
