"""RESP2 and RESP3 from a client's side. Every reply keeps the bytes that it came as."""

import math
import select
import socket
import time

NULL_BULK, NULL_ARRAY, NULL = "$-1", "*-1", "_"


class Closed(Exception):
    """The server has closed the connection."""


class NoReply(Exception):
    """Nothing, or not enough, came in time."""


class BadReply(Exception):
    """What came is not RESP."""


class Reply:
    """One reply. `kind` is RESP's first byte, or one of the three nulls above.

    `value` is bytes for texts, int for ":", list of Reply for arrays, sets and pushes, list of pairs
    of Reply for maps, None for nulls. `raw` is the whole reply as it came.
    """

    __slots__ = ("kind", "value", "raw", "attributes")

    def __init__(self, kind, value, raw=b"", attributes=None):
        self.kind, self.value, self.raw, self.attributes = kind, value, raw, attributes

    def is_error(self):
        return self.kind in ("-", "!")

    def is_null(self):
        return self.kind in (NULL_BULK, NULL_ARRAY, NULL)

    def elements(self):
        """The elements of an aggregate in order, a map's keys and values alternating."""
        if self.kind == "%":
            return [reply for pair in self.value for reply in pair]
        return self.value if isinstance(self.value, list) else []

    def plain(self):
        """As Python values: bytes, int, float, None, lists, dicts of text keys; errors as bytes."""
        if self.kind == "%":
            return {key.value.decode(): value.plain() for key, value in self.value}
        if isinstance(self.value, list):
            return [reply.plain() for reply in self.value]
        if self.kind == ",":
            return float(self.value)
        if self.kind == "#":
            return self.value == b"t"
        return self.value

    def __repr__(self):
        return "Reply(%r)" % self.raw[:200]


def encode(words):
    """A command as clients send it."""
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        if isinstance(word, str):
            word = word.encode()
        elif isinstance(word, int):
            word = b"%d" % word
        parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
    return b"".join(parts)


class Connection:
    """A client connection that reads one reply at a time."""

    def __init__(self, port, host="127.0.0.1", timeout=5.0):
        self.timeout = timeout
        self.socket = socket.create_connection((host, port), timeout=5)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray()
        self.at = 0

    def close(self):
        try:
            self.socket.close()
        except OSError:
            pass

    # ---- sending

    def send(self, data):
        self.socket.settimeout(30)
        try:
            self.socket.sendall(data)
        except TimeoutError:
            raise NoReply("the server does not read") from None
        except OSError as error:
            raise Closed("the connection is closed: %s" % error) from None

    def command(self, *words):
        """Sends a command and gives its reply."""
        self.send(encode(words))
        return self.reply()

    # ---- receiving

    def is_readable(self, seconds):
        """poll(), because select() knows no descriptors above 1023."""
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        return bool(poll.poll(max(0, math.ceil(seconds * 1000))))

    def fill(self, deadline):
        """Receives some more bytes, by `deadline`."""
        left = deadline - time.monotonic()
        if left <= 0 or not self.is_readable(left):
            raise NoReply("no reply in time")
        try:
            data = self.socket.recv(1 << 20)
        except OSError as error:
            raise Closed("the connection is closed: %s" % error) from None
        if not data:
            raise Closed("the server has closed the connection")
        self.buffer += data

    def line(self, deadline):
        while True:
            end = self.buffer.find(b"\r\n", self.at)
            if end >= 0:
                line = bytes(self.buffer[self.at : end])
                self.at = end + 2
                return line
            self.fill(deadline)

    def exactly(self, count, deadline):
        while len(self.buffer) - self.at < count + 2:
            self.fill(deadline)
        data = bytes(self.buffer[self.at : self.at + count])
        if self.buffer[self.at + count : self.at + count + 2] != b"\r\n":
            raise BadReply("a bulk of %d bytes does not end there" % count)
        self.at += count + 2
        return data

    def reply(self, timeout=None):
        """The next reply. What did not come in full by `timeout` is read again by the next call."""
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        try:
            reply = self.read(deadline)
        except NoReply:
            self.at = 0
            raise
        del self.buffer[: self.at]
        self.at = 0
        return reply

    def read(self, deadline):
        start = self.at
        attributes = None
        line = self.line(deadline)
        if line[:1] == b"|":
            attributes = self.pairs(int(line[1:]), deadline)
            line = self.line(deadline)
        kind, rest = chr(line[0]) if line else "", line[1:]
        if kind in "+-,#(" and kind:
            value = rest
        elif kind == ":":
            value = int(rest)
        elif kind in ("$", "=", "!"):
            length = int(rest)
            value = None if length < 0 else self.exactly(length, deadline)
            kind = NULL_BULK if value is None else kind
        elif kind in ("*", "~", ">"):
            count = int(rest)
            value = None if count < 0 else [self.read(deadline) for _ in range(count)]
            kind = NULL_ARRAY if value is None else kind
        elif kind == "%":
            value = self.pairs(int(rest), deadline)
        elif kind == "_":
            value = None
        else:
            raise BadReply("not a reply: %r" % line[:100])
        return Reply(kind, value, bytes(self.buffer[start : self.at]), attributes)

    def pairs(self, count, deadline):
        return [(self.read(deadline), self.read(deadline)) for _ in range(count)]

    def is_quiet(self, seconds):
        """Does nothing arrive for `seconds`?"""
        if self.buffer:
            return False
        return not self.is_readable(seconds)

    def wait_closed(self, seconds):
        """Drops what comes until the server closes; False if it does not in `seconds`."""
        deadline = time.monotonic() + seconds
        try:
            while True:
                self.buffer.clear()
                self.at = 0
                self.fill(deadline)
        except Closed:
            return True
        except NoReply:
            return False
