#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2086,SC2016
# With apply, steps that the hint is for follow it, and every other one runs as it would without.

load ground
load jobs

setup_file() {
    ground_shared turns8
}

teardown_file() { ground_leave; }
setup() { need_ground slurmctld; }

# forms SBATCH_OPTIONS: runs each line of standard input, the options of a step, with apply and
# without, and compares: "follows" as the hint, "as ever" what it does without; "old" follows until 23.11,
# when srun began to refuse -N beside a host file.
forms() {
    local options=$1 line kind with without hint number=0 wrong=0
    cat >"$BATS_TEST_TMPDIR/forms"
    {
        echo '#!/bin/bash'
        echo 'echo "hint: $([ ! -e "$NETTOPO_HOSTFILE" ] || paste -sd" " "$NETTOPO_HOSTFILE")"'
        while IFS='|' read -r kind line; do
            number=$((number + 1))
            cat <<END
out=\$(timeout 60 srun --quiet $line sh -c 'echo "\$SLURM_PROCID \$SLURMD_NODENAME"' 2>/dev/null); rc=\$?
echo "$number: exit \$rc \$(sort -n <<<"\$out" | cut -d' ' -f2 | paste -sd' ')"
END
        done <"$BATS_TEST_TMPDIR/forms"
    } >"$BATS_TEST_TMPDIR/script"
    submit -D "$GROUND_HOME" $options --nettopo=quick,budget=20,apply,pattern=ring <"$BATS_TEST_TMPDIR/script"
    completed
    with=$GROUND_HOME/$JOB.out
    submit -D "$GROUND_HOME" $options <"$BATS_TEST_TMPDIR/script"
    completed
    without=$GROUND_HOME/$JOB.out
    hint=$(sed -n 's/^hint: //p' "$with")
    [ -n "$hint" ] || fail "no hint: $(cat "$with")"
    number=0
    while IFS='|' read -r kind line; do
        number=$((number + 1))
        local is was
        is=$(sed -n "s/^$number: //p" "$with") was=$(sed -n "s/^$number: //p" "$without")
        printf '%-9s | srun %-45s | %s | %s\n' "$kind" "$line" "$is" "$was" >&3
        [ "$kind" != old ] || { kind='as ever' && ! slurm_before 23.11 || kind=follows; }
        case $kind in
        follows) [ "$is" = "exit 0 $hint" ] || wrong=$((wrong + 1)) ;;
        *) [ "$is" = "$was" ] || wrong=$((wrong + 1)) ;;
        esac
    done <"$BATS_TEST_TMPDIR/forms"
    [ "$number" -gt 5 ] && [ "$wrong" = 0 ]
}

@test "one task a host: 15 forms of srun" {
    forms "-N8 -n8" <<'END'
follows|
follows|-n8
old|-N8 -n 8
old|--ntasks=8 --nodes=8
follows|-u -n8 --export=ALL --
follows|-c1 --cpu-bind=none
as ever|-n16
as ever|-n16 --overcommit
as ever|-N4 -n8 --overcommit
as ever|-N4
as ever|-n4
as ever|-m cyclic
follows|-m arbitrary
as ever|-w n3,n1 -N2 -n2
as ever|--ntasks-per-node=1
END
}

# bats test_tags=full
@test "two tasks a host: 10 forms of srun" {
    forms "-N8 --ntasks-per-node=2" <<'END'
follows|
follows|-n16
old|-N8 -n16
follows|-K1 -u
as ever|-n8
as ever|-N4 -n4
as ever|-N4 -n8
as ever|-N8 -n8 --ntasks-per-node=1
as ever|-m block
as ever|-r 2 -N2 -n2
END
}

# bats test_tags=full
@test "tasks that nobody stated: 6 forms of srun" {
    forms "-N4" <<'END'
follows|
old|-N4
follows|-n4
as ever|-n2
as ever|-N2
as ever|-N2 -n4 --overcommit
END
}

@test "srun that makes its own allocation says that apply has no effect, and sets nothing" {
    run user timeout 60 srun -N4 -n4 --nettopo=quick,apply sh -c \
        'echo "said $NETTOPO_STATUS ${SLURM_HOSTFILE-none} ${SLURM_DISTRIBUTION-none}"'
    assert_equal "exit" "$status" 0
    assert_equal "lines" "$(grep -c 'nettopo: apply has no effect' <<<"$output")" 1
    assert_equal "variables" "$(grep -o 'said .*' <<<"$output" | sort -u)" "said ok none none"
}
