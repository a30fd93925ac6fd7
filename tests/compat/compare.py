"""When two replies to one command are the same, and which differences are accepted."""

import re

from support.text import command_line, quote

SHOWN = 400  # bytes of a reply


def name_of(words):
    """A command's name, with its subcommand where the rule depends on it."""
    name = words[0].upper().decode("latin-1")
    if name in ("OBJECT", "COMMAND", "CLIENT", "XINFO") and len(words) > 1:
        name += " " + words[1].upper().decode("latin-1")
    return name


# ---- rules: each gets a command and two replies that are no errors: do these mean the same?


def unordered(words, ours, theirs):
    left, right = (sorted(r.raw for r in reply.elements()) for reply in (ours, theirs))
    return ours.kind == theirs.kind and left == right


def pairs(reply):
    """An array or a map of names and values, as sorted pairs."""
    raw = [element.raw for element in reply.elements()]
    return sorted(zip(raw[::2], raw[1::2]))


def unordered_pairs(words, ours, theirs):
    return ours.kind == theirs.kind and pairs(ours) == pairs(theirs)


def near(tolerance):
    """Times: both may differ by as much as the servers ran apart."""

    def rule(words, ours, theirs):
        if ours.kind != ":" or theirs.kind != ":" or min(ours.value, theirs.value) < 0:
            return ours.raw == theirs.raw
        return abs(ours.value - theirs.value) <= tolerance

    return rule


def shape(words, ours, theirs):
    """Of the same kind, and so are their elements."""
    if ours.kind != theirs.kind or ours.is_null() != theirs.is_null():
        return False
    left, right = ours.elements(), theirs.elements()
    return len(left) == len(right) and all(shape(words, *pair) for pair in zip(left, right))


def scan(words, ours, theirs):
    """A cursor is the server's own; a walk that is over at once has shown the same keys."""
    if ours.kind != "*" or [r.kind for r in ours.value] != ["$", "*"]:
        return False
    if words[1] == b"0" == ours.value[0].value == theirs.value[0].value:
        return unordered(words, ours.value[1], theirs.value[1])
    return True


def member_scan(words, ours, theirs):
    """The same for SSCAN, whose cursor follows the key."""
    return scan([words[0]] + words[2:], ours, theirs)


def pair_scan(words, ours, theirs):
    """The same for HSCAN and its kin, whose cursor follows the key."""
    if ours.kind != "*" or [r.kind for r in ours.value] != ["$", "*"]:
        return False
    if words[2] == b"0" == ours.value[0].value == theirs.value[0].value:
        return unordered_pairs(words, ours.value[1], theirs.value[1])
    return True


def is_score(mine, other):
    """Our digits are Redis 7.2's, the fewest; redis-server 7.0 prints 17."""
    try:
        return other == b"%.17g" % float(mine)
    except (TypeError, ValueError):
        return False


def scored(words, ours, theirs):
    """The same but for the digits of scores."""
    if ours.raw == theirs.raw:
        return True
    left, right = ours.elements(), theirs.elements()
    if ours.kind != theirs.kind or len(left) != len(right):
        return False
    if not left:
        return ours.kind in "$," and is_score(ours.value, theirs.value)
    return all(scored(words, *pair) for pair in zip(left, right))


def scored_scan(words, ours, theirs):
    """ZSCAN: of the same members in any order, the same but for the digits of scores."""
    if ours.kind != "*" or [r.kind for r in ours.value] != ["$", "*"]:
        return False
    if not words[2] == b"0" == ours.value[0].value == theirs.value[0].value:
        return True
    left, right = (sorted_pairs(reply.value[1]) for reply in (ours, theirs))
    return len(left) == len(right) and all(
        scored(words, mine, other) for pair in zip(left, right) for mine, other in zip(*pair)
    )


def sorted_pairs(reply):
    elements = reply.elements()
    return sorted(zip(elements[::2], elements[1::2]), key=lambda pair: pair[0].raw)


def added(words, ours, theirs):
    """XADD: the same id, unless the clock has made it."""
    return b"*" in words and shape(words, ours, theirs)


