"""Plays one sequence of commands on two servers and says where they part; makes it shorter."""

from support.resp import BadReply, Closed, NoReply, Reply, encode
from support.text import command_line, word
from compat.compare import Difference, name_of, same

SHRINK_RUNS = 600
AUDITED_DATABASES = (0, 1, 2, 15)
# At each key; of another type: an error.
LOOKS = (
    b"TYPE KEY",
    b"PEXPIRETIME KEY",
    b"GET KEY",
    b"LRANGE KEY 0 -1",
    b"HGETALL KEY",
    b"SMEMBERS KEY",
    b"ZRANGE KEY 0 -1 WITHSCORES",
    b"XRANGE KEY - +",
    b"XINFO STREAM KEY",
    b"OBJECT ENCODING KEY",
)
SECOND_LOOKS = (
    b"DEBUG DIGEST-VALUE KEY",  # of all but groups
    b"XINFO STREAM KEY FULL COUNT 0",
    b"OBJECT ENCODING KEY",
)


OK = Reply("+", b"OK", b"+OK\r\n")
AUDITOR = "audit"


class Unit:
    """What one client sends at once: a command, or several as a pipeline; perhaps inline, perhaps in
    several packets, cut where `cuts` says, as parts of the whole."""

    def __init__(self, client, commands, inline=False, cuts=()):
        self.client, self.commands, self.inline, self.cuts = client, commands, inline, cuts

    def packets(self):
        if self.inline:
            data = b"".join(command_line(words).encode() + b"\r\n" for words in self.commands)
        else:
            data = b"".join(map(encode, self.commands))
        places = [0] + sorted(int(cut * len(data)) for cut in self.cuts) + [len(data)]
        return [data[start:end] for start, end in zip(places, places[1:])]

    def with_commands(self, commands):
        return Unit(self.client, commands, self.inline, self.cuts)

    def __str__(self):
        form = "inline" * self.inline + "cut" * bool(self.cuts)
        sign = "c%d%s>" % (self.client, form)
        lines = ["%s %s" % (sign, command_line(words)) for words in self.commands]
        return "\n   +".join(lines)


class Side:
    """One of the two servers, as one sequence sees it."""

    def __init__(self, server):
        self.server = server
        self.connections = {}

    def connection(self, client):
        if client not in self.connections:
            self.connections[client] = self.server.connect(timeout=10)
        return self.connections[client]

    def ask(self, unit):
        """The replies to a unit; what stopped them stands in their place."""
        replies = []
        try:
            connection = self.connection(unit.client)
            for packet in unit.packets():
                connection.send(packet)
            for _ in unit.commands:
                replies.append(connection.reply())
        except (Closed, NoReply, BadReply, OSError) as error:
            missing = len(unit.commands) - len(replies)
            replies += ["(%s: %s)" % (type(error).__name__, error)] * missing
        return replies

    def close(self):
        for connection in self.connections.values():
            connection.close()


