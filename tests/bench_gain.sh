#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a placement gains that a user can see: MPI programs that exchange with their partners, over
# emulated networks, in the scheduler's order and in the hint's, beside what the hint predicts.
#   tests/bench_gain.sh [FABRIC...]   default: slow8, slow-oversub8
# The networks are so slow that links, not this machine's processors, bound the times. A time is the
# best of two runs by turns; "rendezvous" and srun have one. "measured" is a round that all ranks
# begin together, until the last has ended: that is what is predicted. "off" is measured over
# predicted; more than 15 % either way is marked, and so is a hint that is slower than the scheduler's
# order by more than 1 %.
# "in a row" is a round of several that each rank begins when its own last one has ended.
# Messages are sent at once (eager: Open MPI's limit is raised above them); the rows "rendezvous" have
# its own limit, above which a receiver is asked first. Where two ranks did not begin together its
# answer stands behind the data of the other way in the same socket, and the ways follow each other,
# more or less: that is no property of the network, nor of a sweep, and not predicted. "halves" and
# "pairs" show it: one way, and both.
# Needs root; says why and exits 77 where it cannot run.
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
small=16384 large=131072 n=$SLURM_NTASKS
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=fab0
cp "$NETTOPO_MAP" gain.map
echo "map $NETTOPO_STATUS $(jq -c '[.links[] | has("bandwidth_MBps")] | any' "$NETTOPO_MAP")"

launch() { # LAUNCHER ORDER ARGUMENT...
    local launcher=$1 order=$2
    shift 2
    case $launcher in
    srun) SLURM_HOSTFILE=$order.hosts SLURM_PMIX_TIMEOUT=10 timeout 60 \
        srun --mpi=pmix --distribution=arbitrary -n "$n" "$GAIN" "$@" ;;
    *) timeout 60 mpirun --rankfile $order.ranks "$GAIN" "$@" ;;
    esac
}

# lines NAME BYTES PROTOCOL LAUNCHER ORDER MS ROW_MS
run() { # LAUNCHER PROTOCOL TURNS NAME ARGUMENT...
    local launcher=$1 protocol=$2 turns=$3 name=$4 turn order bytes ms row_ms
    shift 4
    local limit=1048576
    [ $protocol != rendezvous ] || limit=65536
    export OMPI_MCA_btl_tcp_eager_limit=$limit OMPI_MCA_btl_tcp_rndv_eager_limit=$limit
    for ((turn = 0; turn < turns; turn++)); do
        for order in scheduler hint; do
            launch $launcher $order "$@" | while read -r bytes ms row_ms; do
                echo "time $name $bytes $protocol $launcher $order $ms $row_ms"
            done
        done
    done
}

scontrol show hostnames >scheduler.hosts
awk '{print "rank " NR - 1 "=" $1 " slot=0"}' scheduler.hosts >scheduler.ranks
for pattern in ring stencil:2x$((n / 2)) stencil:2x2x$((n / 4)) halo:$((n / 2))x2 alltoall tree; do
    for bytes in $small $large; do
        nettopo hint --ntasks "$n" --pattern $pattern --bytes $bytes >hint.json
        jq -r --arg row "$pattern $bytes" \
            '"expects \($row) \(.predicted_default_us / 1000) \(.predicted_us / 1000)"' hint.json
    done
    nettopo hint --ntasks "$n" --pattern $pattern --bytes $large --format rankfile >hint.ranks
    nettopo hint --ntasks "$n" --pattern $pattern --bytes $large --format hostfile >hint.hosts
    program=${pattern#*:}
    run mpirun eager 2 $pattern $program 3 $small $large
    run mpirun rendezvous 1 $pattern $program 2 $large
    case $program in
    ring | alltoall) run srun eager 1 $pattern $program 3 $small $large ;;
    esac
done
for protocol in eager rendezvous; do
    for name in halves pairs; do
        run mpirun $protocol 1 $name $name 3 $large
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
    timeout 800 $cluster exec sh -c "cd '$home' && GAIN='$home/gain' sbatch --quiet --wait \
        --nettopo=standard,budget=20 -N$hosts -n$hosts -o gain.out gain.sh" || {
        cat "$home/gain.out" >&2
        return 1
    }
    echo "${fabric##*/}: each way with every partner, $hosts hosts, ms a round"
    awk '
        function keep(k, x) {if (!(k in least) || x < least[k]) least[k] = x}
        function figure(x) {return x > 0 ? sprintf("%.1f", x) : "-"}
        function ratio(x, of, least) {
            return of > 0 ? sprintf("%.2f%s", x / of, x < least * of ? " !" : "") : "-"
        }
        function off(is, was) {
            if (!(was > 0 && is > 0)) return sprintf("%6s ", "")
            return sprintf("%5.2f%s", is / was, (is > 1.15 * was || was > 1.15 * is) ? " !" : "  ")
        }
        $1 == "map" {print "map: " $2 ", bandwidths " ($3 == "true" ? "known" : "not measured")}
        $1 == "expects" {expected[$2 " " $3 " scheduler"] = $4; expected[$2 " " $3 " hint"] = $5}
        $1 == "time" {
            row = sprintf("%-13s %6d %-10s %-6s", $2, $3, $4, $5)
            keep(row " " $6, $7); keep(row " row " $6, $8); what[row] = $2 " " $3
            if (!seen[row]++) order[++n] = row
        }
        END {
            printf "%38s | %-22s | %-22s | %-15s | in a row\n", "", "scheduler", "hint", "gain"
            printf "%-13s %6s %-10s %-6s | %9s %8s  off | %9s %8s  off | %9s %5s | %9s %6s %4s\n", "pattern", \
                "bytes", "protocol", "", "predicted", "measured", "predicted", "measured", \
                "predicted", "is", "scheduler", "hint", "gain"
            for (k = 1; k <= n; k++) {
                s = expected[what[order[k]] " scheduler"]; h = expected[what[order[k]] " hint"]
                is = least[order[k] " scheduler"]; got = least[order[k] " hint"]
                row = least[order[k] " row scheduler"]; row_got = least[order[k] " row hint"]
                worse = h > 0 && s > h ? 0.99 : 0
                printf "%s | %9s %8s%s| %9s %8s%s| %9s %-7s | %9s %6s %s\n", order[k], figure(s), \
                    figure(is), off(is, s), figure(h), figure(got), off(got, h), ratio(s, h, 0), \
                    ratio(is, got, worse), figure(row), figure(row_got), ratio(row, row_got, worse)
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
