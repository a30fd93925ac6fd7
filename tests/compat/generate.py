"""Draws sequences: what a few clients send, mixed, in pipelines, transactions and both protocols."""

import random

from compat.model import STREAM_KEYS, Model
from compat.replay import Unit, is_inline

CLIENTS = 2
PASTS = {b"EXAT", b"PXAT"}

# When values change their encoding; each sequence begins with some of these.
THRESHOLDS = {
    b"hll-sparse-max-bytes": [0, 30, 300, 3000, 20000],
    b"list-max-listpack-size": [0, 1, 2, 3, 10, -1, -2, -3, -5],
    b"set-max-intset-entries": [0, 2, 5, 512],
    b"hash-max-listpack-entries": [0, 2, 5, 512],
    b"hash-max-listpack-value": [0, 5, 64],
    b"zset-max-listpack-entries": [0, 2, 5, 128],
    b"zset-max-listpack-value": [0, 5, 64],
    b"stream-node-max-bytes": [0, 1, 60, 100, 200, 4096],
    b"stream-node-max-entries": [0, 1, 2, 3, 10, 100],
}


class Generator:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.model = Model(self.rng)

    def sequence(self):
        units = [self.thresholds()]
        if self.rng.random() < 0.3:
            units.append(Unit(0, [[b"HELLO", b"3"]]))
        if self.rng.random() < 0.5:
            units.append(self.seeded())
        for _ in range(self.rng.choice([10, 30, 60])):
            units.append(self.unit())
        return units

    def thresholds(self):
        words = [b"CONFIG", b"SET"]
        for name, values in THRESHOLDS.items():
            words += [name, b"%d" % self.rng.choice(values)]
        return Unit(0, [words])

    def seeded(self):
        """Something to work on."""
        words = [b"MSET"]
        for _ in range(12):
            words += self.model.pair()
        return Unit(0, [words])

    def unit(self):
        client = self.rng.randrange(CLIENTS)
        count = 1 if self.rng.random() < 0.6 else self.rng.randrange(2, 20)
        commands = []
        for _ in range(count):
            words = self.model.command()
            commands += prepared(words)
            commands.append(words)
            commands += settled(words)
        inline = self.rng.random() < 0.1 and all(map(is_inline, commands))
        cuts = [self.rng.random() for _ in range(self.rng.randrange(1, 6))]
        return Unit(client, commands, inline, cuts if self.rng.random() < 0.1 else ())


def prepared(words):
    """What makes both servers do the same. Redis 7.2 makes the consumer that asks for entries even if
    it gets none; 7.0 does not: make it before."""
    upper = [word.upper() for word in words]
    create = [b"XGROUP", b"CREATECONSUMER"]
    if upper[0] in (b"XCLAIM", b"XAUTOCLAIM") and len(words) > 3:
        return [create + words[1:4]]
    if upper[0] == b"XREADGROUP" and b"GROUP" in upper:
        name = words[upper.index(b"GROUP") + 1 :][:2]
        return [create + [key] + name for key in words if key in STREAM_KEYS]
    return []


def settled(words):
    """What makes both servers hold the same again. SET with a time that is past leaves a key that
    counts until somebody looks: look. SPOP leaves what chance leaves, XADD * what the clock says: drop it.
    So does XSETID with an id that Redis 7.0 takes for a stream where a larger one was deleted."""
    upper = [word.upper() for word in words]
    if upper[0] in (b"SET", b"GETEX") and len(words) > 1 and PASTS & set(upper[2:]):
        return [[b"EXISTS", words[1]]]
    drops = upper[0] in (b"SPOP", b"XSETID") or (upper[0] == b"XADD" and b"*" in words)
    if drops and len(words) > 1:
        return [[b"DEL", words[1]]]
    return []
