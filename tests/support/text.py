"""Commands and replies as text: written and shown as redis-cli does."""

import re

PLAIN = re.compile(rb"[ !#-\[\]-~]*")  # what needs no escape
ESCAPES = {"n": b"\n", "r": b"\r", "t": b"\t", "b": b"\b", "a": b"\a"}
NAMES = {ord(v): k for k, v in ESCAPES.items()}


def split_words(line):
    """The words of a line, with redis-cli's quoting; words are bytes."""
    words, at, end = [], 0, len(line)
    while True:
        while at < end and line[at].isspace():
            at += 1
        if at >= end:
            return words
        word = bytearray()
        while at < end and not line[at].isspace():
            if line[at] in "\"'":
                at = quoted(line, at, word)
            else:
                word += line[at].encode()
                at += 1
        words.append(bytes(word))


def quoted(line, at, word):
    """Reads the quoted run that begins at `at` into `word`; gives the position behind it."""
    quote = line[at]
    at += 1
    while at < len(line):
        char, after = line[at], line[at + 1 : at + 2]
        if char == quote:
            return at + 1
        if char != "\\" or not after or (quote == "'" and after != "'"):
            word += char.encode()
            at += 1
        elif quote == '"' and after == "x":
            word.append(int(line[at + 2 : at + 4], 16))
            at += 4
        else:
            word += ESCAPES.get(after, after.encode()) if quote == '"' else after.encode()
            at += 2
    raise ValueError("unbalanced quotes: " + line)


def quote(data):
    """Bytes in double quotes, whatever they are."""
    if PLAIN.fullmatch(data):
        return '"' + data.decode("ascii") + '"'
    out = []
    for byte in data:
        if byte in b'"\\':
            out.append("\\" + chr(byte))
        elif byte in NAMES:
            out.append("\\" + NAMES[byte])
        elif 32 <= byte < 127:
            out.append(chr(byte))
        else:
            out.append("\\x%02x" % byte)
    return '"' + "".join(out) + '"'


def word(data):
    """A word of a command line, quoted only where it must be."""
    plain = data and all(33 <= byte < 127 and byte not in b"\"'\\" for byte in data)
    return data.decode("ascii") if plain else quote(data)


def command_line(words):
    return " ".join(word(w) for w in words)


EMPTY = {"*": "(empty array)", "~": "(empty set)", "%": "(empty hash)", ">": "(empty push)"}
MARKS = {"*": ")", "~": "~", ">": ">", "%": "#"}


def render(reply, prefix="", sort=False):
    """A reply as `redis-cli --no-raw` shows it; with `sort`, its elements in order of their text."""
    if reply.is_null():
        return "(nil)"
    if reply.kind == "+":
        return reply.value.decode("latin-1")
    if reply.is_error():
        return "(error) " + reply.value.decode("latin-1")
    if reply.kind == ":":
        return "(integer) %d" % reply.value
    if reply.kind == ",":
        return "(double) " + reply.value.decode("latin-1")
    if reply.kind == "#":
        return "(true)" if reply.value == b"t" else "(false)"
    if reply.kind == "$":
        return quote(reply.value)
    if reply.kind == "=":
        return quote(reply.value[4:])
    if reply.kind == "(":
        return reply.value.decode("latin-1")
    if not reply.value:
        return EMPTY[reply.kind]
    width = len(str(len(reply.value)))
    inner = prefix + " " * (width + 2)
    if reply.kind == "%":
        shown = [render(key, inner) + " => " + render(val, inner) for key, val in reply.value]
    else:
        shown = [render(element, inner) for element in reply.value]
    if sort:
        shown.sort()
    lines = []
    for number, text in enumerate(shown, 1):
        start = "" if number == 1 else prefix
        lines.append("%s%*d%s %s" % (start, width, number, MARKS[reply.kind], text))
    return "\n".join(lines)
