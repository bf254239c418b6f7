#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a placement gains that a user can see: MPI programs that exchange with their partners, over
# emulated networks, in the scheduler's order and in the hint's, beside what the hint predicts.
#   tests/bench_gain.sh [FABRIC...]   default: slow8, slow-oversub8
# The networks are so slow that links, not this machine's processors, bound the times. A time is the
# best of two runs by turns. "off" is measured over predicted; more than 15 % either way is marked.
# "doubling" has no prediction of its own: it is the pattern tree, a step after the other. "halves" and
# "pairs" show what an exchange both ways takes against one way: over TCP up to twice as much, though
# each direction of a link has its own rate. The prediction has the ways apart, as the sweep measures
# them. Needs root; says why and exits 77 where it cannot run.
set -u
cd "$(dirname "$0")/.." || exit 4
[ $# -gt 0 ] || set -- tests/data/fabrics/slow8.fabric tests/data/fabrics/slow-oversub8.fabric
cluster=tests/cluster/cluster
cannot() { echo "bench_gain: $*" && exit 77; }
[ "$(id -u)" = 0 ] || cannot "needs root, for network namespaces and daemons"
for program in mpicc mpirun slurmctld jq; do
    command -v $program >/dev/null || cannot "$program is not installed"
done
make -s -j2 all fabric || exit 4
build/tests/fabric --can || cannot "this kernel cannot emulate a network"
mpicc -O2 -o build/tests/gain tests/gain.c || exit 4

script() {
    cat <<'END'
#!/bin/bash
# the job: for each pattern, both orders by turns
mpi=(mpirun --mca pml ob1 --mca btl "tcp,self" --mca btl_tcp_if_include fab0)
n=$SLURM_NTASKS
cp "$NETTOPO_MAP" gain.map
echo "map $NETTOPO_STATUS $(jq -c '[.links[] | has("bandwidth_MBps")] | any' "$NETTOPO_MAP")"
scontrol show hostnames | awk '{print "rank " NR - 1 "=" $1 " slot=0"}' >scheduler.ranks
for pattern in ring stencil:2x$((n / 2)) stencil:2x2x$((n / 4)) halo:$((n / 2))x2 alltoall tree; do
    nettopo hint --ntasks "$n" --pattern $pattern >hint.json
    nettopo hint --ntasks "$n" --pattern $pattern --format rankfile >hint.ranks
    runs=(${pattern#*:})
    [ $pattern != tree ] || runs+=(doubling)
    for run in "${runs[@]}"; do
        name=$pattern
        [ "$run" != doubling ] || name=doubling
        for turn in 1 2; do
            for order in scheduler hint; do
                echo "$name $order $("${mpi[@]}" --rankfile $order.ranks "$GAIN" $run 65536 4)"
            done
        done
    done
    jq -r '"'$pattern' expects \(.cost_default / 1000) \(.cost / 1000)"' hint.json
done
for run in halves pairs; do
    for order in scheduler hint; do
        echo "$run $order $("${mpi[@]}" --rankfile $order.ranks "$GAIN" $run 65536 4)"
    done
done
END
}

measure() { # FABRIC
    local fabric=$1 home hosts
    timeout 60 $cluster up "$fabric" >/dev/null || return 4
    home=$($cluster state)/home
    hosts=$(build/tests/fabric --hosts "$fabric" | wc -l)
    script >"$home/gain.sh"
    cp build/tests/gain "$home/gain" && chmod 755 "$home/gain"
    timeout 400 $cluster exec sh -c "cd '$home' && GAIN='$home/gain' sbatch --quiet --wait \
        --nettopo=standard,budget=20 -N$hosts -n$hosts -o gain.out gain.sh" || {
        cat "$home/gain.out" >&2
        return 1
    }
    echo "${fabric##*/}: 64 KiB each way with every partner, $hosts hosts, ms a round"
    awk '
        function keep(k, x) {if (!(k in least) || x < least[k]) least[k] = x}
        function figure(x) {return x > 0 ? sprintf("%.1f", x) : "-"}
        function off(is, was) {
            if (!(was > 0)) return sprintf("%8s ", "")
            return sprintf("%7.2f%s", is / was, (is > 1.15 * was || was > 1.15 * is) ? " !" : "  ")
        }
        $1 == "map" {print "map: " $2 ", bandwidths " ($3 == "true" ? "known" : "not measured")}
        $2 == "scheduler" || $2 == "hint" {keep($1 " " $2, $3); if (!seen[$1]++) order[++n] = $1}
        $2 == "expects" {expected[$1 " scheduler"] = $3; expected[$1 " hint"] = $4}
        END {
            printf "%-14s %28s %30s %18s\n", "", "scheduler", "hint", "gain"
            printf "%-14s %10s %10s %9s %10s %10s %9s %9s %9s\n", "pattern", "predicted", \
                "measured", "off", "predicted", "measured", "off", "predicted", "measured"
            for (k = 1; k <= n; k++) {
                s = order[k] " scheduler"; h = order[k] " hint"
                printf "%-14s %10s %10.1f %s %10s %10.1f %s %9s %9.2f\n", order[k], \
                    figure(expected[s]), least[s], off(least[s], expected[s]), figure(expected[h]), least[h], \
                    off(least[h], expected[h]), (expected[h] > 0 ? sprintf("%.2f", expected[s] / expected[h]) : "-"), \
                    least[s] / least[h]
            }
            exit n == 0
        }' "$home/gain.out" || { cat "$home/gain.out" >&2; return 1; }
}

trap '$cluster down >/dev/null' EXIT
trap 'exit 130' INT TERM
for fabric in "$@"; do
    measure "$fabric" || exit
    $cluster down >/dev/null
done
