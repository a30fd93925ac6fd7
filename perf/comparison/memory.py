"""Bytes per key: used_memory and resident memory, less those of the empty server."""

import re
import socket
import statistics

MILLIONS = [3, 4, 5, 6]
BATCH = 10000
FORMS = {
    "8-byte values": lambda i: b"*3\r\n$3\r\nSET\r\n$14\r\nkey:%010d\r\n$8\r\n%08x\r\n" % (i, i | 0xA0000000),
    "8-byte values with a TTL": lambda i: (
        b"*5\r\n$3\r\nSET\r\n$14\r\nkey:%010d\r\n$8\r\n%08x\r\n$2\r\nEX\r\n$6\r\n100000\r\n"
        % (i, i | 0xA0000000)
    ),
    "100-byte values": lambda i: b"*3\r\n$3\r\nSET\r\n$14\r\nkey:%010d\r\n$100\r\n%0100d\r\n" % (i, i),
}


def used(peer):
    text = peer.ask(b"INFO memory\r\n")
    return int(re.search(rb"used_memory:(\d+)", text).group(1))


def load(peer, first, last, form):
    with socket.create_connection(("127.0.0.1", peer.port)) as connection:
        for low in range(first, last, BATCH):
            high = min(last, low + BATCH)
            connection.sendall(b"".join(form(i) for i in range(low, high)))
            left = 5 * (high - low)  # "+OK\r\n" each
            while left:
                left -= len(connection.recv(1 << 20))


def measure_one(peer, form):
    peer.start()
    try:
        empty, empty_rss = used(peer), peer.rss_bytes()
        per_key, per_key_rss, loaded = [], [], 0
        for million in MILLIONS:
            load(peer, loaded, million * 1000000, form)
            loaded = million * 1000000
            per_key.append((used(peer) - empty) / loaded)
            per_key_rss.append((peer.rss_bytes() - empty_rss) / loaded)
        return {"used": statistics.mean(per_key), "rss": statistics.mean(per_key_rss)}
    finally:
        peer.stop()


def measure(given, peers):
    peers = [peer for peer in peers if peer.name in ("sherd", "redis-server", "valkey-server")]
    return {
        what: {peer.name: measure_one(peer, form) for peer in peers}
        for what, form in FORMS.items()
        if re.search(given.select, what)
    }


def table(results, title):
    lines = [
        "### " + title,
        "",
        "| what | server | used_memory B | ratio | RSS B | ratio |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for what, peers in results.items():
        base = peers.get("redis-server")
        for name, got in peers.items():
            lines.append(
                "| %s | %s | %.1f | %.2f | %.1f | %.2f |"
                % (
                    what,
                    name,
                    got["used"],
                    got["used"] / base["used"] if base else 0,
                    got["rss"],
                    got["rss"] / base["rss"] if base else 0,
                )
            )
    return "\n".join(lines) + "\n"
