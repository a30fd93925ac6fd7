"""Transcripts: what a client sends and must get back, as text. The format is in README.md."""

import re
import time

from support.resp import BadReply, Closed, NoReply, encode
from support.text import quote, render, split_words

MESSAGE = re.compile(r"^(c\d+)?(>|=|<@|<\+|<r|<)(?: (.*))?$", re.S)
CONNECTION = re.compile(r"^(c\d+) (.*)$", re.S)
CASE_SECONDS = 60
BATCH = 500  # commands of `repeat` that are sent before their replies are read
AWAIT_PAUSE = 0.02  # seconds
SCAN_STEPS_MAX = 200_000
SHOWN = 2000  # bytes of a wrong reply that are worth reading


class Failed(Exception):
    """A step did not go as the transcript says."""


class Malformed(Exception):
    """The transcript itself is wrong."""


class Case:
    def __init__(self, path, line, name, title):
        self.path, self.line, self.name, self.title = path, line, name, title
        self.source = None
        self.slow = False
        self.since = None  # the version of Redis that has it, if redis-server here has not
        self.steps = []  # (number of its line, its lines)


def load(path):
    """The cases of a file, in order."""
    cases, names = [], set()
    with open(path, encoding="utf-8") as file:
        for number, raw in enumerate(file, 1):
            line = raw.rstrip("\n")
            if line.startswith("##") or not line.strip():
                continue
            if line.startswith("#: "):
                key, _, value = line[3:].partition(" ")
                if key == "src":
                    cases[-1].source = value
                elif key == "slow":
                    cases[-1].slow = True
                elif key == "since":
                    cases[-1].since = value
                else:
                    raise Malformed("%s:%d: unknown note %r" % (path, number, key))
            elif line.startswith("# "):
                name, _, title = line[2:].partition(" ")
                if name in names:
                    raise Malformed("%s:%d: %s is there twice" % (path, number, name))
                names.add(name)
                cases.append(Case(path, number, name, title))
            elif not cases:
                raise Malformed("%s:%d: a line outside a case" % (path, number))
            elif line == "|" or line.startswith("| "):
                cases[-1].steps[-1][1].append(line[2:])
            else:
                cases[-1].steps.append((number, [line]))
    return cases


