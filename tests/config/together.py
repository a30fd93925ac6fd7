"""Many clients that change settings at once, each one of its own: no change is lost."""

import random
import threading
import time

from support.resp import encode
from support.server import Server

SECONDS = 4
SHARDS = 3
OPTIONS = ["maxmemory-samples", "timeout", "slowlog-max-len", "lfu-log-factor", "tcp-keepalive",
           "acllog-max-len", "repl-timeout", "masterauth", "cluster-announce-ip"]


def change(server, option, seed, until, totals):
    chance, connection = random.Random(seed), server.connect(timeout=60)
    value = b"0"
    while time.monotonic() < until:
        value = b"%d" % chance.randint(100, 1 << 20)
        connection.send(encode(["CONFIG", "SET", option, value]) + encode(["CONFIG", "GET", option]))
        replies = [connection.reply().plain(), connection.reply().plain()]
        if replies != [b"OK", [option.encode(), value]]:
            totals.fail("CONFIG SET %s %s among others" % (option, value), replies)
            return
        if chance.random() < 0.05:  # another thread serves us then
            connection.close()
            connection = server.connect(timeout=60)
    kept = connection.command("CONFIG", "GET", option).plain()[1]
    if kept == value:
        totals.ok()
    else:
        totals.fail("CONFIG SET %s %s among others" % (option, value), "it is %s in the end" % kept)


def run(given, totals):
    with Server(given.sherd, "--shards", SHARDS, *given.server_options, name="sherd") as server:
        until = time.monotonic() + SECONDS
        threads = [
            threading.Thread(target=change, args=(server, option, seed, until, totals))
            for seed, option in enumerate(OPTIONS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for fault in server.stop():
            totals.fail("the server whose settings were changed", fault)
