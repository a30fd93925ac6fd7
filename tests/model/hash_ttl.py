"""A model of hashes whose fields have a time to live, and random commands for it.

What a command must answer follows from the command pages at redis.io/commands, and, for fields
whose time has passed and that nothing has deleted yet, from the public test suite of Redis 7.4
(hash-field-expire): they are counted by HLEN and deleted by HDEL, absent to all others, and deleted
when they are read. Where Redis gives such a field a new life (HEXPIRE, HSETEX KEEPTTL), it stays
absent here.
"""

TIME_MAX = 2**46 - 1
PERSISTENT = None

WRONG_TYPE = b"WRONGTYPE Operation against a key holding the wrong kind of value"
NOT_INT = b"ERR value is not an integer or out of range"
NEGATIVE_TIME = b"ERR invalid expire time, must be >= 0"
NO_FIELDS = b"ERR Mandatory argument FIELDS is missing or not at the right position"
BAD_COUNT = b"ERR The `numfields` parameter must match the number of arguments"
SETTING_COUNT = b"ERR Parameter `numFields` should be greater than 0"
ASKING_COUNT = b"ERR Number of fields must be a positive integer"
SAME = b"ERR source and destination objects are the same"
LONG_VALUE = 64


class Refused(Exception):
    """A command is answered with this error."""


class Hash(dict):
    """Fields to (value, time or PERSISTENT)."""

    is_timed = is_table = False

    def copy(self):
        other = Hash(self)
        other.is_timed, other.is_table = self.is_timed, self.is_table
        return other

    def encoding(self):
        return b"hashtable" if self.is_table else b"listpackex" if self.is_timed else b"listpack"


def to_int(word):
    try:
        number = int(word)
    except ValueError:
        raise Refused(NOT_INT) from None
    if str(number).encode() != word or not -(2**63) <= number < 2**63:
        raise Refused(NOT_INT)
    return number


