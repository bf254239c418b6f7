# SPDX-License-Identifier: Apache-2.0
"""What goes wrong in a job of tests/bench faults: each kind draws its parameters, begins, ends."""
import os
import re
import signal
import subprocess

from faults.ground import (CLUSTER, RUN_DIR, STAGE, STATE, Broken, cluster, link, pid_of, read,
                           stat_of, user, wait_until)

CONF = STAGE + "/etc/nettopo/nettopo.conf"
CPU = "/sys/fs/cgroup/cpu" if os.path.isdir("/sys/fs/cgroup/cpu") else "/sys/fs/cgroup"
OVER_S = 90  # lasts to the end of the job
HOST_US, HOST_RATE, UPLINK_US, UPLINK_RATE = 150, 60, 250, 90  # of the links as declared


class Fault:
    """begin and end are called at most once each, end whatever happened. begin returns False when
    there was nothing to do it to. met: it was done while agents were there."""

    def __init__(self, draw, host, uplink, budget, sweep):
        self.host, self.uplink = host, uplink
        self.at_s = sweep * draw.random() ** 2
        self.lasts_s = draw.choice([draw.uniform(0.05, 0.5), draw.uniform(0.5, budget), OVER_S])
        self.which = draw.random()
        self.met = False
        self.plan(draw)

    def plan(self, draw):
        pass

    def prepare(self):
        pass

    def begin(self, hosts, job):
        pass

    def end(self):
        pass

    def text(self):
        lasts = "" if self.lasts_s is None else \
            " to the end" if self.lasts_s == OVER_S else f" for {self.lasts_s:.2f} s"
        return f"{self.name()} at {self.at_s:.2f} s{lasts}"

    def name(self):
        return f"{KIND[type(self)]} on {self.host}"

    def choose(self, hosts):
        """one of the host's processes of ours"""
        found = [pid for _, pid, host in hosts.agents() if host == self.host]
        return found[int(self.which * len(found))] if found else None


def send_signal(number, pid):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Kill(Fault):
    def plan(self, draw):
        self.lasts_s = None
        self.number = draw.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])

    def name(self):
        return f"process killed ({self.number.name}) on {self.host}"

    def begin(self, hosts, job):
        pid = self.choose(hosts)
        if pid:
            send_signal(self.number, pid)
        return pid is not None


class Stop(Fault):
    """one process, or all of the host's; who is stopped to the end is never continued"""

    def plan(self, draw):
        self.all, self.stopped = draw.random() < 0.4, []

    def name(self):
        return f"{'all processes' if self.all else 'process'} stopped on {self.host}"

    def begin(self, hosts, job):
        found = [pid for _, pid, host in hosts.agents() if host == self.host]
        one = self.choose(hosts)
        for pid in found if self.all else [one] if one else []:
            self.stopped.append((pid, stat_of(pid)))
            send_signal(signal.SIGSTOP, pid)
        return bool(self.stopped)

    def end(self):
        for pid, stat in self.stopped:
            if self.lasts_s != OVER_S and stat and stat_of(pid) == stat:
                send_signal(signal.SIGCONT, pid)


class Slow(Fault):
    """all processes of the host, slurmd too, on a share of a processor"""

    slows_slurm = True

    def plan(self, draw):
        self.percent = draw.choice([2, 5, 10, 20])
        self.group = f"{CPU}/faults-{os.getpid()}-{self.host}"

    def name(self):
        return f"processor at {self.percent} % on {self.host}"

    def move(self, pids, group):
        for pid in pids:
            try:
                with open(group + "/cgroup.procs", "w") as f:
                    f.write(str(pid))
            except OSError:
                pass  # it has ended

    def begin(self, hosts, job):
        os.mkdir(self.group)
        old = os.path.exists(self.group + "/cpu.cfs_quota_us")
        with open(self.group + ("/cpu.cfs_quota_us" if old else "/cpu.max"), "w") as f:
            f.write(str(self.percent * 1000) if old else f"{self.percent * 1000} 100000")
        netns = link(f"/proc/{hosts.keeper[self.host]}/ns/net")
        self.move([pid for pid in filter(str.isdigit, os.listdir("/proc"))
                   if link(f"/proc/{pid}/ns/net") == netns], self.group)

    def end(self):
        def removed():
            self.move(read(self.group + "/cgroup.procs").split(), CPU)
            try:
                os.rmdir(self.group)
            except OSError:
                return not os.path.isdir(self.group)
            return True

        wait_until(10, removed)


class Link(Fault):
    """of the emulated fabric, that of the host or of its leaf"""

    def plan(self, draw):
        self.way = draw.choice(["both", "both", "in", "out"])
        self.where, self.declared = ["host", self.host], (HOST_RATE, HOST_US)
        if self.uplink and draw.random() < 0.3:
            self.where, self.declared = ["link", *self.uplink], (UPLINK_RATE, UPLINK_US)
        self.change, self.back = ["down"], ["up"]

    def name(self):
        return f"{' '.join(self.where + self.change)} way={self.way}"

    def set(self, words):
        done = cluster("fabric", "set", *self.where, *words, "way=" + self.way)
        if done.returncode != 0:
            raise Broken(done.stdout.strip())

    def begin(self, hosts, job):
        self.set(self.change)

    def end(self):
        self.set(self.back)