class Replay:
    def __init__(self, ours, theirs, accepted, our_side=Side):
        self.ours, self.theirs, self.accepted = ours, theirs, accepted
        self.our_side = our_side
        self.played = self.exchanged = 0  # commands of sequences; values that were dumped
        for server in (ours, theirs):
            self.admin(server, "DEBUG", "SET-ACTIVE-EXPIRE", "0")

    @staticmethod
    def admin(server, *words):
        connection = server.connect(timeout=30)
        try:
            return connection.command(*words)
        finally:
            connection.close()

    def run(self, units):
        """The first difference, or None. Both servers begin empty."""
        sides = [self.our_side(self.ours), Side(self.theirs)]
        queues = {}  # by client: the commands since MULTI
        try:
            for server in (self.ours, self.theirs):
                self.admin(server, "FLUSHALL")
            for unit in units:
                difference = self.unit(unit, sides, queues)
                if difference:
                    return difference
            return self.audit(sides)
        except (Closed, NoReply, BadReply, OSError) as error:
            return Difference([b"FLUSHALL"], "(%s)" % error, "(answers)")
        finally:
            for side in sides:
                side.close()

    def unit(self, unit, sides, queues):
        ours, theirs = (side.ask(unit) for side in sides)
        self.played += len(unit.commands) if unit.client is not AUDITOR else 0
        for words, mine, other in zip(unit.commands, ours, theirs):
            queue = queues.setdefault(unit.client, None)
            if not self.agree(words, mine, other, queue or ()):
                return Difference(words, mine, other)
            queues[unit.client] = self.queue_after(words, other, queue)
        return None

    @staticmethod
    def queue_after(words, reply, queue):
        """What is queued after `words`; None outside MULTI."""
        if reply.raw == b"+QUEUED\r\n":
            return queue + [words]
        if name_of(words) == "MULTI" and not reply.is_error():
            return []
        if name_of(words) not in ("EXEC", "DISCARD", "RESET"):
            return queue
        is_refused = reply.is_error() and not reply.value.startswith(b"EXECABORT")
        return queue if is_refused else None

    def agree(self, words, ours, theirs, queue):
        if isinstance(ours, str) or isinstance(theirs, str):
            return ours == theirs
        return same(words, ours, theirs, queue, self.accept)

    def accept(self, *what):
        difference = Difference(*what)
        return self.accepted.covers(difference.about, difference.ours, difference.theirs)

    def audit(self, sides):
        """Do both hold the same at the end, and still when each was given what the other dumps?"""
        for number in AUDITED_DATABASES:
            select, keys = [b"SELECT", b"%d" % number], [b"KEYS", b"*"]
            replies = [side.ask(Unit(AUDITOR, [select, keys])) for side in sides]
            ours, theirs = replies[0][1], replies[1][1]
            if not self.agree(keys, ours, theirs, ()):
                return Difference(keys + [b"of", b"%d" % number], ours, theirs)
            names = sorted(element.value for element in theirs.elements())
            difference = (
                self.look(LOOKS, names, sides)
                or self.exchange(names, sides)
                or self.look(SECOND_LOOKS, names, sides)
            )
            if difference:
                return difference
        return None

    def look(self, looks, names, sides):
        """Are the values at these keys the same?"""
        commands = []
        for name in names:
            for look in looks:
                commands.append([name if word == b"KEY" else word for word in look.split()])
        return self.unit(Unit(AUDITOR, commands), sides, {}) if commands else None

    def exchange(self, names, sides):
        """Gives each server what the other dumps: what it had itself is gone."""
        dumps = Unit(AUDITOR, [[b"DUMP", name] for name in names])
        times = Unit(AUDITOR, [[b"PEXPIRETIME", name] for name in names])
        if not names:
            return None
        ends = [max(reply.value, 0) for reply in sides[1].ask(times)]
        payloads = [side.ask(dumps) for side in sides]
        for name, ours, theirs in zip(names, *payloads):
            words = [b"DUMP", name]
            if not self.agree(words, ours, theirs, ()):
                return Difference(words, ours, theirs)
        self.exchanged += len(names)
        for side, dumped in zip(sides, reversed(payloads)):
            restores = [
                [b"RESTORE", name, b"%d" % end, reply.value, b"REPLACE", b"ABSTTL"]
                for name, end, reply in zip(names, ends, dumped)
                if reply.value is not None  # its time has just come
            ]
            for words, reply in zip(restores, side.ask(Unit(AUDITOR, restores))):
                if getattr(reply, "raw", reply) != b"+OK\r\n":
                    taken = [reply, OK] if side is sides[0] else [OK, reply]
                    return Difference(words, *taken)
        return None

    # ---- making it shorter

    def shrink(self, units, difference):
        """As few and as short units as still show a difference at the same command."""
        self.left = SHRINK_RUNS
        units = self.fewer(units, difference, lambda kept: kept)
        for at, unit in enumerate(list(units)):
            if len(unit.commands) > 1:

                def with_commands(commands, at=at, unit=unit):
                    return units[:at] + [unit.with_commands(commands)] + units[at + 1 :]

                commands = self.fewer(unit.commands, difference, with_commands)
                units = with_commands(commands)
        for at, unit in enumerate(list(units)):
            plain, first = Unit(unit.client, unit.commands), Unit(0, unit.commands)
            for plainer in (plain, first):
                candidate = units[:at] + [plainer] + units[at + 1 :]
                if self.shows(candidate, difference):
                    units = candidate
        return units

    def fewer(self, items, difference, whole):
        """Drops runs of items, long ones first, while `whole(items)` still differs."""
        size = max(1, len(items) // 2)
        while size:
            at = 0
            while at < len(items) and len(items) > 1:
                kept = items[:at] + items[at + size :]
                if kept and self.shows(whole(kept), difference):
                    items = kept
                else:
                    at += size
            size //= 2
        return items

    def shows(self, units, difference):
        if self.left <= 0:
            return False
        self.left -= 1
        found = self.run(units)
        return found is not None and found.kind() == difference.kind()


def script(units):
    """A sequence as text, to be read and to be sent by hand."""
    return "\n".join("  %s" % unit for unit in units)


def is_inline(words):
    """Can it be sent as a line? An empty command and a first word like a multibulk's cannot."""
    return bool(words) and bool(words[0]) and words[0][:1] != b"*" and bool(word(words[0]))
