"""What an operator does to a server: signals, limits, cgroups, wrong options. Cases ops-* are from public reports."""

import os
import resource
import signal
import subprocess
import tempfile
import time

from stress import load
from stress.bench import Skip, cpu_seconds, ping, shard_fields, wait_for, want
from support.resp import encode
from support.server import free_port

HERE = os.path.dirname(os.path.abspath(__file__))
DENY_IO_URING = os.path.join(HERE, "deny_io_uring")
CGROUPS = "/sys/fs/cgroup"


# ---- signals and ends


def sigterm_under_load(bench):
    """Ends with status 0, and soon."""
    load.build(bench)
    for _ in range(3 if bench.long else 1):
        with bench.server("--shards", 3) as server:
            client = subprocess.Popen(
                [load.program(bench), "--port", str(server.port), "--seconds", "20"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )
            time.sleep(1)
            began = time.monotonic()
            faults = server.stop()  # asks for status 0
            took = time.monotonic() - began
            client.kill()
            client.wait()
            want(not faults, "%s", "\n".join(faults))
            want(took < 10 * bench.patience, "took %.1f s to end", took)
            print("     ended after %.2f s" % took, flush=True)


def sighup_keeps_serving(bench):
    """ops-21."""
    with bench.server("--shards", 2) as server:
        for _ in range(3):
            server.process.send_signal(signal.SIGHUP)
            time.sleep(0.1)
        ping(server)


def twenty_starts_at_once(bench):
    """ops-05: stop, start, without a pause, with little memory to lock."""
    before = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    limit = 8 << 20 if before[1] == resource.RLIM_INFINITY else min(8 << 20, before[1])
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (limit, before[1]))
    try:
        for _ in range(20 if not bench.is_sanitized else 5):
            with bench.server("--shards", 4) as server:
                ping(server)
    finally:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, before)


# ---- io_uring denied


def io_uring_denied(bench):
    """ops-01, ops-03: a container's profile answers EPERM: epoll serves, and one line says why."""
    with bench.server("--shards", 2, "--io-backend", "auto", launcher=[DENY_IO_URING]) as server:
        ping(server)
        log = server.log().decode()
        lines = [line for line in log.splitlines() if "io_uring" in line and "epoll" in line]
        want(len(lines) == 1, "%d lines of the log tell of it:\n%s", len(lines), log)
        want("seccomp" in lines[0] or "io_uring_disabled" in lines[0],
             "the line names no remedy: %s", lines[0])


def io_uring_denied_and_wanted(bench):
    """io-backend io_uring is then refused with one line, not with a trace of the stack."""
    port = free_port()
    command = [DENY_IO_URING, bench.given.sherd, "--port", str(port), "--io-backend", "io_uring"]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            timeout=30, stdin=subprocess.DEVNULL)
    want(result.returncode not in (0, -signal.SIGABRT, -signal.SIGSEGV),
         "status %d", result.returncode)
    lines = [line for line in result.stdout.splitlines() if "io_uring" in line]
    want(len(lines) >= 1, "nothing names io_uring:\n%s", result.stdout)


# ---- threads and CPUs


def even_spreading(bench):
    """ops-11: 50 connections to 8 threads, ten times: nobody idle while another has over twice the mean."""
    with bench.server("--shards", 8) as server:
        for _ in range(10):
            held = [server.connect() for _ in range(50)]
            for connection in held:
                connection.command("PING")
            counts = [shard["clients"] for shard in shard_fields(held[0])]
            want(sum(counts) == 50, "INFO counts %s", counts)
            want(min(counts) > 0 or max(counts) <= 2 * 50 / 8, "spread as %s", counts)
            for connection in held:
                connection.close()
            wait_for(lambda: sum(s["clients"] for s in shard_fields(server.connect())) <= 2,
                     10 * bench.patience, "closed connections are forgotten")


def idle_costs_nothing(bench):
    """Near 0 % CPU without work, also after some."""
    with bench.server("--shards", 5) as server:
        status, output = load.stress(bench, server, 1)
        want(status == 0, "%s", output)
        server.connect().command("FLUSHALL")
        time.sleep(2)
        before = cpu_seconds(server.process.pid)
        time.sleep(3)
        used = (cpu_seconds(server.process.pid) - before) / 3
        print("     %.1f %% of a CPU with 5 shards" % (100 * used), flush=True)
        want(used < 0.03, "%.1f %% of a CPU without work", 100 * used)


def with_affinity(cpus, run):
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        run()
    finally:
        os.sched_setaffinity(0, before)


def threads_follow_affinity(bench):
    """ops-07: as many shards as CPUs in the affinity set; `shards` overrides that, in both directions."""
    cpus = sorted(os.sched_getaffinity(0))

    def shards_are(count, *options):
        with bench.server(*options) as server:
            counted = len(shard_fields(server.connect()))
            want(counted == count, "%d shards, wanted %d (%s)", counted, count, " ".join(options))

    with_affinity({cpus[0]}, lambda: shards_are(1))
    with_affinity({cpus[0]}, lambda: shards_are(4, "--shards", "4"))
    shards_are(1, "--shards", "1")
    if len(cpus) > 1:
        with_affinity(set(cpus[:2]), lambda: shards_are(2))


class Cgroup:
    """A cgroup (version 1) of our own, for one controller."""

    def __init__(self, controller):
        self.path = "%s/%s/sherd-test-%d" % (CGROUPS, controller, os.getpid())
        try:
            os.mkdir(self.path)
        except OSError as error:
            raise Skip("no cgroup %s of our own: %s" % (controller, error)) from None

    def write(self, name, value):
        try:
            with open(os.path.join(self.path, name), "w") as file:
                file.write(str(value))
        except OSError as error:
            raise Skip("%s: %s" % (name, error)) from None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for _ in range(100):
            try:
                os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.02)


