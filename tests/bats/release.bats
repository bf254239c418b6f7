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

@test "systemd makes the users and the directory that nettopo.conf names, none twice" {
    local file key
    for file in sysusers tmpfiles; do
        command -v "systemd-$file" >/dev/null || skip "systemd-$file is not installed"
        install -D -m 644 "$root/etc/systemd/nettopo.$file" "to/usr/local/lib/$file.d/nettopo.conf"
    done
    mkdir to/etc
    systemd-sysusers --root="$PWD/to" nettopo.conf
    cp to/etc/passwd once
    systemd-sysusers --root="$PWD/to" nettopo.conf
    cmp once to/etc/passwd
    [ "$(wc -l <once)" = 2 ]
    for key in relay_user probe_user; do
        grep -E "^$(sed -n "s/^#$key = //p" "$root/etc/nettopo.conf"):x:.*:/nonexistent:/usr/sbin/nologin\$" once
    done
    systemd-tmpfiles --root="$PWD/to" --create nettopo.conf
    [ "$(stat -c %a "to$(sed -n 's/^#run_dir = //p' "$root/etc/nettopo.conf")")" = 755 ]
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

@test "the installed schema is at its \$id, and another schema can refer to it" {
    local id
    make -s -C "$root" DESTDIR="$PWD/to" install >&2
    id=$(jq -r '."$id"' "to/usr/local/share/nettopo/nettopo-map.schema.json")
    [ "to${id#file://}" -ef "to/usr/local/share/nettopo/nettopo-map.schema.json" ]
    sed -i "s,file://,file://$PWD/to," "to${id#file://}"
    "$root/build/nettopo" simulate --topology star:4 | "$root/build/nettopo" solve -o map.json -
    python3 - "file://$PWD/to${id#file://}" map.json <<'PY'
import json, sys
import jsonschema
name = json.load(open(sys.argv[2]))
for reference in sys.argv[1], sys.argv[1] + "#/definitions/name":
    check = jsonschema.Draft7Validator({"properties": {"map": {"$ref": reference}}})
    assert check.is_valid({"map": name}) and not check.is_valid({"map": {}}), reference
    name = "n1"
PY
}

@test "the citation and the forms of the forge have the fields that their formats require" {
    python3 - "$root" "$(sed -n 's/^VERSION := //p' "$root/Makefile")" <<'PY'
import glob, os, sys
import yaml
os.chdir(sys.argv[1])
cff = yaml.safe_load(open("CITATION.cff"))
assert {"cff-version", "message", "title", "authors", "license"} <= set(cff), sorted(cff)
assert cff["cff-version"] == "1.2.0" and cff["type"] in ("software", "dataset") and cff["license"] == "Apache-2.0"
assert cff["version"] == sys.argv[2], "the version is not the Makefile's"
assert all(set(a) & {"name", "family-names", "given-names", "alias"} for a in cff["authors"])
forms = [f for f in glob.glob(".github/ISSUE_TEMPLATE/*.yml") if not f.endswith("/config.yml")]
assert len(forms) > 1
for f in forms:
    form = yaml.safe_load(open(f))
    assert {"name", "description", "body"} == set(form), f
    ids = [item["id"] for item in form["body"] if item["type"] != "markdown"]
    assert ids and len(ids) == len(set(ids)), f
    for item in form["body"]:
        known = {"markdown": {"value"}, "input": {"label", "description", "placeholder", "value"},
                 "textarea": {"label", "description", "placeholder", "value", "render"}}[item["type"]]
        needs = "value" if item["type"] == "markdown" else "label"
        assert needs in item["attributes"] and set(item["attributes"]) <= known, (f, item)
PY
}

@test "the examples for Ansible, Kubernetes and Spack agree with the packages, and parse" {
    python3 - "$root" <<'PY'
import glob, os, re, sys
import yaml
os.chdir(sys.argv[1])
box = open("etc/examples/Containerfile").read()
control = open("etc/packaging/debian/control").read()
needs = set(re.split(r"[\s,]+", re.search(r"Build-Depends:(.*?)\n\n", control, re.S).group(1).strip()))
asked = set(re.search(r'LIBRARIES="(.*?)"', box, re.S).group(1).replace("\\", " ").split())
assert asked == {n for n in needs if re.match(r"(lib|zlib).*-dev$", n)} - {"libslurm-dev"}, asked ^ needs
slinky = yaml.safe_load(open("etc/examples/slinky.yaml"))
include = re.search(r"include (/\S*)\*", slinky["configFiles"]["plugstack.conf"]).group(1)
assert "/out" + include + "nettopo.conf" in box
plugin = yaml.safe_load(open("etc/examples/soperator.yaml"))["plugStackConfig"]["customPlugins"][0]
assert plugin["path"] in open("etc/plugstack.conf.d/nettopo.conf").read() and not plugin["required"]
yaml.safe_load(open("etc/examples/ansible.yaml"))
recipe = open("etc/packaging/spack/package.py").read()
compile(recipe, "package.py", "exec")
version = re.search(r"^VERSION := (.*)", open("Makefile").read(), re.M).group(1)
assert f'version("{version}")' in recipe and f"nettopo-{version}.tar.gz" in recipe
PY
    command -v ansible-playbook >/dev/null || skip "ansible-playbook is not installed"
    ansible-playbook --syntax-check -i localhost, "$root/etc/examples/ansible.yaml"
    command -v ansible-lint >/dev/null || skip "ansible-lint is not installed"
    ansible-lint -q --offline "$root/etc/examples/ansible.yaml"
}

@test "make install and uninstall keep a file that the administrator has edited" {
    # another PREFIX would build all anew, beneath the other tests
    local file made=(make -s -C "$root" DESTDIR="$PWD/to")
    "${made[@]}" install >&2
    for file in nettopo nettopo-probe nettopo-prolog; do
        bash -n "to/usr/local/share/bash-completion/completions/$file"
        [ -s "to/usr/local/share/zsh/site-functions/_$file" ]
        [ -s "to/usr/local/share/fish/vendor_completions.d/$file.fish" ]
    done
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