def each_by(rule):
    """Arrays of the same length, whose elements are the same by `rule`."""

    def all_by(words, ours, theirs):
        left, right = ours.elements(), theirs.elements()
        alike = (rule(words, *pair) for pair in zip(left, right))
        return ours.kind == theirs.kind and len(left) == len(right) and all(alike)

    return all_by


def pending_entry(words, ours, theirs):
    """An id, in some lists its consumer, when it was delivered, and how often."""
    left, right = ours.elements(), theirs.elements()
    time = len(left) - 2
    return len(left) == len(right) > 2 and all(
        mine.raw == other.raw or (at == time and near(3000)(words, mine, other))
        for at, (mine, other) in enumerate(zip(left, right))
    )


def named(reply):
    """The fields of a map, or of the array that it is in RESP2."""
    elements = reply.elements()
    return {name.value: value for name, value in zip(elements[::2], elements[1::2])}


def fields_by(rules):
    """Maps of the same fields, those of `rules` the same by their rule; NEW_FIELDS are ours alone."""

    def all_by(words, ours, theirs):
        left, right = named(ours), named(theirs)
        for name in NEW_FIELDS - set(right):
            left.pop(name, None)
        alike = (
            mine.raw == right[name].raw or (name in rules and rules[name](words, mine, right[name]))
            for name, mine in left.items()
        )
        return ours.kind == theirs.kind and list(left) == list(right) and all(alike)

    return all_by


NEW_FIELDS = {b"inactive", b"active-time"}  # of consumers, since Redis 7.2
pending = each_by(pending_entry)
consumer = fields_by({b"idle": near(3000), b"seen-time": near(3000), b"pending": pending})
group = fields_by({b"pending": pending, b"consumers": each_by(consumer)})
stream = fields_by({b"groups": each_by(group)})


# Strings, large sorted sets, intsets and small hashes have one form only. Not so what has an order of
# its own, nodes of a list, digits of scores in a listpack, or times of consumers.
SAME_WHEN_DUMPED = (0, 5, 11, 16)


def dumped(words, ours, theirs):
    """Both are a payload."""
    if ours.kind != "$" or theirs.kind != "$":
        return False
    return theirs.value[0] not in SAME_WHEN_DUMPED or ours.value == theirs.value


def hello(words, ours, theirs):
    """The same fields, the same protocol; version, server and id are each server's own."""
    left, right = ours.elements(), theirs.elements()
    if ours.kind != theirs.kind or len(left) != len(right):
        return False
    for at in range(0, len(left), 2):
        field = left[at].value
        if field != right[at].value:
            return False
        if field not in (b"server", b"version", b"id") and left[at + 1].raw != right[at + 1].raw:
            return False
    return True


def anything(words, ours, theirs):
    return True


def sort(words, ours, theirs):
    """Elements of a set that weigh the same have no order."""
    by = any(word.upper() == b"BY" for word in words)
    return unordered(words, ours, theirs) if by and ours.kind == "*" else ours.raw == theirs.raw


RULES = {
    "SORT": sort,
    "SORT_RO": sort,
    "KEYS": unordered,
    "SCAN": scan,
    "HGETALL": unordered_pairs,
    "HKEYS": unordered,
    "HVALS": unordered,
    "HSCAN": pair_scan,
    "HRANDFIELD": shape,
    "SMEMBERS": unordered,
    "SPOP": shape,
    "SRANDMEMBER": shape,
    "SSCAN": member_scan,
    "SINTER": unordered,
    "SUNION": unordered,
    "SDIFF": unordered,
    "ZRANDMEMBER": shape,
    "ZSCAN": scored_scan,
    "ZADD": scored,
    "ZINCRBY": scored,
    "ZSCORE": scored,
    "ZMSCORE": scored,
    "ZRANGE": scored,
    "ZREVRANGE": scored,
    "ZRANGEBYSCORE": scored,
    "ZREVRANGEBYSCORE": scored,
    "ZPOPMIN": scored,
    "ZPOPMAX": scored,
    "ZMPOP": scored,
    "ZUNION": scored,
    "ZINTER": scored,
    "ZDIFF": scored,
    "XADD": added,
    "XPENDING": pending,
    "XINFO CONSUMERS": each_by(consumer),
    "XINFO STREAM": stream,
    "RANDOMKEY": shape,
    "TTL": near(3),
    "PTTL": near(3000),
    "EXPIRETIME": near(3),
    "PEXPIRETIME": near(3000),
    "OBJECT IDLETIME": shape,  # Redis: of a shared number it is anybody's
    "TIME": shape,
    "HELLO": hello,
    "DUMP": dumped,
    # What commands there are is each server's own; command_info.py looks at those that both have.
    "COMMAND": anything,
    "COMMAND INFO": anything,
}