def in_cgroup(group):
    """A launcher: the shell joins the group, then becomes the server."""
    return ["/bin/sh", "-c", 'echo $$ > %s/cgroup.procs && exec "$@"' % group.path, "sh"]


def threads_follow_quota(bench):
    """ops-07: without a setting as many as the quota rounded up allows; with one, what it says."""
    with Cgroup("cpu") as group:
        group.write("cpu.cfs_period_us", 100000)
        for quota, options, wanted in [(50000, [], 1), (150000, [], min(2, os.cpu_count())),
                                       (150000, ["--shards", 4], 4)]:
            group.write("cpu.cfs_quota_us", quota)
            with bench.server(*options, launcher=in_cgroup(group)) as server:
                counted = len(shard_fields(server.connect(timeout=20)))
                want(counted == wanted, "%d shards with a quota of %d us and %s, wanted %d",
                     counted, quota, options, wanted)


def cpuset_changed(bench):
    """ops-09: the cpuset shrinks while the server runs: it serves on, and says so."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise Skip("one CPU only")
    with Cgroup("cpuset") as group:
        group.write("cpuset.mems", 0)
        group.write("cpuset.cpus", "%d,%d" % (cpus[0], cpus[1]))
        with bench.server("--shards", 2, launcher=in_cgroup(group)) as server:
            ping(server)
            said = len(server.log())
            group.write("cpuset.cpus", cpus[0])
            ping(server)
            for task in os.listdir("/proc/%d/task" % server.process.pid):
                want(os.sched_getaffinity(int(task)) == {cpus[0]}, "a thread is not where it may be")
            wait_for(lambda: b"cpu" in server.log()[said:], 5 * bench.patience,
                     "the log tells of the changed cpuset")


# ---- wrong starts


def wrong_starts(bench):
    """ops-23: a bad option or value: a status other than 0, a line that names it, and no left-overs."""
    with tempfile.TemporaryDirectory(prefix="sherd-test-") as folder:
        pid_file, path = os.path.join(folder, "pid"), os.path.join(folder, "socket")
        conf = os.path.join(folder, "sherd.conf")
        port = free_port()
        good = "port %d\npidfile %s\nunixsocket %s\ndir %s\n" % (port, pid_file, path, folder)
        cases = [
            (["--no-such-option", "1"], None, ["no-such-option"]),
            (["--maxmemory", "many"], None, ["maxmemory"]),
            (["--shards", "257"], None, ["shards"]),
            (["--port", "65536"], None, ["port"]),
            ([], good + "maxclients many\n", ["sherd.conf", "5", "maxclients"]),
            ([], good + "\nno-such-option yes\n", ["sherd.conf", "6", "no-such-option"]),
            ([], good + "appendonly yes\n", ["appendonly"]),
            ([os.path.join(folder, "absent.conf")], None, ["absent.conf"]),
        ]
        for options, text, named in cases:
            command = [bench.given.sherd] + options
            if text:
                with open(conf, "w") as file:
                    file.write(text)
                command = [bench.given.sherd, conf] + options
            else:
                command += ["--pidfile", pid_file, "--unixsocket", path]
                command += ["--dir", folder] if "--port" in options else ["--port", str(port), "--dir", folder]
            try:
                result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, timeout=20 * bench.patience,
                                        stdin=subprocess.DEVNULL)
            except subprocess.TimeoutExpired:
                want(False, "%s: runs", " ".join(command))
            want(result.returncode > 0, "%s: status %d", " ".join(command), result.returncode)
            for word in named:
                want(word in result.stdout, "%s: the message does not name %s:\n%s",
                     " ".join(command), word, result.stdout)
            left = set(os.listdir(folder)) - {"sherd.conf"}
            want(not left, "%s: leaves %s", " ".join(command), sorted(left))


def port_taken(bench):
    """A taken port is one line and a status, and the other server goes on."""
    with bench.server("--shards", 2) as server:
        result = subprocess.run([bench.given.sherd, "--port", str(server.port), "--bind", "127.0.0.1",
                                 "--shards", "2"],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                timeout=20 * bench.patience, stdin=subprocess.DEVNULL)
        want(result.returncode > 0, "status %d", result.returncode)
        want(str(server.port) in result.stdout, "the port is not named:\n%s", result.stdout)
        ping(server)


# ---- speed and memory


def throughput(server, depth, seconds):
    connection = server.connect(timeout=30)
    requests = b"".join(encode(["SET", "depth:%d" % (n % 97), n]) for n in range(depth))
    replies = b"+OK\r\n" * depth
    done, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        connection.send(requests)
        got = 0
        while got < len(replies):
            got += len(connection.socket.recv(1 << 16))
        done += depth
    connection.close()
    return done / seconds


def depth_helps(bench):
    """ops-13: throughput rises with the depth of the pipeline, remote keys included."""
    with bench.server("--shards", 2) as server:
        rates = [throughput(server, depth, 1) for depth in (1, 16, 64)]
        print("     %s ops/s at depth 1, 16, 64" % ", ".join("%.0f" % rate for rate in rates), flush=True)
        want(rates[0] < rates[1] < rates[2], "ops/s at depth 1, 16, 64: %s", rates)


def checks(bench):
    always = [sigterm_under_load, sighup_keeps_serving, twenty_starts_at_once, io_uring_denied,
              io_uring_denied_and_wanted, even_spreading, threads_follow_affinity,
              threads_follow_quota, cpuset_changed, wrong_starts, port_taken]
    plain = [] if bench.is_sanitized else [idle_costs_nothing, depth_helps]
    for function in always + plain:
        yield "operating: " + function.__name__.replace("_", " "), \
            lambda function=function: function(bench)
