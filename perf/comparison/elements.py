"""Values with elements: time per command on them, and memory per element.

Both load the same data over one connection; the times come from redis-benchmark, which puts a random
number of twelve digits where a command says `__rand_int__`.
"""

import random
import re
import socket
import sys

from comparison.work import CLIENTS, Work, median, one_turn, read_redis_benchmark

PIPELINE = 50
BATCH = 1000
RAND = "__rand_int__"


def encode(words):
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        data = word if isinstance(word, bytes) else str(word).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
    return b"".join(parts)


class Loader:
    """One connection that sends commands in batches; an error reply stops everything."""

    def __init__(self, peer):
        self.socket = socket.create_connection(("127.0.0.1", peer.port))
        self.waiting, self.count = [], 0

    def send(self, *words):
        self.waiting.append(encode(words))
        if len(self.waiting) == BATCH:
            self.flush()

    def flush(self):
        """An ECHO behind the batch says when all before it has been answered."""
        self.count += 1
        mark = b"mark-%d" % self.count
        self.socket.sendall(b"".join(self.waiting) + encode([b"ECHO", mark]))
        self.waiting = []
        tail = b""
        while not tail.endswith(mark + b"\r\n"):
            got = self.socket.recv(1 << 20)
            if not got:
                raise RuntimeError("the server hangs up while it is loaded")
            if re.search(rb"(^|\n)-", got):
                raise RuntimeError("the server refuses to be loaded: %r" % got[:200])
            tail = (tail + got)[-100:]

    def close(self):
        self.flush()
        self.socket.close()


# ---- Time ----


class CommandWork(Work):
    """One command over and over, beside data that `load` has put there."""

    def __init__(self, name, words, spread, requests, load=None):
        super().__init__(name, 0, PIPELINE)
        self.name, self.words, self.spread = name, words, spread
        self.requests, self.load = requests, load

    def command(self, peer):
        return (
            ["redis-benchmark", "-h", "127.0.0.1", "-p", str(peer.port), "-c", str(CLIENTS)]
            + ["-P", str(self.pipeline), "-r", str(self.spread), "-n", str(self.requests), "--csv"]
            + self.words
        )

    def read(self, output):
        return read_redis_benchmark(output, self.requests)


def load_list(loader):
    for i in range(1000):
        loader.send("RPUSH", "bench:list", "element:%010d" % i)


def load_hashes(loader):
    for i in range(10000):
        pairs = [word for f in range(20) for word in ("field:%02d" % f, "value:%04d" % f)]
        loader.send("HSET", "bench:hash:%012d" % i, *pairs)


def load_set(loader):
    for i in range(1000000):
        loader.send("SADD", "bench:set", "member:%012d" % i)


def load_zset(loader):
    numbers = random.Random(1)
    for i in range(1000000):
        loader.send("ZADD", "bench:zset", "%.3f" % (numbers.random() * 1e6), "member:%012d" % i)


def load_stream(loader):
    for i in range(1, 100001):
        loader.send("XADD", "bench:stream", "%d-1" % i, "field", "value:%06d" % i)


def load_geo(loader):
    numbers = random.Random(2)
    for i in range(100000):
        place = (numbers.uniform(10, 20), numbers.uniform(40, 50))
        loader.send("GEOADD", "bench:geo", "%.6f" % place[0], "%.6f" % place[1], "place:%06d" % i)


def load_two_sets(loader):
    for i in range(1000):
        loader.send("SADD", "bench:{a}:1", "member:%06d" % i)
        loader.send("SADD", "bench:{a}:2", "member:%06d" % (i + 500))