class Model:
    """Databases of keys: a Hash, or bytes for a string. `now` is the time of the command."""

    def __init__(self, entries_max, databases=2):
        self.entries_max = entries_max
        self.dbs = [{} for _ in range(databases)]
        self.db = self.dbs[0]
        self.now = 0

    # ---- fields

    def find(self, key):
        value = self.db.get(key)
        if isinstance(value, bytes):
            raise Refused(WRONG_TYPE)
        return value

    def make(self, key):
        return self.db.setdefault(key, Hash()) if self.find(key) is None else self.db[key]

    def is_past(self, at):
        return at is not PERSISTENT and at < self.now

    def drop(self, key, field):
        del self.db[key][field]
        if not self.db[key]:
            del self.db[key]

    def read(self, key, field):
        """(value, time), or None; what has passed is deleted on the way."""
        found = (self.db.get(key) or {}).get(field)
        if found and self.is_past(found[1]):
            self.drop(key, field)
            return None
        return found

    def peek(self, key, field):
        found = (self.db.get(key) or {}).get(field)
        return None if found is None or self.is_past(found[1]) else found

    def live(self, key):
        hash_ = self.find(key) or {}
        return {f: v for f, (v, at) in hash_.items() if not self.is_past(at)}

    def put(self, hash_, field, value, at):
        hash_[field] = (value, at)
        hash_.is_timed |= at is not PERSISTENT
        hash_.is_table |= len(hash_) > self.entries_max
        hash_.is_table |= max(len(field), len(value)) > LONG_VALUE

    def expect(self, hash_, words):
        hash_.is_table |= len(words) // 2 > self.entries_max
        hash_.is_table |= any(len(word) > LONG_VALUE for word in words)

    def set_time(self, key, field, at):
        """True when the field is deleted because that time is past."""
        if at is not PERSISTENT and at <= self.now:
            self.drop(key, field)
            return True
        hash_ = self.db[key]
        hash_[field] = (hash_[field][0], at)
        hash_.is_timed |= at is not PERSISTENT
        return False

    # ---- words

    def time_of(self, command, word, unit, is_relative):
        time = to_int(word)
        if time < 0:
            raise Refused(NEGATIVE_TIME)
        time = time * unit + (self.now if is_relative else 0)
        if time > TIME_MAX:
            raise Refused(b"ERR invalid expire time in '%s' command" % command)
        return time

    def fields(self, words, count_error):
        if words[0].upper() != b"FIELDS":
            raise Refused(NO_FIELDS)
        try:
            count = to_int(words[1]) if len(words) > 1 else 0
        except Refused:
            count = 0
        if count < 1:
            raise Refused(count_error)
        if count != len(words) - 2:
            raise Refused(BAD_COUNT)
        return words[2:]

    # ---- commands of hashes as they always were

    def hset(self, key, *words):
        hash_ = self.make(key)
        self.expect(hash_, words)
        new = 0
        for field, value in zip(words[::2], words[1::2]):
            new += field not in hash_
            self.put(hash_, field, value, PERSISTENT)
        return new

    def hsetnx(self, key, field, value):
        self.find(key)
        if self.read(key, field):
            return 0
        self.put(self.make(key), field, value, PERSISTENT)
        return 1

    def hget(self, key, field):
        self.find(key)
        return (self.read(key, field) or (None,))[0]

    def hmget(self, key, *fields):
        self.find(key)
        return [self.hget(key, field) for field in fields]

    def hdel(self, key, *fields):
        deleted = 0
        hash_ = self.find(key)
        for field in fields:
            if hash_ and field in hash_:
                del hash_[field]
                deleted += 1
        if hash_ is not None and not hash_:
            del self.db[key]
        return deleted

    def hlen(self, key):
        return len(self.find(key) or ())

    def hexists(self, key, field):
        self.find(key)
        return int(self.read(key, field) is not None)

    def hstrlen(self, key, field):
        self.find(key)
        return len((self.read(key, field) or (b"",))[0])

    def hincrby(self, key, field, delta):
        delta = to_int(delta)
        self.find(key)
        value, at = self.read(key, field) or (b"0", PERSISTENT)
        try:
            total = to_int(value) + delta
        except Refused:
            raise Refused(b"ERR hash value is not an integer") from None
        self.put(self.make(key), field, b"%d" % total, at)
        return total

    def hgetall(self, key):
        return self.live(key)

    def hkeys(self, key):
        return sorted(self.live(key))

    def hvals(self, key):
        return sorted(self.live(key).values())

    def hscan(self, key):
        """All of a walk."""
        return self.live(key)

    def hrandfield(self, key, count):
        """As many fields as there are, for a large count."""
        fields = self.live(key)
        for field in set(self.find(key) or ()) - set(fields):
            self.drop(key, field)
        return sorted(fields)

    # ---- times to live

    def hexpire_by(self, command, unit, is_relative, key, time, *words):
        self.find(key)
        at = self.time_of(command, time, unit, is_relative)
        condition = words[0].upper()
        if condition in (b"NX", b"XX", b"GT", b"LT"):
            words = words[1:]
        fields = self.fields(words, SETTING_COUNT)
        return [self.hexpire_one(key, field, at, condition) for field in fields]

    def hexpire_one(self, key, field, at, condition):
        found = self.peek(key, field)
        if found is None:
            return -2
        old = found[1]
        if condition == b"NX" and old is not PERSISTENT:
            return 0
        if condition in (b"XX", b"GT") and old is PERSISTENT:
            return 0
        if condition == b"GT" and at <= old:
            return 0
        if condition == b"LT" and old is not PERSISTENT and at >= old:
            return 0
        return 2 if self.set_time(key, field, at) else 1

    def hexpire(self, *words):
        return self.hexpire_by(b"hexpire", 1000, True, *words)

    def hpexpire(self, *words):
        return self.hexpire_by(b"hpexpire", 1, True, *words)

    def hexpireat(self, *words):
        return self.hexpire_by(b"hexpireat", 1000, False, *words)

    def hpexpireat(self, *words):
        return self.hexpire_by(b"hpexpireat", 1, False, *words)

    def hpexpiretime(self, key, *words):
        self.find(key)
        found = [self.peek(key, field) for field in self.fields(words, ASKING_COUNT)]
        return [-2 if f is None else -1 if f[1] is PERSISTENT else f[1] for f in found]

    def hexpiretime(self, key, *words):
        times = self.hpexpiretime(key, *words)
        return [time if time < 0 else (time + 999) // 1000 for time in times]

    def hpersist(self, key, *words):
        self.find(key)
        replies = []
        for field in self.fields(words, ASKING_COUNT):
            found = self.peek(key, field)
            if found is not None and found[1] is not PERSISTENT:
                self.set_time(key, field, PERSISTENT)
            replies.append(-2 if found is None else -1 if found[1] is PERSISTENT else 1)
        return replies

    UNITS = {b"EX": (1000, True), b"PX": (1, True), b"EXAT": (1000, False), b"PXAT": (1, False)}

    def hgetex(self, key, *words):
        self.find(key)
        option, at = words[0].upper(), None
        if option in self.UNITS:
            at = self.time_of(b"hgetex", words[1], *self.UNITS[option])
            words = words[2:]
        elif option == b"PERSIST":
            words = words[1:]
        replies = []
        for field in self.fields(words, ASKING_COUNT):
            found = self.read(key, field)
            replies.append(found[0] if found else None)
            if found and option in self.UNITS:
                self.set_time(key, field, at)
            elif found and option == b"PERSIST":
                self.set_time(key, field, PERSISTENT)
        return replies

    def hgetdel(self, key, *words):
        self.find(key)
        replies = []
        for field in self.fields(words, ASKING_COUNT):
            found = self.read(key, field)
            replies.append(found[0] if found else None)
            if found:
                self.drop(key, field)
        return replies

    def hsetex(self, key, *words):
        condition, at, keeps = None, PERSISTENT, False
        words = list(words)
        while words[0].upper() != b"FIELDS":
            option = words.pop(0).upper()
            if option in self.UNITS:
                at = self.time_of(b"hsetex", words.pop(0), *self.UNITS[option])
            elif option == b"KEEPTTL":
                keeps = True
            else:
                condition = option
        words = words[2:]
        self.find(key)
        for field in words[::2] if condition else ():
            if (self.read(key, field) is not None) != (condition == b"FXX"):
                return 0
        if at is not PERSISTENT and at <= self.now:
            self.hdel(key, *words[::2])
            return 1
        hash_ = self.make(key)
        self.expect(hash_, words)
        for field, value in zip(words[::2], words[1::2]):
            old = hash_.get(field)
            kept = old[1] if keeps and old and not self.is_past(old[1]) else PERSISTENT
            self.put(hash_, field, value, kept if keeps else at)
        return 1

    # ---- keys

    def set(self, key, value):
        self.db[key] = value
        return b"OK"

    def delete(self, *keys):
        return sum(self.db.pop(key, None) is not None for key in keys)

    def exists(self, *keys):
        return sum(key in self.db for key in keys)

    def dbsize(self):
        return len(self.db)

    def type(self, key):
        value = self.db.get(key)
        return b"none" if value is None else b"string" if isinstance(value, bytes) else b"hash"

    def object_encoding(self, key):
        value = self.db.get(key)
        return value.encoding() if isinstance(value, Hash) else value and b"embstr"

    def rename(self, key, new):
        if key not in self.db:
            raise Refused(b"ERR no such key")
        self.db[new] = self.db.pop(key)
        return b"OK"

    def copy(self, key, new, *replace):
        if new == key:
            raise Refused(SAME)
        if key not in self.db or (new in self.db and not replace):
            return 0
        value = self.db[key]
        self.db[new] = value.copy() if isinstance(value, Hash) else value
        return 1

    def move(self, key, db):
        other = self.dbs[int(db)]
        if other is self.db:
            raise Refused(SAME)
        if key not in self.db or key in other:
            return 0
        other[key] = self.db.pop(key)
        return 1

    def swapdb(self, a, b):
        a, b = int(a), int(b)
        at = next(i for i, db in enumerate(self.dbs) if db is self.db)
        self.dbs[a], self.dbs[b] = self.dbs[b], self.dbs[a]
        self.db = self.dbs[at]
        return b"OK"

    def select(self, db):
        self.db = self.dbs[int(db)]
        return b"OK"

    # ---- as a whole

    def times(self):
        """All times of fields that are there."""
        return {
            at
            for db in self.dbs
            for value in db.values()
            if isinstance(value, Hash)
            for _, at in value.values()
            if at is not PERSISTENT
        }

    def expire_all(self):
        """What active expiry does."""
        for db in self.dbs:
            for key in [key for key, value in db.items() if isinstance(value, Hash)]:
                for field in [f for f, (_, at) in db[key].items() if self.is_past(at)]:
                    del db[key][field]
                if not db[key]:
                    del db[key]

    def timed_count(self):
        """Hashes of the database that have a field with a time."""
        hashes = [value for value in self.db.values() if isinstance(value, Hash)]
        return sum(any(at is not PERSISTENT for _, at in h.values()) for h in hashes)


class Draw:
    """Draws commands: (method of the model, its arguments). A command's name is the method's."""

    KEYS = [b"h%d" % i for i in range(6)]
    SOON_MS = (25, 60)

    def __init__(self, rng, field_count):
        self.rng = rng
        self.names = [b"f%d" % i for i in range(field_count)]

    def key(self):
        return self.rng.choice(self.KEYS)

    def field(self):
        return self.rng.choice(self.names)

    def some_fields(self):
        return [self.field() for _ in range(self.rng.choice((1, 1, 1, 2, 3, 5)))]

    def value(self):
        return self.rng.choice((b"%d" % self.rng.randrange(1000), b"text", b"", b"long" * 20))

    def pairs(self):
        return [word for field in self.some_fields() for word in (field, self.value())]

    def block(self, fields):
        count = len(fields)
        if self.rng.random() < 0.04:
            return self.rng.choice(
                (
                    [b"FIELDS", b"%d" % (count + 1), *fields],
                    [b"FIELDS", b"0", *fields],
                    [b"FIELDS", b"-1", *fields],
                    [b"FIELDS", b"x", *fields],
                    [b"FIELD", b"%d" % count, *fields],
                    [b"FIELDS", b"%d" % count, *fields, b"more"],
                )
            )
        return [self.rng.choice((b"FIELDS", b"fields")), b"%d" % count, *fields]

    def at_ms(self, now):
        """Past, soon or in many years."""
        chance = self.rng.random()
        if chance < 0.1:
            return self.rng.choice((0, 1, now - 1000))
        if chance < 0.5:
            return now + self.rng.randrange(*self.SOON_MS)
        return self.rng.choice((2524600800000, 2524600801000, 2524600802500, TIME_MAX))

    def at_word(self, now, unit):
        if self.rng.random() < 0.03:
            return self.rng.choice((b"-1", b"x", b"%d" % (TIME_MAX // unit + 1), b"%d" % 2**63))
        return b"%d" % (self.at_ms(now) // unit)

    def expire(self, now):
        name, unit = self.rng.choice((("hpexpireat", 1), ("hpexpireat", 1), ("hexpireat", 1000)))
        words = [self.key(), self.at_word(now, unit)]
        if self.rng.random() < 0.4:
            words.append(self.rng.choice((b"NX", b"XX", b"GT", b"LT", b"nx")))
        return name, [*words, *self.block(self.some_fields())]

    def relative(self, _):
        """Times that nobody can tell to the millisecond: only whether they are refused."""
        name = self.rng.choice(("hexpire", "hpexpire"))
        time = self.rng.choice((b"-1", b"0", b"x", b"%d" % 2**46, b"%d" % 2**62))
        return name, [self.key(), time, *self.block(self.some_fields())]

    def getex(self, now):
        option = self.rng.choice(((), (), (b"PERSIST",), (b"PXAT",), (b"EXAT",), (b"PXAT",)))
        words = [self.key(), *option]
        if option in ((b"PXAT",), (b"EXAT",)):
            words.append(self.at_word(now, 1000 if option == (b"EXAT",) else 1))
        return "hgetex", [*words, *self.block(self.some_fields())]

    def setex(self, now):
        parts = []
        if self.rng.random() < 0.4:
            parts.append([self.rng.choice((b"FNX", b"FXX", b"fnx"))])
        chance = self.rng.random()
        if chance < 0.6:
            parts.append([b"PXAT", self.at_word(now, 1)])
        elif chance < 0.8:
            parts.append([b"KEEPTTL"])
        self.rng.shuffle(parts)
        pairs = self.pairs()
        words = [word for part in parts for word in part]
        return "hsetex", [self.key(), *words, b"FIELDS", b"%d" % (len(pairs) // 2), *pairs]

    def fields_command(self, name):
        return name, [self.key(), *self.block(self.some_fields())]

    def keys_command(self, _):
        key, other = self.key(), self.key()
        return self.rng.choice(
            (
                ("rename", [key, other]),
                ("copy", [key, other, b"REPLACE"]),
                ("copy", [key, other]),
                ("move", [key, self.rng.choice((b"0", b"1"))]),
                ("delete", [key]),
                ("set", [key, b"text"]),
                ("swapdb", [b"0", b"1"]),
                ("select", [self.rng.choice((b"0", b"1"))]),
            )
        )

    def command(self, now):
        rng = self.rng
        table = (
            (10, lambda n: ("hset", [self.key(), *self.pairs()])),
            (10, self.expire),
            (1, self.relative),
            (4, self.getex),
            (6, self.setex),
            (2, lambda n: self.fields_command("hgetdel")),
            (4, lambda n: self.fields_command("hpexpiretime")),
            (1, lambda n: self.fields_command("hexpiretime")),
            (2, lambda n: self.fields_command("hpersist")),
            (1, lambda n: ("hsetnx", [self.key(), self.field(), self.value()])),
            (2, lambda n: ("hget", [self.key(), self.field()])),
            (1, lambda n: ("hmget", [self.key(), *self.some_fields()])),
            (2, lambda n: ("hdel", [self.key(), *self.some_fields()])),
            (3, lambda n: ("hlen", [self.key()])),
            (1, lambda n: ("hexists", [self.key(), self.field()])),
            (1, lambda n: ("hstrlen", [self.key(), self.field()])),
            (2, lambda n: ("hincrby", [self.key(), self.field(), b"7"])),
            (2, lambda n: ("hgetall", [self.key()])),
            (1, lambda n: ("hkeys", [self.key()])),
            (1, lambda n: ("hvals", [self.key()])),
            (1, lambda n: ("hscan", [self.key()])),
            (1, lambda n: ("hrandfield", [self.key(), b"1000"])),
            (1, lambda n: ("object_encoding", [self.key()])),
            (1, lambda n: ("exists", [self.key(), self.key()])),
            (1, lambda n: ("type", [self.key()])),
            (1, lambda n: ("dbsize", [])),
            (3, self.keys_command),
        )
        draw = rng.choices([row[1] for row in table], [row[0] for row in table])[0]
        return draw(now)
