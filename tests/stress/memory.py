"""Memory that is bounded, and given back. Cases ops-* are from public reports."""

import random
import time

from stress.bench import Skip, info, rss_bytes, want
from support import kind
from support.resp import encode
from support.server import Server

MIB = 1 << 20


def write_all(connection, batch):
    """Sends SETs, and reads nothing but their +OK."""
    connection.send(b"".join(batch))
    replies = receive(connection, 5 * len(batch))
    want(replies == b"+OK\r\n" * len(batch), "a write is answered by %r", replies[:200])


def receive(connection, length):
    connection.socket.settimeout(30)
    data = bytearray()
    while len(data) < length:
        more = connection.socket.recv(1 << 20)
        want(more, "the server has closed the connection")
        data += more
    return bytes(data)


def write_values(connection, seconds, chance, sizes, value):
    """Writes values of mixed sizes for a while, in pipelines; bytes written."""
    written, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        batch = []
        for _ in range(16):
            size = chance.choice(sizes)
            batch.append(encode(["SET", "value:%d" % chance.randrange(1 << 40), value[:size]]))
            written += size
        write_all(connection, batch)
    return written


def stays_within_maxmemory(bench):
    """ops-48: values of 10 bytes to 1 MiB into a full cache: neither past the limit nor half empty."""
    limit = (500 if bench.long else 100) * MIB
    seconds = 60 if bench.long else 5
    with bench.server("--shards", 3, "--maxmemory", limit, "--maxmemory-policy", "allkeys-lru") as server:
        connection = server.connect(timeout=30)
        base = rss_bytes(server.process.pid)
        chance = random.Random(48)
        sizes = [10, 100, 1000, 10000, 100000, MIB]
        written = write_values(connection, seconds, chance, sizes, b"v" * MIB)
        want(written > 2 * limit, "%d MiB written are too few to say anything", written // MIB)
        used = int(info(connection, "memory", "used_memory"))
        rss = rss_bytes(server.process.pid)
        evicted = int(info(connection, "stats", "evicted_keys"))
        print("     %d MiB written, used %d MiB of %d, RSS %d MiB, %d keys evicted"
              % (written // MIB, used // MIB, limit // MIB, rss // MIB, evicted), flush=True)
        want(used <= limit, "used_memory is %d bytes with a limit of %d", used, limit)
        want(used >= limit * 3 // 4, "evicted far too much: %d MiB are left of %d", used // MIB, limit // MIB)
        want(rss < limit * 1.3 + base, "RSS is %d MiB", rss // MIB)


def gives_memory_back(bench):
    """ops-50: what is flushed goes back to the system."""
    amount = (1024 if bench.long else 256) * MIB
    with bench.server("--shards", 3, "--enable-debug-command", "yes") as server:
        connection = server.connect(timeout=60)
        base = rss_bytes(server.process.pid)
        connection.command("DEBUG", "POPULATE", amount // 2 // 160, "small", 100)
        for number in range(0, amount // 2 // 20000, 100):
            write_all(connection, [encode(["SET", "large:%d" % n, b"v" * 20000])
                                   for n in range(number, number + 100)])
        full = rss_bytes(server.process.pid)
        connection.command("FLUSHALL")
        connection.command("MEMORY", "PURGE")
        end = time.monotonic() + 30
        allowed = base + amount // 8
        while rss_bytes(server.process.pid) > allowed and time.monotonic() < end:
            time.sleep(0.2)
        left = rss_bytes(server.process.pid)
        print("     RSS %d MiB empty, %d full, %d after FLUSHALL"
              % (base // MIB, full // MIB, left // MIB), flush=True)
        want(full > base + amount // 2, "RSS is %d MiB when full: nothing to give back", full // MIB)
        want(left <= allowed, "RSS is %d MiB after FLUSHALL and MEMORY PURGE", left // MIB)


def one_reckoning(bench):
    """INFO and MEMORY STATS split what is used alike: the server and its tables are no data."""
    keys, value = 200000, 100
    with bench.server("--shards", 3, "--enable-debug-command", "yes") as server:
        connection = server.connect(timeout=60)

        def stats():
            flat = connection.command("MEMORY", "STATS").plain()
            return dict(zip(flat[::2], flat[1::2]))

        empty = stats()
        connection.command("DEBUG", "POPULATE", keys, "key", value)
        full = stats()
        lines = connection.command("INFO", "memory").value.decode().split("\r\n")
        fields = dict(line.split(":", 1) for line in lines if ":" in line)
        shown = {name: int(fields["used_memory" + name])
                 for name in ("", "_overhead", "_dataset", "_startup")}
        percent = float(fields["used_memory_dataset_perc"].rstrip("%"))
        for name, other in (("_overhead", b"overhead.total"), ("_dataset", b"dataset.bytes"),
                            ("_startup", b"startup.allocated"), ("", b"total.allocated")):
            want(abs(shown[name] - full[other]) <= shown[name] / 100,
                 "used_memory%s is %d, %s %d", name, shown[name], other, full[other])
        want(shown["_overhead"] + shown["_dataset"] == shown[""], "%s is not a sum", shown)
        want(empty[b"dataset.bytes"] < 100000, "%d bytes of data without keys", empty[b"dataset.bytes"])
        grown = full[b"dataset.bytes"] / keys
        want(value <= grown <= 1.3 * value + 16, "%.1f bytes of data a key", grown)
        tables = full[b"db.0"][full[b"db.0"].index(b"overhead.hashtable.main") + 1] / keys
        want(8 <= tables <= 24, "%.1f bytes of tables a key", tables)
        want(70 < percent < 100, "%.1f %% are data", percent)


def time_large_hashes(program, options):
    with Server(program, *options) as server:
        connection = server.connect(timeout=30)
        for number in range(100):
            words = ["HSET", "hash:%d" % number]
            for field in range(1000):
                words += ["field:%d" % field, "value:%d" % field]
            reply = connection.command(*words)
            if reply.is_error():
                raise Skip(reply.value.decode())
        request = b"".join(encode(["HGETALL", "hash:%d" % number]) for number in range(100))
        connection.send(request)
        length = sum(len(connection.reply(timeout=30).raw) for _ in range(100))
        best = None
        for _ in range(5):
            began = time.monotonic()
            connection.send(request)
            receive(connection, length)
            took = time.monotonic() - began
            best = took if best is None else min(best, took)
        want(length > 100 * 1000 * 20, "HGETALL gives %d bytes", length)
        return best


def large_hashes(bench):
    """ops-15: HGETALL of 100 hashes of 1,000 fields, within 1.5 times of redis-server."""
    ours = time_large_hashes(bench.given.sherd, ["--shards", 2] + bench.given.server_options)
    theirs = time_large_hashes(kind.reference(), [])
    print("     %.1f ms, redis-server %.1f ms" % (1000 * ours, 1000 * theirs), flush=True)
    want(ours < 1.5 * theirs, "%.1f ms, redis-server %.1f ms", 1000 * ours, 1000 * theirs)


def checks(bench):
    if bench.is_sanitized:  # they keep what is freed, to find late uses
        return
    for function in [stays_within_maxmemory, one_reckoning, gives_memory_back, large_hashes]:
        yield "memory: " + function.__name__.replace("_", " "), \
            lambda function=function: function(bench)
