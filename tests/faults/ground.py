# SPDX-License-Identifier: Apache-2.0
"""The test cluster that is up, as tests/bench faults sees it: commands, processes, what is on the
hosts, jobs."""
import datetime
import os
import re
import subprocess
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CLUSTER = ROOT + "/tests/cluster/cluster"
STATE = "/var/lib/nettopo-test-cluster"
STAGE, HOME, RUN_DIR = STATE + "/stage", STATE + "/home", "/run/nettopo"
POLL_S = 0.05
SCRIPT = """#!/bin/bash
date +%s.%N >"$HOME/$SLURM_JOB_ID.began"
echo "$NETTOPO_STATUS $NETTOPO_REASON" >"$HOME/$SLURM_JOB_ID.told"
echo "${SLURM_RESTART_COUNT:-0}" >"$HOME/$SLURM_JOB_ID.restarts"
if [ -n "$NETTOPO_MAP" ]; then
    cp "$NETTOPO_MAP" "$HOME/$SLURM_JOB_ID.map"
    cp "${NETTOPO_MAP%/*}/samples" "$HOME/$SLURM_JOB_ID.samples"
fi
exit 0
"""


class Broken(Exception):
    """the ground itself does not hold: no verdict on the agents"""


def read(path, otherwise=""):
    try:
        with open(path) as f:
            return f.read()
    except OSError:
        return otherwise


def cluster(*words, **more):
    return subprocess.run([CLUSTER, *words], text=True, timeout=600,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)


def user(*words, **more):
    return cluster("exec", "timeout", "30", *words, cwd=HOME, **more).stdout.strip()


def wait_until(seconds, holds):
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() >= until:
            return False
        time.sleep(POLL_S)
    return True


# ---- processes and what else is on the hosts ----------------------------------------------------


def link(path):
    try:
        return os.readlink(path)
    except OSError:
        return ""


def pid_of(label):
    return int(read(f"{STATE}/pids/{label}", "0").split()[0])


def stat_of(pid):
    """parent and start in s since boot; None of one that has ended"""
    words = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    if not words or words[0] in "ZX":
        return None
    return int(words[1]), int(words[19]) / os.sysconf("SC_CLK_TCK")


class Hosts:
    """the hosts of the cluster that is up"""

    def __init__(self, names):
        self.names = names
        self.keeper = {name: pid_of("keeper." + name) for name in names}
        self.by_netns = {link(f"/proc/{pid}/ns/net"): name for name, pid in self.keeper.items()}
        self.at_rest = self.things()

    def host_of(self, pid):
        """by its network, or that of the nearest parent that has a host's"""
        while pid > 1:
            name = self.by_netns.get(link(f"/proc/{pid}/ns/net"))
            stat = stat_of(pid)
            if name or not stat:
                return name
            pid = stat[0]
        return None

    def agents(self):
        """[(start, pid, host)] of agents and all that they started, eldest first"""
        found = []
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            exe = link(f"/proc/{pid}/exe")
            if exe.startswith((STAGE + "/libexec/nettopo/", STAGE + "/bin/nettopo-probe")):
                stat = stat_of(pid)
                if stat:
                    found.append((stat[1], pid, self.host_of(pid)))
        return sorted(found)

    def things(self):
        """what of files, processes, namespaces, cgroups and mounts is there: lines by kind"""
        found = set()
        for name, keeper in self.keeper.items():
            root = f"/proc/{keeper}/root"
            for place in (RUN_DIR, "/tmp", "/dev/shm"):
                for entry in os.listdir(root + place):
                    if (place == RUN_DIR or re.search("ucx|nettopo", entry)) and entry != "filler":
                        found.add(f"file {name}:{place}/{entry}")
            for folder, _, _ in os.walk(root + "/sys/fs/cgroup"):
                found.add(f"cgroup {name}:{folder[len(root):]}")
            for line in read(f"/proc/{keeper}/mounts").splitlines():
                found.add(f"mount {name}:{line}")
        for folder, _, _ in os.walk("/sys/fs/cgroup"):
            if re.search("nettopo|slurm|job_", folder):
                found.add(f"cgroup {folder}")
        ours = {pid for _, pid, _ in self.agents()}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            name = self.by_netns.get(link(f"/proc/{pid}/ns/net"))
            if int(pid) in ours:
                name = self.host_of(int(pid)) or "?"
            if not name:
                continue
            words = read(f"/proc/{pid}/cmdline").replace("\0", " ").strip()
            comm = read(f"/proc/{pid}/comm").strip()
            if words and comm != "slurmd" and int(pid) not in self.keeper.values():
                found.add(f"process {name}:{pid} {comm} {words[:60]}")
            for kind in ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts"):
                found.add(f"namespace {name}:{link(f'/proc/{pid}/ns/{kind}')}")
        return {line for line in found if not line.endswith(":")}

    def left(self):
        return sorted(self.things() - self.at_rest)

    def ill(self):
        out = user("sinfo", "-h", "-N", "-o", "%N %T %E")
        return [line for line in out.splitlines()
                if re.search(r"drain|down|fail|unknown|\*", line.split()[1])]


class Watch(threading.Thread):
    """when each host's agents were there"""

    def __init__(self, hosts):
        super().__init__(daemon=True)
        self.hosts, self.first, self.ended = hosts, threading.Event(), threading.Event()
        self.lives = {}  # pid, start: [start, last seen, host]
        self.start()

    def run(self):
        while not self.ended.wait(POLL_S):
            now = time.clock_gettime(time.CLOCK_BOOTTIME)
            for start, pid, host in self.hosts.agents():
                self.lives.setdefault((pid, start), [start, now, host])[1] = now
                self.first.set()

    def longest(self):
        """(seconds, host) of the process that lived longest"""
        return max([(last - start, host or "?") for start, last, host in self.lives.values()],
                   default=(0, ""))


# ---- jobs ---------------------------------------------------------------------------------------


class Job:
    def __init__(self, options):
        self.options, self.cancelled, self.requeued, self.second = options, False, False, None
        self.id = user("sbatch", "--parsable", "--output", "/dev/null", *options, input=SCRIPT)
        if not self.id.isdigit():
            raise Broken("sbatch: " + self.id)

    def states(self):
        return re.findall("JobState=([A-Z_]*)", user("scontrol", "-o", "show", "job", self.id))

    def over(self):
        states = self.states()
        return bool(states) and not set(states) & {"PENDING", "RUNNING", "CONFIGURING",
                                                   "COMPLETING", "REQUEUED"}

    def note(self, what):
        return read(f"{HOME}/{self.id}.{what}").strip()

    def waited_s(self):
        """from its resources to its script"""
        at = re.findall(rf"^\[(\S*)\].* (?:Allocate|Started) JobId={self.id} (?:NodeList|in )",
                        read(STATE + "/log/slurmctld.log"), re.M)
        if not at or not self.note("began"):
            return None
        return float(self.note("began")) - datetime.datetime.fromisoformat(at[-1]).timestamp()


HOST_US, HOST_RATE, UPLINK_US, UPLINK_RATE = 150, 60, 250, 90