def works():
    return [
        CommandWork("LPUSH", ["LPUSH", "grow:list:" + RAND, "element:0000"], 10000, 1000000),
        CommandWork("LRANGE 100", ["LRANGE", "bench:list", "400", "499"], 1, 200000, load_list),
        CommandWork("HSET", ["HSET", "bench:hash:" + RAND, "field:07", "value:0001"], 10000, 1000000, load_hashes),
        CommandWork("HGETALL of 20", ["HGETALL", "bench:hash:" + RAND], 10000, 300000),
        CommandWork("SADD", ["SADD", "grow:set", "m:" + RAND], 1000000, 1000000),
        CommandWork("SISMEMBER", ["SISMEMBER", "bench:set", "member:" + RAND], 1000000, 1000000, load_set),
        CommandWork("ZADD into 1M", ["ZADD", "bench:zset", RAND, "member:" + RAND], 1000000, 500000, load_zset),
        CommandWork("ZRANGE 100", ["ZRANGE", "bench:zset", "500000", "500099"], 1, 200000),
        CommandWork("ZRANK", ["ZRANK", "bench:zset", "member:" + RAND], 1000000, 500000),
        CommandWork("XADD", ["XADD", "grow:stream", "*", "field", "value:" + RAND], 1000000, 1000000),
        CommandWork("XRANGE 100", ["XRANGE", "bench:stream", "50000", "+", "COUNT", "100"], 1, 100000, load_stream),
        CommandWork("PFADD", ["PFADD", "grow:hll", "element:" + RAND], 1000000, 1000000),
        CommandWork(
            "GEOSEARCH",
            ["GEOSEARCH", "bench:geo", "FROMLONLAT", "15", "45", "BYRADIUS", "20", "km", "ASC"],
            1,
            50000,
            load_geo,
        ),
        CommandWork("SINTER of 1000", ["SINTER", "bench:{a}:1", "bench:{a}:2"], 1, 20000, load_two_sets),
    ]


def measure_time(given, shards, peers):
    """As work.measure(): a list of {work, peers: {name: medians}}."""
    peers = [peer for peer in peers if peer.name not in ("floor", "pogocache")]
    results = []
    for peer in peers:
        peer.start()
    try:
        for work in works():
            if not re.search(given.select, work.name):
                continue
            for peer in peers:
                if work.load:
                    loader = Loader(peer)
                    work.load(loader)
                    loader.close()
            turns = {peer.name: [] for peer in peers}
            for _ in range(given.rounds):
                for peer in peers:
                    turns[peer.name].append(one_turn(peer, work))
            keys = ("ops_s", "p50", "p99", "p99.9", "cpu_us")
            print("%s: %s" % (shards, work.name), file=sys.stderr)
            medians = {name: {key: median(got, key) for key in keys} for name, got in turns.items()}
            results.append({"work": work.name, "peers": medians})
    finally:
        for peer in peers:
            peer.stop()
    return results


# ---- Memory ----


def big_set(loader, count):
    for i in range(count):
        loader.send("SADD", "set", "member:%09d" % i)
    return count


def big_zset(loader, count):
    numbers = random.Random(3)
    for i in range(count):
        loader.send("ZADD", "zset", repr(numbers.random()), "member:%010d" % i)
    return count


def hashes(loader, count):
    for i in range(count // 20):
        pairs = [word for f in range(20) for word in ("field:%02d" % f, "%010d" % (i + f))]
        loader.send("HSET", "hash:%d" % i, *pairs)
    return count // 20 * 20


def lists(loader, count):
    for i in range(count // 30):
        loader.send("RPUSH", "list:%d" % i, *["element:%012d" % (i + e) for e in range(30)])
    return count // 30 * 30


def streams(loader, count):
    for i in range(count):
        pairs = [word for f in range(5) for word in ("field%d" % f, "%010d" % (i + f))]
        loader.send("XADD", "stream", "%d-0" % (1700000000000 + i), *pairs)
    return count


FORMS = {
    "a set of 2 million members of 16 bytes": (big_set, 2000000),
    "a sorted set of 2 million members of 17 bytes": (big_zset, 2000000),
    "100,000 hashes of 20 fields": (hashes, 2000000),
    "200,000 lists of 30 elements of 20 bytes": (lists, 6000000),
    "a stream of 1 million entries of 5 fields": (streams, 1000000),
}


def used(peer):
    return int(re.search(rb"used_memory:(\d+)", peer.ask(b"INFO memory\r\n")).group(1))


def measure_one(peer, form, count):
    peer.start()
    try:
        empty, empty_rss = used(peer), peer.rss_bytes()
        loader = Loader(peer)
        elements = form(loader, count)
        loader.close()
        return {
            "used": (used(peer) - empty) / elements,
            "rss": (peer.rss_bytes() - empty_rss) / elements,
        }
    finally:
        peer.stop()


def measure_memory(given, peers):
    """As memory.measure(): {form: {peer: bytes per element}}."""
    peers = [peer for peer in peers if peer.name in ("sherd", "redis-server", "valkey-server")]
    return {
        name: {peer.name: measure_one(peer, form, count) for peer in peers}
        for name, (form, count) in FORMS.items()
        if re.search(given.select, name)
    }
