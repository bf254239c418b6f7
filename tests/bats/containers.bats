#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Containers without nettopo, its libraries and /run: a root directory with a shell and its libraries
# alone, and in it what etc/containers mounts there. No cluster.

bats_require_minimum_version 1.5.0

setup() {
    [ "$(id -u)" = 0 ] || skip "needs root"
    unshare --mount true 2>/dev/null || skip "no namespaces"
    root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd -P)
    cd "$BATS_TEST_TMPDIR" || return 1
    host=$BATS_TEST_TMPDIR/host box=$BATS_TEST_TMPDIR/box
    mkdir -p "$host"/usr/local/{bin,share/nettopo} "$host/run/nettopo/7" "$box"/{bin,etc,proc,run,tmp,usr}
    cp "$root/build/nettopo" "$host/usr/local/bin"
    cp "$root"/etc/containers/container-* "$host/usr/local/share/nettopo"
    cp "$root/tests/data/maps/star.json" "$host/run/nettopo/7/map.json"
    cp -L "$(command -v sh)" "$box/bin/sh"
    ldd "$box/bin/sh" | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p "$box${library%/*}" && cp -L "$library" "$box$library"
    done
    export NETTOPO_STATUS=ok NETTOPO_MAP=/run/nettopo/7/map.json NETTOPO_JSON='{"of": "no file"}'
}

# Mounts lines of "SOURCE TARGET" below the box, as container runtimes do, and runs CMD in it.
in_box() { # MOUNTS CMD...
    local mounts=$1
    shift
    # shellcheck disable=SC2016
    unshare --mount --propagation private sh -c 'mounts=$1 box=$2 host=$3; shift 3
        while read -r from to rest; do
            [ ! -e "$host$from" ] || from=$host$from
            if [ -d "$from" ]; then mkdir -p "$box$to"; else mkdir -p "$box${to%/*}" && : >>"$box$to"; fi
            mount --bind "$from" "$box$to" || exit 1
        done <"$mounts"
        exec env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/bin $(grep ^NETTOPO_ "$mounts.env") chroot "$box" "$@"' \
        sh "$mounts" "$box" "$host" "$@"
}

@test "pyxis, Apptainer: what container-mounts prints" {
    run "$host/usr/local/share/nettopo/container-mounts"
    [ "$status" = 0 ]
    [ "${#lines[@]}" = 1 ]
    [[ $output == *",/run/nettopo:/run/nettopo:ro" ]]
    tr ',' '\n' <<<"$output" | sed 's/:ro$//; s/:/ /' >mounts
    echo "NETTOPO_MAP=$NETTOPO_MAP" >mounts.env
    run in_box mounts sh -c 'nettopo validate && nettopo hint'
    echo "$output" | sed 's/^/# /' >&2
    [ "$status" = 0 ]
    [[ ${lines[0]} == "/run/nettopo/7/map.json: valid, "* ]]
    # without them there is nothing
    run ! chroot "$box" nettopo validate
}

