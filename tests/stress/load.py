"""Atomicity and order, seen from outside: tests/stress/*.c against servers of all shapes."""

import os
import signal
import subprocess
import time

from stress.bench import want

SCENARIOS = ["twins", "order", "ring", "swap", "flush", "bank", "lock", "own", "config",
             "heavy", "big"]
# Shards, backend, lending, log entries. The first are those that find the most.
SHAPES = [
    (5, "io_uring", "yes", 0),
    (3, "epoll", "yes", 64),
    (2, "io_uring", "no", 0),
    (1, "io_uring", "yes", 0),
    (5, "epoll", "no", 64),
    (3, "io_uring", "no", 64),
    (2, "epoll", "yes", 0),
    (2, "io_uring", "yes", 64),
    (1, "epoll", "no", 0),
]
SHAPES_SHORT, SHAPES_SANITIZED = 4, 2
LONG_SECONDS = 60  # 5 shards on 2 cores
STALL_SECONDS = 5


def program(bench):
    return os.path.join(bench.given.build, "tests", "stress")


def build(bench):
    """The runner may have been given a build without test programs."""
    if not os.access(program(bench), os.X_OK):
        subprocess.run(
            ["cmake", "--build", bench.given.build, "--target", "stress"],
            check=True, stdout=subprocess.DEVNULL,
        )


def stress(bench, server, seconds, *options):
    """Runs the client; (its status, what it said)."""
    command = [program(bench), "--port", server.port, "--seconds", seconds] + list(options)
    command += ["--stall", STALL_SECONDS * bench.patience] if "--stall" not in options else []
    result = subprocess.run(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=seconds + 60 * bench.patience,
    )
    return result.returncode, result.stdout.strip()


def shape_options(shards, backend, lend, log_entries):
    options = ["--shards", shards, "--io-backend", backend, "--lend", lend]
    return options + (["--order-log-entries", log_entries] if log_entries else [])


def check_shape(bench, shape, seconds):
    """All scenarios at once, for load; then some alone: with few connections requests are quick, with many
    commands that stop several shards threads are parked all the time."""
    with bench.server(*shape_options(*shape)) as server:
        for part, options in [(0.5, ["--connections", 100]),
                              (0.25, ["--connections", 24, "--only", "twins,order,config"]),
                              (0.25, ["--connections", 60, "--only", "own,big,ring,lock"])]:
            status, output = stress(bench, server, seconds * part, *options)
            want(status == 0, "%s", output)
            print("     " + output, flush=True)


def check_broken(bench, server, scenario):
    status, output = stress(bench, server, 1, "--connections", 40, "--broken", scenario)
    want(status == 1 and "WRONG" in output, "broken on purpose, and not found:\n%s", output)


def check_stall(bench, server):
    """A server that stands still for a while must be noticed."""
    client = subprocess.Popen(
        [program(bench), "--port", str(server.port), "--seconds", "3", "--stall", "1"],
        stdout=subprocess.PIPE, text=True,
    )
    time.sleep(1)
    server.process.send_signal(signal.SIGSTOP)
    time.sleep(1.8)
    server.process.send_signal(signal.SIGCONT)
    output = client.communicate()[0]
    want(client.returncode == 1 and "no reply for" in output, "not noticed:\n%s", output)


def checks(bench):
    """(name, function) of each check."""
    build(bench)
    count = len(SHAPES) if bench.long else SHAPES_SHORT
    if bench.is_sanitized and not bench.long:
        count = SHAPES_SANITIZED
    for shape in SHAPES[:count]:
        seconds = LONG_SECONDS if bench.long else 10 if shape[0] == 5 else 5
        yield ("load: %d shards, %s, lend %s, log %d" % shape,
               lambda shape=shape, seconds=seconds: check_shape(bench, shape, seconds))
    if bench.is_sanitized:
        return
    with bench.server("--shards", 3) as server:
        for scenario in SCENARIOS:
            yield "load: finds what is broken: " + scenario, \
                lambda scenario=scenario: check_broken(bench, server, scenario)
        yield "load: finds a stall", lambda: check_stall(bench, server)
