#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What is released, and what the system confines: sources with checksums, the same bytes whatever the
# folder, units of systemd, a profile of AppArmor, fuzzers for others to run.

setup() {
    root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    cd "$BATS_TEST_TMPDIR" || return 1
}

@test "make dist: the last commit, twice the same bytes, with checksums and a signature" {
    git -C "$root" rev-parse HEAD >/dev/null 2>&1 || skip "no git checkout"
    git clone -q "$root" tree
    local name
    make -s -C tree dist >/dev/null
    name=$(sed -n 's/^VERSION := /nettopo-/p' tree/Makefile)
    (cd tree/build/dist && sha256sum -c --quiet SHA256SUMS)
    [ "$(tar -tzf "tree/build/dist/$name.tar.gz" | grep -c -e "^$name/Makefile$" -e "^$name/SECURITY.md$")" = 2 ]
    cp "tree/build/dist/$name.tar.gz" first
    touch tree/untracked
    command -v gpg >/dev/null || skip "gpg is not installed"
    export GNUPGHOME=$BATS_TEST_TMPDIR/keys
    mkdir -m 700 keys
    gpg --batch --quiet --passphrase '' --quick-generate-key releaser@example.org ed25519 sign never
    make -s -C tree dist SIGN=releaser@example.org >/dev/null
    cmp first "tree/build/dist/$name.tar.gz"
    gpg --verify tree/build/dist/SHA256SUMS.asc tree/build/dist/SHA256SUMS
    gpgconf --kill all
}

@test "a build is the same in another folder" {
    local folder
    for folder in one a/longer/folder; do
        mkdir -p "$folder"
        cp -r "$root/Makefile" "$root/solver" "$root/spank" "$root/prolog" "$root/ucx_probe" "$folder"
        CCACHE_DISABLE=1 make -s -C "$folder" plugin >&2
    done
    cmp one/build/spank_nettopo.so a/longer/folder/build/spank_nettopo.so
    run strings one/build/spank_nettopo.so
    [[ $output != *"$BATS_TEST_TMPDIR"* ]]
}

@test "the units of systemd are valid and confined" {
    command -v systemd-analyze >/dev/null || skip "systemd-analyze is not installed"
    cp "$root"/etc/systemd/nettopo-fleet.* .
    sed -i 's,^ExecStart=[^ ]*,ExecStart=/bin/true,; /^Documentation=/d' nettopo-fleet.service
    run systemd-analyze verify ./nettopo-fleet.service ./nettopo-fleet.timer
    echo "$output"
    [ "$status" = 0 ]
    [ -z "$output" ]
    run systemd-analyze security --offline=yes --threshold=20 ./nettopo-fleet.service
    echo "$output" | tail -n 3
    [ "$status" = 0 ]
}

@test "the profile of AppArmor is valid" {
    PATH=$PATH:/sbin:/usr/sbin command -v apparmor_parser >/dev/null || skip "apparmor_parser is not installed"
    PATH=$PATH:/sbin:/usr/sbin apparmor_parser -QK "$root/etc/apparmor.d/nettopo-probe"
    [ -e /sys/kernel/security/apparmor/profiles ] || skip "valid; this kernel does not load profiles"
    sed "s,/usr/local/libexec/nettopo/,$BATS_TEST_TMPDIR/,; s/^profile nettopo-probe/profile nettopo-probe-test/
        s/peer=nettopo-probe/peer=nettopo-probe-test/" "$root/etc/apparmor.d/nettopo-probe" >profile
    PATH=$PATH:/sbin:/usr/sbin apparmor_parser -rK profile
    cp /bin/cat nettopo-probe
    run ./nettopo-probe /etc/shadow
    PATH=$PATH:/sbin:/usr/sbin apparmor_parser -RK profile
    [ "$status" != 0 ]
}

@test "make install and uninstall keep a file that the administrator has edited" {
    # another PREFIX would build all anew, beneath the other tests
    local file made=(make -s -C "$root" DESTDIR="$PWD/to")
    "${made[@]}" install >&2
    for file in nettopo/nettopo.conf enroot/mounts.d/60-nettopo.fstab enroot/hooks.d/60-nettopo.sh; do
        cp "to/etc/$file" shipped
        echo '# edited' >>"to/etc/$file"
        cp "to/etc/$file" edited
        "${made[@]}" install >&2
        cmp edited "to/etc/$file"
        "${made[@]}" uninstall >&2
        cmp edited "to/etc/$file"
        rm "to/etc/$file"
        "${made[@]}" install >&2
        cmp shipped "to/etc/$file"
    done
    "${made[@]}" uninstall >&2
    [ -z "$(find to -type f)" ]
}
