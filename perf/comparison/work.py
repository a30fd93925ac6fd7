"""The work: what the generators are told to do, and what they say came of it."""

import csv
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

from comparison.peers import GENERATOR_CPU

CLIENTS = 50
SIZES = [3, 100, 200]
PIPELINES = [1, 10, 50, 100]
MIXES = {"SET": "1:0", "GET": "0:1", "1:1": "1:1"}
REQUESTS = {1: 150000, 10: 1000000, 50: 2000000, 100: 3000000}  # of redis-benchmark, by pipeline


class Work:
    """One load. `run` gives operations, ops/s and latencies in milliseconds."""

    def __init__(self, mix, size, pipeline):
        self.mix, self.size, self.pipeline = mix, size, pipeline

    def run(self, peer):
        command = (["taskset", "-c", GENERATOR_CPU] if peer.pinned else []) + self.command(peer)
        process = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if process.returncode != 0:
            raise RuntimeError("%s\n%s" % (" ".join(command), process.stderr[-2000:]))
        return self.read(process.stdout)


class Memtier(Work):
    def __init__(self, given, mix, size, pipeline, distinct=True):
        super().__init__(mix, size, pipeline)
        self.program, self.seconds, self.keys = given.memtier, given.seconds, given.keys
        self.distinct = distinct
        self.json = os.path.join(tempfile.gettempdir(), "sherd-memtier-%d.json" % os.getpid())
        seeds = "" if distinct else " same keys"
        self.name = "memtier %s %d B P%d%s" % (mix, size, pipeline, seeds)

    def command(self, peer, json_path=None):
        return (
            [self.program, "-s", "127.0.0.1", "-p", str(peer.port), "-t", "1", "-c", str(CLIENTS)]
            + ["-d", str(self.size), "--key-maximum=%d" % self.keys]
            + (["--distinct-client-seed"] if self.distinct else [])
            + ["--ratio=" + MIXES[self.mix], "--pipeline=%d" % self.pipeline]
            + ["--test-time=%d" % self.seconds, "--hide-histogram"]
            + ["--json-out-file=" + (json_path or self.json)]
        )

    def read(self, _output, json_path=None):
        with open(json_path or self.json) as file:
            totals = json.load(file)["ALL STATS"]["Totals"]
        os.remove(json_path or self.json)
        latency = totals["Percentile Latencies"]
        return {
            "ops": totals["Count"],
            "ops_s": totals["Ops/sec"],
            "p50": latency["p50.00"],
            "p99": latency["p99.00"],
            "p99.9": latency["p99.90"],
        }


class MemtierPerCpu(Memtier):
    """A generator pinned to each CPU, so that no thread of the server finds time to sleep."""

    def __init__(self, given, mix, size, pipeline):
        super().__init__(given, mix, size, pipeline)
        self.name += " a generator per CPU"

    def run(self, peer):
        """Operations add up; latencies are those of the slowest generator."""
        generators = []
        for cpu in sorted(os.sched_getaffinity(0)):
            path = "%s.%d" % (self.json, cpu)
            command = ["taskset", "-c", str(cpu)] + self.command(peer, path)
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            generators.append((process, path))
        parts = []
        for process, path in generators:
            if process.wait(300) != 0:
                raise RuntimeError("memtier_benchmark fails: " + path)
            parts.append(self.read("", path))
        sums = {key: sum(part[key] for part in parts) for key in ("ops", "ops_s")}
        return sums | {key: max(part[key] for part in parts) for key in ("p50", "p99", "p99.9")}


class RedisBenchmark(Work):
    def __init__(self, given, mix, size, pipeline):
        super().__init__(mix, size, pipeline)
        self.keys = given.keys
        self.requests = REQUESTS[pipeline] // (10 if given.short else 1)
        self.name = "redis-benchmark %s %d B P%d" % (mix, size, pipeline)

    def command(self, peer):
        return (
            ["redis-benchmark", "-h", "127.0.0.1", "-p", str(peer.port), "-c", str(CLIENTS)]
            + ["-d", str(self.size), "-P", str(self.pipeline), "-r", str(self.keys)]
            + ["-n", str(self.requests), "-t", self.mix.lower(), "--csv"]
        )

    def read(self, output):
        return read_redis_benchmark(output, self.requests)