def values(reply):
    """A reply without its protocol: a map as the array it is in RESP2, nulls alike."""
    return [values(e) for e in reply.elements()] if isinstance(reply.value, list) else reply.value


def same_values(words, ours, theirs):
    left, right = values(ours), values(theirs)
    if RULES.get(name_of(words)) in (unordered, unordered_pairs) and isinstance(left, list):
        return sorted(left) == sorted(right)
    return left == right


def same(words, ours, theirs, queued, accept):
    """Do both replies mean the same? `queued` are the commands that an EXEC runs; `accept` is asked,
    with the same three, about what does not."""
    if ours.raw == theirs.raw:
        return True
    name = name_of(words)
    if name == "EXEC" and len(ours.elements()) == len(theirs.elements()) == len(queued) > 0:
        # To Redis what is queued behind a HELLO speaks its protocol, to us what follows the EXEC does.
        by_value = any(name_of(words) == "HELLO" for words in queued)
        return all(
            (by_value and same_values(words, mine, other)) or same(words, mine, other, (), accept)
            for words, mine, other in zip(queued, ours.value, theirs.value)
        )
    rule = RULES.get(name)
    if rule and not ours.is_error() and not theirs.is_error() and rule(words, ours, theirs):
        return True
    return accept(words, ours, theirs)


# ---- accepted differences


LINE = re.compile(r"(about|ours|theirs|why)(: | = )(.*)")


class Accepted:
    """differences.txt: paragraphs of `about`, `ours`, `theirs` and `why`.

    A colon is followed by a pattern that is searched, an equals sign by the very text; what is left
    out may be anything.
    """

    def __init__(self, path):
        self.entries = []
        with open(path, encoding="utf-8") as file:
            paragraphs = re.split(r"\n\s*\n", file.read())
        for paragraph in paragraphs:
            lines = [line for line in paragraph.split("\n") if line and line[0] != "#"]
            if lines:
                self.entries.append(self.entry(lines))

    @staticmethod
    def entry(lines):
        tests = {}
        for line in lines:
            match = LINE.fullmatch(line)
            if not match:
                raise SystemExit("differences.txt: what is %r?" % line)
            key, sign, text = match.groups()
            tests[key] = "^%s$" % re.escape(text) if sign == " = " else text
        if "about" not in tests or "why" not in tests:
            raise SystemExit("differences.txt: `about` and `why` must be there: %s" % lines)
        return [re.compile(tests.get(key, ""), re.S) for key in ("about", "ours", "theirs")]

    def covers(self, *texts):
        """Is a difference at `about`, with replies `ours` and `theirs`, on the list?"""
        return any(
            all(pattern.search(text) for pattern, text in zip(entry, texts))
            for entry in self.entries
        )


class Difference:
    """Where two servers part: at which command, and how."""

    def __init__(self, words, ours, theirs):
        self.name = name_of(words)
        self.about = command_line(words)
        self.ours, self.theirs = shown(ours), shown(theirs)

    def kind(self):
        """What stays the same while a sequence is made shorter, and tells faults apart."""
        return self.name, first_word(self.ours), first_word(self.theirs)

    def __str__(self):
        texts = [text[:SHOWN] for text in (self.about, self.ours, self.theirs)]
        return "at        %s\nsherd     %s\nredis     %s" % tuple(texts)


def first_word(text):
    """The kind of a reply: its first byte, and of an error its first words too."""
    return text[:30] if text[1:2] == "-" else text[:2]


def shown(reply):
    """A reply's bytes as text; what came instead of a reply as it is."""
    return quote(reply.raw) if hasattr(reply, "raw") else str(reply)