@test "enroot: the mount file and the hook" {
    mkdir -p "$BATS_TEST_TMPDIR/hooks.d"
    sed "s,/usr/local,$host&," "$root/etc/containers/enroot-hook.sh" >"$BATS_TEST_TMPDIR/hooks.d/60-nettopo.sh"
    chmod 755 "$BATS_TEST_TMPDIR/hooks.d/60-nettopo.sh"
    grep -v '^#' "$root/etc/containers/nettopo.fstab" >mounts
    echo PATH=/bin >mounts.env
    ENROOT_ROOTFS=$box ENROOT_MOUNTS=mounts ENROOT_ENVIRON=mounts.env "$BATS_TEST_TMPDIR/hooks.d/60-nettopo.sh"
    [ "$(awk '{print $3}' mounts | sort -u)" = none ]
    [ "$(grep -c 'x-create=[a-z]*,bind,ro,nosuid,nodev,.*nofail' mounts)" = "$(wc -l <mounts)" ]
    grep -qx "NETTOPO_MAP=$NETTOPO_MAP" mounts.env
    refute=$(grep NETTOPO_JSON mounts.env) || :
    [ -z "$refute" ]
    run in_box mounts nettopo validate
    [ "$status" = 0 ]
    [[ $output == "/run/nettopo/7/map.json: valid, "* ]]
    # a job without the option, and a container with a nettopo of its own
    : >mounts
    NETTOPO_STATUS='' ENROOT_ROOTFS=$box ENROOT_MOUNTS=mounts ENROOT_ENVIRON=/dev/null "$BATS_TEST_TMPDIR/hooks.d/60-nettopo.sh"
    [ ! -s mounts ]
    # a container starts also without nettopo, as after apt-get remove, and with a nettopo that lacks a part
    sed "s,/usr/local,$BATS_TEST_TMPDIR/none," "$root/etc/containers/enroot-hook.sh" >"$BATS_TEST_TMPDIR/hooks.d/none.sh"
    mkdir -p "$BATS_TEST_TMPDIR/none/share/nettopo"
    sh "$BATS_TEST_TMPDIR/hooks.d/none.sh"
    cp "$root/etc/containers/container-mounts" "$BATS_TEST_TMPDIR/none/share/nettopo/"
    ENROOT_ROOTFS=$box ENROOT_MOUNTS=mounts ENROOT_ENVIRON=/dev/null sh "$BATS_TEST_TMPDIR/hooks.d/none.sh"
    [ ! -s mounts ]
    echo own >"$box/usr/local/bin/nettopo"
    ENROOT_ROOTFS=$box ENROOT_MOUNTS=mounts ENROOT_ENVIRON=/dev/null "$BATS_TEST_TMPDIR/hooks.d/60-nettopo.sh"
    [ ! -s mounts ]
}

@test "apt-get remove takes the plugin's line out, an installation takes it in again" {
    command -v dpkg-deb >/dev/null || skip "dpkg-deb is not installed"
    local tree=$BATS_TEST_TMPDIR/deb inst=$BATS_TEST_TMPDIR/inst script
    local line=$inst/etc/slurm/plugstack.conf.d/nettopo.conf
    mkdir -p "$tree/DEBIAN" "$tree/etc/slurm/plugstack.conf.d" "$inst/var/lib/dpkg"/{info,updates}
    touch "$inst/var/lib/dpkg"/{status,available}
    cp "$root/etc/plugstack.conf.d/nettopo.conf" "$tree/etc/slurm/plugstack.conf.d"
    printf '%s\n' 'Package: nettopo-slurm' 'Version: 1' 'Architecture: all' 'Maintainer: n <n@example.org>' 'Description: n' >"$tree/DEBIAN/control"
    echo /etc/slurm/plugstack.conf.d/nettopo.conf >"$tree/DEBIAN/conffiles"
    for script in preinst prerm; do
        grep -v DEBHELPER "$root/etc/packaging/debian/nettopo-slurm.$script" >"$tree/DEBIAN/$script"
        chmod 755 "$tree/DEBIAN/$script"
    done
    dpkg-deb --root-owner-group -b "$tree" "$tree.deb" >&2
    in_inst() { dpkg --root="$inst" --force-script-chrootless "$@" </dev/null >&2; }
    in_inst -i "$tree.deb"
    sed -i 's,^optional.*,& conf=/etc/mine,' "$line" # the administrator's
    cp "$line" before
    in_inst -r nettopo-slurm
    [ -e "$line" ]
    run grep -v '^#' "$line"
    [ -z "$output" ]
    in_inst -i "$tree.deb"
    cmp "$line" before
    in_inst -i "$tree.deb" # an upgrade
    cmp "$line" before
    in_inst -P nettopo-slurm
    [ ! -e "$line" ]
}