def read_redis_benchmark(output, requests):
    row = list(csv.DictReader(io.StringIO(output)))[-1]
    return {
        "ops": requests,
        "ops_s": float(row["rps"]),
        "p50": float(row["p50_latency_ms"]),
        "p99": float(row["p99_latency_ms"]),
        "p99.9": None,
    }


def all_work(given, shards):
    if given.short:
        return [RedisBenchmark(given, mix, 3, pipeline) for mix in ("SET", "GET") for pipeline in (1, 50)]
    works = [RedisBenchmark(given, mix, 3, 100) for mix in ("SET", "GET")]
    if given.memtier:
        for size in SIZES:
            for pipeline in PIPELINES:
                works += [Memtier(given, mix, size, pipeline) for mix in MIXES]
        works += [Memtier(given, mix, 100, 50, distinct=False) for mix in ("SET", "GET")]
        if shards == "all":
            works += [MemtierPerCpu(given, "1:1", 100, pipeline) for pipeline in (1, 50)]
    else:
        for size in SIZES:
            for pipeline in PIPELINES:
                works += [RedisBenchmark(given, mix, size, pipeline) for mix in ("SET", "GET")]
    return list({work.name: work for work in works}.values())


def fill(peer, keys, size):
    """Every key gets a value of `size`, so that GETs hit, whatever ran before."""
    if peer.name == "floor":
        return
    subprocess.run(
        ["redis-benchmark", "-p", str(peer.port), "-c", "10", "-d", str(size), "-P", "100"]
        + ["-r", str(keys), "-n", str(3 * keys), "-t", "set", "-q"],
        capture_output=True,
        timeout=600,
    )


def one_turn(peer, work):
    before = peer.cpu_ns()
    figures = work.run(peer)
    figures["cpu_us"] = (peer.cpu_ns() - before) / 1000 / figures["ops"]
    return figures


def median(turns, key):
    values = [turn[key] for turn in turns if turn[key] is not None]
    return statistics.median(values) if values else None


def fill_with(work, peer, given):
    """memtier's keys are named otherwise than redis-benchmark's: it fills its own."""
    if isinstance(work, Memtier) and peer.name != "floor":
        subprocess.run(
            [given.memtier, "-s", "127.0.0.1", "-p", str(peer.port), "-t", "1", "-c", "10"]
            + ["-d", str(work.size), "--key-maximum=%d" % given.keys, "--ratio=1:0"]
            + ["--key-pattern=P:P", "--pipeline=100", "--hide-histogram"]
            + ["-n", str(given.keys // 10)],
            capture_output=True,
            timeout=600,
        )
    else:
        fill(peer, given.keys, work.size)


def measure(given, shards, peers):
    """A list of {work, peers: {name: medians}}; peers take turns at each work."""
    works = [work for work in all_work(given, shards) if re.search(given.select, work.name)]
    results = []
    filled = {}
    for peer in peers:
        peer.start()
    try:
        for work in works:
            turns = {peer.name: [] for peer in peers}
            for peer in peers:
                what = (type(work), work.size)
                if filled.get(peer.name) != what:
                    fill_with(work, peer, given)
                    filled[peer.name] = what
            for _ in range(given.rounds):
                for peer in peers:
                    turns[peer.name].append(one_turn(peer, work))
            keys = ("ops_s", "p50", "p99", "p99.9", "cpu_us")
            results.append(
                {
                    "work": work.name,
                    "peers": {
                        name: {key: median(got, key) for key in keys} for name, got in turns.items()
                    },
                }
            )
            print("%s: %s" % (shards, work.name), file=sys.stderr)
    finally:
        for peer in peers:
            peer.stop()
    return results
