"""Servers to compare: how each is started, and what its process has used."""

import glob
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

START_SECONDS = 20
SERVER_CPU, GENERATOR_CPU = "0", "1"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Peer:
    """One server in one configuration. `command` holds {port} where the port goes."""

    def __init__(self, name, command, pinned):
        self.name = name
        self.command = command
        self.pinned = pinned
        self.process = None
        self.port = 0

    def start(self):
        self.port = free_port()
        self.folder = tempfile.mkdtemp(prefix="sherd-perf-")
        command = [word.replace("{port}", str(self.port)) for word in self.command]
        if self.pinned:
            command = ["taskset", "-c", SERVER_CPU] + command
        self.log = open(os.path.join(self.folder, "log"), "wb")
        self.process = subprocess.Popen(
            command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log
        )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                if self.ask(b"PING\r\n").startswith(b"+PONG"):
                    return
            except OSError:
                pass
            time.sleep(0.05)
        raise RuntimeError("%s does not start: see %s/log" % (self.name, self.folder))

    def ask(self, line):
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall(line)
            return connection.recv(65536)

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(20)
            self.log.close()
            shutil.rmtree(self.folder, ignore_errors=True)
            self.process = None

    def cpu_ns(self):
        """CPU time of all threads of the process so far."""
        total = 0
        for path in glob.glob("/proc/%d/task/*/schedstat" % self.process.pid):
            try:
                with open(path) as file:
                    total += int(file.read().split()[0])
            except FileNotFoundError:
                pass
        return total

    def rss_bytes(self):
        with open("/proc/%d/statm" % self.process.pid) as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def find_peers(given, shards):
    """sherd first, then redis-server, the rest as they are found."""
    pinned = shards == "one"
    cpus = str(len(os.sched_getaffinity(0)))
    redis = ["--port", "{port}", "--save", "", "--appendonly", "no", "--bind", "127.0.0.1"]
    peers = []
    if pinned:
        peers.append(Peer("sherd", [given.sherd, "--shards", "1"] + redis, True))
    else:
        peers.append(Peer("sherd", [given.sherd, "--shards", cpus] + redis, False))
        peers.append(Peer("sherd 1 shard", [given.sherd, "--shards", "1"] + redis, False))
    for name in ["redis-server", "valkey-server", "keydb-server"]:
        program = shutil.which(name)
        if program:
            peers.append(Peer(name, [program] + redis, pinned))
    program = shutil.which("dragonfly")
    if program:
        threads = "1" if pinned else cpus
        peers.append(
            Peer("dragonfly", [program, "--port={port}", "--proactor_threads=" + threads], pinned)
        )
    program = shutil.which("pogocache")
    if program:
        threads = "1" if pinned else cpus
        peers.append(
            Peer("pogocache", [program, "-p", "{port}", "-h", "127.0.0.1", "-t", threads], pinned)
        )
    if pinned and os.path.exists(given.floor):
        value = ["--value-bytes", given.floor_value_bytes]
        peers.append(Peer("floor", [given.floor, "--port", "{port}"] + value, True))
    return peers