class Runner:
    """Runs cases against one server, each on fresh connections and an empty keyspace.

    With `record`, replies that a transcript asks for as `?` are collected there, by line.
    """

    def __init__(self, server, record=None):
        self.server, self.record = server, record
        self.admin_connection = None

    # ---- one case

    def run(self, case):
        """None, or what went wrong."""
        self.connections, self.names, self.after = {}, {}, []
        self.wait = 5.0
        wrong = None
        deadline = time.monotonic() + CASE_SECONDS
        try:
            for number, lines in case.steps:
                if time.monotonic() > deadline:
                    raise Failed("the case takes longer than %d s" % CASE_SECONDS)
                try:
                    self.step(number, lines)
                except (Closed, NoReply, BadReply) as error:
                    raise Failed("got:      %s" % error) from None
        except Failed as failure:
            wrong = "%s:%d: %s\n%s" % (case.path, number, lines[0][:200], failure)
        for connection in self.connections.values():
            connection.close()
        try:
            for words in self.after:
                self.admin(*words)
            self.admin("FLUSHALL")
        except (Closed, NoReply, BadReply, OSError) as error:
            wrong = "%s\nafter the case the server does not answer: %s" % (wrong or "", error)
        if not self.server.is_alive():
            wrong = "%s\nthe server has ended" % (wrong or "",)
        return wrong

    def admin(self, *words):
        """A command on a connection of our own; a case may have killed it."""
        for attempt in (1, 2):
            try:
                if self.admin_connection is None:
                    self.admin_connection = self.server.connect(timeout=30)
                return self.admin_connection.command(*words)
            except (Closed, NoReply, BadReply):
                self.admin_connection = None
                if attempt == 2:
                    raise

    def connection(self, name):
        if name not in self.connections:
            self.connections[name] = self.server.connect()
        return self.connections[name]

    # ---- texts

    def insert(self, text, counter=None):
        """Replaces {{...}} in bytes: a kept name, the counter {{i}}, a repetition {{x*1000}}."""

        def value(match):
            inside = match.group(1)
            repeated = re.fullmatch(rb"(.+)\*(\d+)", inside, re.S)
            if counter is not None and inside == b"i":
                return b"%d" % counter
            if repeated:
                return repeated.group(1) * int(repeated.group(2))
            return self.names.get(inside.decode("latin-1"), match.group(0))

        return re.sub(rb"\{\{(.+?)\}\}", value, text, flags=re.S)

    def words(self, text, counter=None):
        words = []
        for word in split_words(text):
            series = re.fullmatch(rb"\{\{seq\*(\d+):(.*)\}\}", word, re.S)
            if series:
                count, pattern = int(series.group(1)), series.group(2)
                words += [pattern.replace(b"#", b"%d" % i) for i in range(count)]
            else:
                words.append(self.insert(word, counter))
        return words

    def on(self, text):
        """The connection that a step is for, c0 if it names none, and the rest of the step."""
        match = CONNECTION.match(text)
        name, rest = match.groups() if match else ("c0", text)
        return self.connection(name), rest

    # ---- steps

    def step(self, number, lines):
        message = MESSAGE.match(lines[0])
        if message:
            connection = self.connection(message.group(1) or "c0")
            sign, rest = message.group(2), message.group(3) or ""
            if sign in ">=":
                connection.send(encode(self.words(rest)))
            if sign == "=":
                self.no_error(connection.reply(self.wait))
            elif sign != ">":
                self.expect(number, lines, message, connection.reply(self.wait))
            return
        name, _, rest = lines[0].partition(" ")
        step = getattr(self, "step_" + name, None)
        if step is None:
            raise Malformed("line %d: unknown step %r" % (number, name))
        step(rest)

    def expect(self, number, lines, message, reply):
        sign, first = message.group(2), message.group(3) or ""
        wanted = "\n".join([first] + lines[1:])
        got = quote(reply.raw) if sign == "<r" else render(reply, sort=sign == "<@")
        if wanted == "?":
            if self.record is None:
                raise Malformed("line %d: this reply has not been recorded yet" % number)
            start = (message.group(1) or "") + sign + " "
            shown = got.split("\n")
            self.record[number] = [start + shown[0]] + ["| " + line for line in shown[1:]]
            return
        if sign == "<r":
            right = reply.raw == split_words(first)[0]
        elif sign == "<+":
            right = all(re.search(part, got, re.S) for part in first.split(" && "))
        else:
            wanted = self.insert(wanted.encode()).decode("latin-1")
            right = got == wanted
            if wanted.startswith("~"):
                right = re.fullmatch(wanted[1:], got, re.S) is not None
        if not right:
            indented = [text[:SHOWN].replace("\n", "\n          ") for text in (got, wanted)]
            raise Failed("got:      %s\nexpected: %s" % tuple(indented))

    @staticmethod
    def no_error(reply):
        if reply.is_error():
            raise Failed("got:      %s" % render(reply))

    def step_send(self, rest):
        connection, rest = self.on(rest)
        connection.send(b"".join(self.insert(word) for word in split_words(rest)))

    def step_quiet(self, rest):
        name, ms = rest.split()
        connection = self.connection(name)
        if not connection.is_quiet(int(ms) / 1000):
            raise Failed("got:      %s" % render(connection.reply(1)))

    def step_closed(self, rest):
        if not self.connection(rest).wait_closed(self.wait):
            raise Failed("the server does not close %s" % rest)

    def step_close(self, rest):
        self.connections.pop(rest).close()

    def step_sleep(self, rest):
        time.sleep(int(rest) / 1000)

    def step_await(self, rest):
        """Asks until the reply is what it must become: for what the server does when it can."""
        rest, _, wanted = rest.rpartition(" => ")
        connection, rest = self.on(rest)
        deadline = time.monotonic() + self.wait
        while True:
            connection.send(encode(self.words(rest)))
            got = render(connection.reply(self.wait), sort=False)
            if got == wanted:
                return
            if time.monotonic() > deadline:
                raise Failed("got:      %s\nexpected: %s" % (got[:SHOWN], wanted))
            time.sleep(AWAIT_PAUSE)

    def step_within(self, rest):
        self.wait = int(rest) / 1000

    def step_let(self, rest):
        name, _, rest = rest.partition(" ")
        connection, rest = self.on(rest)
        connection.send(encode(self.words(rest)))
        reply = connection.reply(self.wait)
        self.no_error(reply)
        value = reply.value
        self.names[name] = b"%d" % value if isinstance(value, int) else value

    def step_config(self, rest):
        name, value = self.words(rest)
        before = self.admin("CONFIG", "GET", name)
        if len(before.elements()) != 2:
            raise Failed("CONFIG GET %s gives %s" % (name.decode(), render(before)))
        self.after.insert(0, ["CONFIG", "SET", name, before.elements()[1].value])
        self.no_error(self.admin("CONFIG", "SET", name, value))

    def step_cleanup(self, rest):
        self.after.insert(0, self.words(rest))

    def step_repeat(self, rest):
        count, _, rest = rest.partition(" ")
        connection, rest = self.on(rest)
        numbers = range(int(count))
        for first in range(0, len(numbers), BATCH):
            batch = numbers[first : first + BATCH]
            connection.send(b"".join(encode(self.words(rest, i)) for i in batch))
            for _ in batch:
                self.no_error(connection.reply(self.wait))

    def step_flood(self, rest):
        name, count, rest = rest.split(" ", 2)
        connection = self.connection(name)
        connection.socket.settimeout(2)
        try:
            for i in range(int(count)):
                connection.socket.sendall(encode(self.words(rest, i)))
        except OSError:
            pass  # the server reads no more, or has closed: both are for later steps to judge

    def step_drain(self, rest):
        name, count, wanted = (rest.split(" ", 2) + [None])[:3]
        connection = self.connection(name)
        for i in range(int(count)):
            reply = connection.reply(self.wait)
            if wanted is None:
                self.no_error(reply)
            elif not re.fullmatch(wanted.replace("{{i}}", str(i)), render(reply), re.S):
                raise Failed("got:      %s\nas reply %d" % (render(reply)[:SHOWN], i))

    def step_scanfull(self, rest):
        command, _, rest = rest.partition(" => ")
        wanted, _, during = rest.partition(" during ")
        words = self.words(command)
        at = 1 if words[0].upper() == b"SCAN" else 2
        stride = 2 if words[0].upper() in (b"HSCAN", b"ZSCAN") else 1
        connection, seen, cursor = self.connection("c0"), set(), b"0"
        for i in range(1, SCAN_STEPS_MAX):
            connection.send(encode(words[:at] + [cursor] + words[at:]))
            reply = connection.reply(self.wait)
            if len(reply.elements()) != 2:
                raise Failed("got:      %s" % render(reply)[:SHOWN])
            cursor, elements = reply.value[0].value, reply.value[1].value
            seen.update(element.value for element in elements[::stride])
            if cursor == b"0":
                break
            if during:
                connection.send(encode(self.words(during, i)))
                self.no_error(connection.reply(self.wait))
        else:
            raise Failed("the scan does not end")
        if len(seen) != int(wanted):
            raise Failed("got:      %d elements in %d steps" % (len(seen), i))
