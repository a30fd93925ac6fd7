"""Hostile clients: they may hurt themselves, and nobody else."""

import random
import resource
import socket
import struct
import threading
import time

from stress.bench import ping, rss_bytes, wait_for, want
from support.resp import Closed, NoReply, encode

MIB = 1 << 20


def abort(connection):
    """Closes with a reset instead of a farewell."""
    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def drain(connection, seconds):
    """Reads until the server closes or is silent."""
    connection.socket.settimeout(seconds)
    try:
        while connection.socket.recv(65536):
            pass
    except OSError:
        pass


def random_bytes(bench):
    chance = random.Random(2)
    with bench.server("--shards", 3) as server:
        for number in range(300 if bench.long else 60):
            connection = server.connect()
            noise = chance.randbytes(chance.randrange(1, 20000))
            if number % 3 == 0:  # with words a parser knows
                pieces = [b"*", b"$", b"\r\n", b"-1", b"*3\r\n$3\r\nSET\r\n", b"\n", b"\"", b"'", b"9" * 30,
                          b"PING\r\n", b"*1\r\n$4\r\nPING\r\n", b"\0", b"*0\r\n", b"$0\r\n\r\n"]
                noise = b"".join(chance.choice(pieces) for _ in range(chance.randrange(1, 400)))
            try:
                connection.send(noise)
                connection.socket.shutdown(socket.SHUT_WR)
            except (Closed, NoReply, OSError):
                pass
            drain(connection, 0.2)
            connection.close()
        ping(server)


def half_commands(bench):
    """Hundreds stop in the middle of a command, at every place; later they go on, and are answered."""
    command = encode(["MSET", "half:a", "1", "half:b", "x" * 100]) + encode(["ECHO", "done"])
    with bench.server("--shards", 3) as server:
        waiting = []
        for at in range(1, len(command)):
            connection = server.connect()
            connection.send(command[:at])
            waiting.append((at, connection))
        ping(server)
        for at, connection in waiting:
            connection.send(command[at:])
        for at, connection in waiting:
            first, second = connection.reply(), connection.reply()
            want(first.value == b"OK" and second.value == b"done",
                 "cut at %d: %r, %r", at, first, second)
            connection.close()


def giant_counts(bench):
    """Counts that promise gigabytes cost nothing until they are kept."""
    counts = [b"*2147483647\r\n", b"*1048577\r\n", b"*9223372036854775807\r\n", b"*-2147483648\r\n",
              b"*1\r\n$2147483648\r\n", b"*1\r\n$536870913\r\n", b"*1\r\n$9223372036854775807\r\n",
              b"*1\r\n$-2\r\n", b"*2\r\n$4\r\nECHO\r\n$536870912\r\nabc", b"*1048576\r\n",
              b"*18446744073709551617\r\n", b"*1\r\n$18446744073709551617\r\n"]
    with bench.server("--shards", 2) as server:
        before = rss_bytes(server.process.pid)
        held = []
        for count in counts:
            for _ in range(20):
                connection = server.connect()
                connection.send(count)
                held.append(connection)
        time.sleep(0.2)
        ping(server)
        grown = rss_bytes(server.process.pid) - before
        want(bench.is_sanitized or grown < 64 * MIB, "%d bytes of memory for promises", grown)
        for connection in held:
            connection.close()


def resets_in_replies(bench):
    """Connections reset while a big reply is on its way."""
    with bench.server("--shards", 3) as server:
        writer = server.connect(timeout=20)
        for number in range(4):
            writer.command("SET", "big:%d" % number, "v" * MIB)
        for number in range(100 if bench.long else 15 if bench.is_sanitized else 40):
            connection = server.connect()
            for _ in range(3):
                connection.send(encode(["MGET"] + ["big:%d" % key for key in range(4)]))
            connection.socket.recv(1000 * (number % 3))
            abort(connection)
        ping(server)
        wait_for(lambda: clients(writer) == 1, 10 * bench.patience, "dead connections are let go")


def clients(connection):
    return len(connection.command("CLIENT", "LIST").value.splitlines())


def greedy_reader(bench):
    """A client that reads nothing is closed at its limit; its neighbours do not notice."""
    options = ["--shards", 2, "--client-output-buffer-limit", "normal 8mb 0 0"]
    with bench.server(*options) as server:
        neighbour = server.connect(timeout=20)
        neighbour.command("SET", "big", "v" * MIB)
        greedy = server.connect()
        slowest, wanted = 0.0, 200
        greedy.socket.setblocking(False)
        request = encode(["GET", "big"])
        for _ in range(wanted):
            try:
                greedy.socket.send(request)
            except OSError:
                break
            began = time.monotonic()
            neighbour.command("PING")
            slowest = max(slowest, time.monotonic() - began)
        wait_for(lambda: clients(neighbour) == 1, 10 * bench.patience, "who reads nothing is closed")
        want(slowest < 0.5 * bench.patience, "a neighbour waited %.2f s for PING", slowest)
        greedy.close()


def idle_connections(bench):
    """ops-17: ten thousand idle connections, less than 20 KiB each."""
    count = 1000 if bench.is_sanitized else 10000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < count + 200:
        hard = soft = max(hard, count + 200)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with bench.server("--maxclients", count + 100, "--tcp-backlog", 1000) as server:
        before = rss_bytes(server.process.pid)
        held = []
        for number in range(count):
            connection = server.connect(timeout=30)
            if number % 2:  # some have said something
                connection.send(encode(["PING"]))
            held.append(connection)
        for connection in held[1::2]:
            want(connection.reply().value == b"PONG", "PING is not answered")
        each = (rss_bytes(server.process.pid) - before) / count
        print("     %.1f KiB a connection" % (each / 1024), flush=True)
        want(bench.is_sanitized or each < 20 * 1024, "%.0f bytes of memory a connection", each)
        ping(server)
        for connection in held:
            connection.close()
        wait_for(lambda: clients(probe(server)) == 1, 20 * bench.patience, "all are let go")


def probe(server):
    """A connection that goes when it is forgotten."""
    return server.connect(timeout=20)


def pipeline_without_reading(bench):
    """A deep pipeline whose sender reads only at the end gets every reply, in order."""
    count = 100000 if bench.long else 20000
    with bench.server("--shards", 3) as server:
        connection = server.connect(timeout=60)
        requests = b"".join(encode(["ECHO", number]) for number in range(count))
        sender = threading.Thread(target=lambda: connection.send(requests))
        sender.start()
        time.sleep(0.5)
        for number in range(count):
            value = connection.reply().value
            want(value == b"%d" % number, "reply %d is %r", number, value)
        sender.join()


def checks(bench):
    for function in [random_bytes, half_commands, giant_counts, resets_in_replies, greedy_reader,
                     pipeline_without_reading, idle_connections]:
        yield "hostile: " + function.__name__.replace("_", " "), \
            lambda function=function: function(bench)
