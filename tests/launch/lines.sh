# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For the scripts beside it: line NAME RANKS CMD... runs a launch line, and prints "line NAME ok" if so
# many ranks connected.
set -euo pipefail
PATH=$PWD:$PATH
export MASTER_PORT=$((20000 + SLURM_JOB_ID % 400 * 40)) PORT=0
# shellcheck disable=SC2034
FIRST=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
line() {
    local name=$1 ranks=$2 out rc=0 n
    shift 2
    MASTER_PORT=$((MASTER_PORT + 2)) PORT=$MASTER_PORT
    out=$("$@" 2>&1) || rc=$?
    n=$(grep -c '^connected' <<<"$out" || true)
    if [ "$rc" = 0 ] && [ "$n" = "$ranks" ]; then
        echo "line $name ok"
    else
        echo "line $name FAILED: exit $rc, $n of $ranks connected: $(head -c 500 <<<"$out" | tr '\n' '|')"
    fi
}
echo "status $NETTOPO_STATUS"
