"""What the checks of this folder share: the server under test, and how a check says that it failed."""

import contextlib
import os
import time

from support.server import Server

PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")


class Wrong(Exception):
    """What a check has found."""


class Skip(Exception):
    """Why a check cannot be made here."""


def want(condition, text, *values):
    if not condition:
        raise Wrong(text % values if values else text)


class Bench:
    """The server under test: `given` as the runner got it, and whether a sanitizer slows it down."""

    def __init__(self, given):
        self.given = given
        self.long = given.all
        with open(given.sherd, "rb") as program:
            code = program.read()
        self.is_sanitized = b"__tsan_init" in code or b"__asan_init" in code
        self.patience = 6.0 if self.is_sanitized else 1.0  # factor for what must be quick

    @contextlib.contextmanager
    def server(self, *options, launcher=()):
        """A running server; what is wrong with its process at the end is Wrong."""
        options = list(options) + self.given.server_options
        try:
            server = Server(self.given.sherd, *options, launcher=launcher)
        except RuntimeError as error:
            raise Wrong(str(error)) from None
        try:
            yield server
        finally:
            faults = server.faults if server.is_stopped else server.stop()
        want(not faults, "%s", "\n".join(faults))


def shard_fields(connection):
    """INFO's section of the shards: one dict of numbers for each."""
    text = connection.command("INFO", "shards").value.decode()
    shards = []
    for line in text.split("\r\n"):
        name, _, fields = line.partition(":")
        if name.startswith("shard") and name[5:].isdigit():
            pairs = (field.split("=") for field in fields.split(","))
            shards.append({key: int(value) for key, value in pairs})
    return shards


def info(connection, section, field):
    text = connection.command("INFO", section).value.decode()
    for line in text.split("\r\n"):
        if line.startswith(field + ":"):
            return line[len(field) + 1 :]
    raise Wrong("INFO %s has no %s" % (section, field))


def rss_bytes(pid):
    with open("/proc/%d/statm" % pid) as file:
        return int(file.read().split()[1]) * PAGE


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def wait_for(condition, seconds, text):
    """Waits until `condition()` is true."""
    deadline = time.monotonic() + seconds
    while not condition():
        want(time.monotonic() < deadline, "%s: not within %.0f s", text, seconds)
        time.sleep(0.02)


def ping(server, seconds=5.0):
    connection = server.connect(timeout=seconds)
    answer = connection.command("PING")
    want(answer.value == b"PONG", "PING is answered by %r", answer)
    connection.close()