class Degraded(Link):
    def plan(self, draw):
        super().plan(draw)
        rate, latency = self.declared
        self.change = [draw.choice([f"rate={rate / draw.uniform(2, 20):.2f}",
                                    f"latency={latency * draw.uniform(1.5, 20):.0f}",
                                    f"loss={draw.uniform(0.5, 30):.1f}%"])]
        self.back = [f"rate={rate}", f"latency={latency}", "loss=0"]


class Munged(Fault):
    """the host's agent has a munged of its own, so that Slurm's goes on"""

    process = None

    def prepare(self):
        own = f"{STATE}/munge/{self.host}"
        self.process = subprocess.Popen(
            [CLUSTER, "host", self.host, "setpriv", "--reuid", "munge", "--regid", "munge",
             "--clear-groups", "/usr/sbin/munged", "--foreground", "--socket=" + own,
             f"--key-file={STATE}/munge/key", f"--pid-file={own}.pid", f"--log-file={own}.log",
             f"--seed-file={own}.seed"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if not wait_until(10, lambda: os.path.exists(own)):
            raise Broken("munged does not come up")
        conf = f"{STATE}/conf.{self.host}"
        with open(conf, "w") as f:
            f.write(re.sub("(?m)^munge_socket.*", "munge_socket = " + own, read(CONF)))
        cluster("host", self.host, "mount", "--bind", conf, CONF)

    def begin(self, hosts, job):
        self.process.send_signal(signal.SIGSTOP)

    def end(self):
        self.process.send_signal(signal.SIGCONT)

    def clear(self):
        if self.process:
            self.process.kill()
            self.process.wait()


class Full(Fault):
    def plan(self, draw):
        self.kib = draw.choice([8, 64, 512])

    def name(self):
        return f"run_dir of {self.kib} KiB filled on {self.host}"

    def prepare(self):
        cluster("host", self.host, "mount", "-t", "tmpfs", "-o", f"mode=755,size={self.kib}k",
                "tmpfs", RUN_DIR)

    def begin(self, hosts, job):
        self.filler = f"/proc/{hosts.keeper[self.host]}/root{RUN_DIR}/filler"
        try:
            with open(self.filler, "wb", buffering=0) as f:
                while f.write(bytes(1024)):
                    pass
        except OSError:
            pass  # full

    def end(self):
        if os.path.exists(self.filler):
            os.unlink(self.filler)


class Cancel(Fault):
    def plan(self, draw):
        self.lasts_s = None

    def name(self):
        return "scancel"

    def begin(self, hosts, job):
        if job.over():
            return False
        user("scancel", job.id)
        job.cancelled = True
        return True


class Requeue(Cancel):
    """Slurm holds a requeued job back for two minutes, which is a long time to wait"""

    slows_slurm = True

    said = ""

    def name(self):
        return "requeue" + (f" ({self.said})" if self.said else "")

    def begin(self, hosts, job):
        self.said = user("scontrol", "requeue", job.id)
        if not self.said and wait_until(60, lambda: job.states() == ["PENDING"]):
            job.requeued = True
            user("scontrol", "update", "JobId=" + job.id, "StartTime=now+2")
        return job.requeued


class Restart(Fault):
    """slurmd, as a service is: it ends what it does, and is started again"""

    slows_slurm = True

    def plan(self, draw):
        self.lasts_s = None

    def begin(self, hosts, job):
        pid = pid_of("slurmd." + self.host)
        send_signal(signal.SIGTERM, pid)
        if not wait_until(60, lambda: stat_of(pid) is None):
            raise Broken(f"slurmd of {self.host} does not end")
        cluster("host", self.host, "sh", "-c",
                f"cd {STATE}/log; setsid slurmd -D -N {self.host} >>slurmd.{self.host}.out 2>&1 "
                f"</dev/null & echo $! $(cut -d' ' -f22 /proc/$!/stat) "
                f">{STATE}/pids/slurmd.{self.host}")


class Second(Fault):
    """another job on the same hosts at the same time"""

    def plan(self, draw):
        self.lasts_s = None

    def name(self):
        return "a second job"

    def begin(self, hosts, job):
        job.second = type(job)(job.options)


KIND = {
    Kill: "process killed", Stop: "process stopped", Slow: "slow processor", Link: "link down",
    Degraded: "link degraded", Munged: "munged stopped", Full: "run_dir full", Cancel: "scancel",
    Requeue: "requeue", Restart: "slurmd restarted", Second: "a second job",
}
WEIGHT = {Kill: 4, Stop: 4, Slow: 2, Link: 3, Degraded: 3, Munged: 2, Full: 2}
