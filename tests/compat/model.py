"""What clients may send: every command as a pattern, and how to draw a command from it.

A pattern is Redis's notation. Lower-case words are drawn by the function of that name below,
upper-case words stand for themselves, [a | b] is optional, (a | b) is not, x ... is x once or more.
"""

import re

from compat import payloads

# Times are far ahead or past, so that no key ends while the servers are compared.
PATTERNS = """
GET key                         | 3
SET key value [NX | XX] [GET] [EX seconds | PX ms | EXAT at_s | PXAT at_ms | KEEPTTL] | 8
SETNX key value
SETEX key seconds value
PSETEX key ms value
GETSET key value
GETDEL key
GETEX key [EX seconds | PX ms | EXAT at_s | PXAT at_ms | PERSIST] | 2
MGET key ...                    | 2
MSET pair ...                   | 3
MSETNX pair ...                 | 2
APPEND key value                | 3
STRLEN key
SETRANGE key offset value       | 3
GETRANGE key index index        | 2
SUBSTR key index index
INCR key                        | 2
DECR key
INCRBY key number               | 2
DECRBY key number
INCRBYFLOAT key decimal           | 2
LCS key key [LEN] [IDX] [MINMATCHLEN small] [WITHMATCHLEN]
DEL key ...
UNLINK key ...
EXISTS key ...
TOUCH key ...
TYPE key
RENAME key key                  | 2
RENAMENX key key                | 2
COPY key key [DB db] [REPLACE]  | 2
MOVE key db
KEYS pattern
SCAN cursor [MATCH pattern] [COUNT count] [TYPE type_name]
RANDOMKEY
EXPIRE key seconds [NX | XX | GT | LT]   | 2
PEXPIRE key ms [NX | XX | GT | LT]
EXPIREAT key at_s [NX | XX | GT | LT]
PEXPIREAT key at_ms [NX | XX | GT | LT]
EXPIRETIME key
PEXPIRETIME key
TTL key
PTTL key
PERSIST key
SETBIT key bit_offset bit       | 5
GETBIT key bit_offset           | 2
BITCOUNT key [index index [BIT | BYTE]]      | 3
BITPOS key bit [index [index [BIT | BYTE]]]  | 3
BITOP (AND | OR | XOR) key key ...           | 3
BITOP NOT key key
BITFIELD key field_step ...     | 5
BITFIELD_RO key field_step ...
PFADD hll_key seen              | 5
PFCOUNT hll_key ...             | 4
PFMERGE hll_key hll_key ...     | 2
PFMERGE hll_key
PFDEBUG (ENCODING | DECODE | TODENSE) hll_key | 2
GET hll_key                     | 2
LPUSH list_key element ...      | 4
RPUSH list_key element ...      | 5
LPUSHX list_key element ...
RPUSHX list_key element ...
LPOP list_key [small]           | 2
RPOP list_key [small]           | 2
LMPOP list_keys (LEFT | RIGHT) [COUNT count] | 3
LLEN list_key
LINDEX list_key index           | 2
LRANGE list_key index index     | 2
LPOS list_key element [RANK rank] [COUNT small] [MAXLEN small] | 3
LSET list_key index element     | 3
LINSERT list_key (BEFORE | AFTER) element element | 3
LREM list_key small element     | 2
LTRIM list_key index index
SORT list_key ALPHA [LIMIT index small] [GET sort_get] [GET sort_get] [ASC | DESC] | 2
SORT set_key ALPHA [LIMIT index small] [GET sort_get] [DESC]
SORT list_key BY sort_by ALPHA [GET sort_get] [DESC] | 2
SORT list_key ALPHA [GET sort_get] STORE list_key | 2
SORT set_key BY no_order [GET sort_get] STORE list_key
SORT_RO list_key [BY no_order] ALPHA [GET sort_get]
GEOADD geo_key [NX | XX] [CH] place_member ... | 4
GEOPOS geo_key member ...
GEODIST geo_key member member [unit]
GEOHASH geo_key member ...
GEOSEARCH geo_key geo_center geo_shape [ASC | DESC] [WITHDIST] [WITHHASH] [WITHCOORD] | 2
GEOSEARCH geo_key geo_center geo_shape COUNT small ANY
GEOSEARCHSTORE geo_key geo_key geo_center geo_shape [STOREDIST]
GEORADIUS geo_key degrees degrees score unit [WITHDIST] [ASC | DESC] [STORE geo_key]
GEORADIUSBYMEMBER geo_key member score unit [STOREDIST geo_key]
LMOVE list_key list_key (LEFT | RIGHT) (LEFT | RIGHT) | 3
RPOPLPUSH list_key list_key     | 2
HSET hash_key field_value ...   | 5
HMSET hash_key field_value ...
HSETNX hash_key field value     | 2
HGET hash_key field             | 2
HMGET hash_key field ...        | 2
HGETALL hash_key                | 2
HDEL hash_key field ...         | 3
HLEN hash_key
HEXISTS hash_key field
HKEYS hash_key
HVALS hash_key
HSTRLEN hash_key field          | 2
HINCRBY hash_key field number   | 3
HINCRBYFLOAT hash_key field decimal      | 3
HRANDFIELD hash_key [draws [WITHVALUES]] | 2
HSCAN hash_key cursor [MATCH pattern] [COUNT count] | 2
SADD set_key member ...         | 8
SREM set_key member ...         | 3
SISMEMBER any_set member
SMISMEMBER any_set member ...
SCARD any_set
SMEMBERS any_set                | 2
SPOP set_key [draws]
SRANDMEMBER any_set [draws]     | 2
SMOVE set_key set_key member    | 3
SSCAN any_set cursor [MATCH pattern] [COUNT count] | 2
SINTER any_set ...              | 2
SINTERCARD set_keys [LIMIT small] | 2
SINTERSTORE set_key any_set ... | 3
SUNION any_set ...              | 2
SUNIONSTORE set_key any_set ... | 3
SDIFF any_set ...               | 2
SDIFFSTORE set_key any_set ...  | 3
SET set_key value               | 0.3
RENAME set_key set_key
COPY set_key set_key [REPLACE]
OBJECT ENCODING set_key         | 2
ZADD zset_key score_member ...  | 8
ZADD zset_key [NX | XX] [GT | LT] [CH] [INCR] score_member | 4
ZADD zset_key [NX | XX] [GT | LT] [CH] [INCR] score_member ... | 2
ZADD lex_key zero_member ...    | 4
ZINCRBY zset_key score member   | 3
ZREM zset_key member ...        | 3
ZCARD any_zset
ZSCORE any_zset member          | 2
ZMSCORE any_zset member ...
ZRANK any_zset member           | 2
ZREVRANK any_zset member        | 2
ZCOUNT any_zset bound bound     | 2
ZLEXCOUNT lex_key lex lex       | 2
ZRANGE any_zset index index [REV] [WITHSCORES] | 3
ZRANGE any_zset bound bound BYSCORE [REV] [LIMIT index small] [WITHSCORES] | 3
ZRANGE lex_key lex lex BYLEX [REV] [LIMIT index small] | 2
ZRANGE any_zset index index [BYSCORE | BYLEX] [REV] [LIMIT index small] [WITHSCORES]
ZRANGESTORE zset_key any_zset index index [REV] | 2
ZRANGESTORE zset_key any_zset bound bound BYSCORE [REV] [LIMIT index small] | 2
ZRANGESTORE lex_key lex_key lex lex BYLEX [REV] [LIMIT index small]
ZREVRANGE any_zset index index [WITHSCORES]
ZRANGEBYSCORE any_zset bound bound [WITHSCORES] [LIMIT index small] | 2
ZREVRANGEBYSCORE any_zset bound bound [WITHSCORES] [LIMIT index small] | 2
ZRANGEBYLEX lex_key lex lex [LIMIT index small]
ZREVRANGEBYLEX lex_key lex lex [LIMIT index small]
ZREMRANGEBYRANK zset_key index index
ZREMRANGEBYSCORE zset_key bound bound
ZREMRANGEBYLEX lex_key lex lex
ZPOPMIN zset_key [draws]
ZPOPMAX zset_key [draws]
ZMPOP zset_keys (MIN | MAX) [COUNT small] | 2
ZRANDMEMBER any_zset [draws [WITHSCORES]] | 2
ZSCAN any_zset cursor [MATCH pattern] [COUNT count] | 2
ZUNION zset_keys [WEIGHTS score score] [AGGREGATE (SUM | MIN | MAX)] [WITHSCORES] | 2
ZINTER zset_keys [WEIGHTS score score] [AGGREGATE (SUM | MIN | MAX)] [WITHSCORES] | 2
ZDIFF zset_keys [WITHSCORES]
ZUNIONSTORE zset_key zset_keys [WEIGHTS score score] [AGGREGATE (SUM | MIN | MAX)] | 2
ZINTERSTORE zset_key zset_keys [WEIGHTS score score] [AGGREGATE (SUM | MIN | MAX)] | 2
ZDIFFSTORE zset_key zset_keys
ZINTERCARD zset_keys [LIMIT small]
COPY zset_key zset_key [REPLACE]
OBJECT ENCODING zset_key        | 2
XADD stream_key new_id pair ... | 8
XADD stream_key [NOMKSTREAM] [strategy] new_id pair ... | 4
XADD stream_key auto_id pair    | 0.5
XADD any_stream odd_id pair     | 0.5
XLEN any_stream
XRANGE any_stream id_bound id_bound [COUNT small]    | 3
XREVRANGE any_stream id_bound id_bound [COUNT small] | 3
XREAD [COUNT count] [BLOCK 1] STREAMS streams_and_ids | 3
XDEL stream_key stream_id ...   | 4
XTRIM stream_key strategy       | 2
XSETID stream_key late_id [ENTRIESADDED small] [MAXDELETEDID stream_id]
XSETID stream_key stream_id     | 0.5
XINFO STREAM any_stream [FULL [COUNT small]]  | 3
XGROUP CREATE stream_key group 0 [MKSTREAM] | 4
XGROUP CREATE stream_key group group_start [MKSTREAM] [ENTRIESREAD small]
XGROUP SETID stream_key group group_start [ENTRIESREAD small]
XGROUP DESTROY stream_key group             | 0.3
XGROUP CREATECONSUMER stream_key group consumer
XGROUP DELCONSUMER stream_key group consumer
XREADGROUP GROUP group consumer [COUNT small] [NOACK] [BLOCK 1] STREAMS any_stream new_entries | 8
XREADGROUP GROUP group consumer [COUNT small] STREAMS stream_key stream_id | 3
XREADGROUP [COUNT small] [NOACK] GROUP group consumer STREAMS stream_key stream_key group_from group_from | 3
XACK stream_key group stream_id ...         | 4
XPENDING any_stream group                   | 2
XPENDING stream_key group [IDLE idle] id_bound id_bound count [consumer] | 3
XCLAIM stream_key group consumer idle stream_id ... [IDLE age] [TIME at_ms] [RETRYCOUNT small] [FORCE] [JUSTID] [LASTID stream_id] | 4
XAUTOCLAIM stream_key group consumer idle id_bound [COUNT small] [JUSTID] | 3
XINFO GROUPS any_stream                     | 2
XINFO CONSUMERS stream_key group
COPY stream_key stream_key [REPLACE]
RENAME stream_key stream_key
OBJECT ENCODING stream_key
DBSIZE
FLUSHDB [ASYNC | SYNC]          | 0.2
FLUSHALL [ASYNC | SYNC]         | 0.1
SWAPDB db db                    | 0.5
OBJECT ENCODING key             | 2
DUMP any_key                    | 2
RESTORE any_key restore_ttl payload [REPLACE] [ABSTTL] [IDLETIME small | FREQ small] | 3
RESTORE any_key restore_ttl payload REPLACE | 3
OBJECT (FREQ | IDLETIME | REFCOUNT) key
PING [value]
ECHO value
SELECT db                       | 2
CLIENT GETNAME                  | 0.3
CLIENT SETNAME name             | 0.3
COMMAND (GETKEYS | GETKEYSANDFLAGS) command
COMMAND INFO word
TIME                            | 0.1
RESET                           | 0.3
HELLO [(2 | 3) [SETNAME name]]  | 0.5
MULTI                           | 2
EXEC                            | 2.5
DISCARD                         | 0.3
"""

KEYS = [b"a", b"b", b"c", b"d", b"{t}a", b"{t}b", b"x{t}", b"key:1", b"", b"bin\x00\r\n\xff", b"{}x"]
HLL_KEYS = [b"hll", b"{t}hll", b"another hll"]
LIST_KEYS = [b"list", b"{t}list", b"another list"]
SET_KEYS = [b"set", b"{t}set", b"another set", b"set:4", b"set:5"]
ZSET_KEYS = [b"zset", b"{t}zset", b"another zset", b"zset:4"]
LEX_KEYS = [b"lex", b"{t}lex"]
STREAM_KEYS = [b"stream", b"{t}stream", b"another stream"]
HASH_KEYS = [b"hash", b"{t}hash", b"another hash"]
INTEGERS = [
    0, 1, -1, 2, 10, 100, 12345, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53, 2**62,
    2**63 - 1, 2**63 - 2, 2**63, -(2**63), -(2**63) + 1, -(2**63) - 1, 2**64 - 1, 2**64,
]  # fmt: skip
ODD = [b"", b" 1", b"1 ", b"+1", b"01", b"-0", b"1.0", b"1e3", b"0x1f", b"abc", b"nan", b"inf", b"-inf"]
FLOATS = [
    b"0", b"1", b"-1", b"0.1", b"0.2", b"1.5", b"3.0", b"-2.25", b"1e10", b"5.0e3", b"1e-5", b"1e17",
    b"123456789.123456789", b"1e300", b"0.30000000000000004", b"-0.0", b"1e-20", b"0x10", b"1e4932",
]  # fmt: skip
SCORES = [b"0", b"1", b"2", b"3", b"-1", b"1.5", b"0.5", b"-2.25", b"100", b"1e10", b"0.1", b"3e-7", b"1e17", b"inf", b"-inf"]
LEX_BOUNDS = [b"-", b"+", b"[", b"(", b"[1", b"(1", b"[a", b"(b", b"[10", b"(-7", b"[z", b"a", b"", b"+x"]
TEXTS = [
    b"", b"x", b"hello", b"Hello World", b"a\x00b", b"\r\n", b"\xff\xfe", b"abcabcabc", b"ohmytext",
    b"mynewtext", b"12", b"3.5", b"y" * 44, b"y" * 45, b"z" * 500,
]  # fmt: skip
LARGE = b"large value " * 2000  # more than one receive
ODD_IDS = [
    b"-", b"+", b"$", b">", b"*", b"", b"(1", b"(-", b"0-0", b"0", b"1-*", b"x", b"1-x", b"-1", b"1-", b"01-02", b" 1",
    b"1--03", b"18446744073709551615-18446744073709551615", b"18446744073709551616", b"18446744073709551615-*",
    b"5-18446744073709551615", b"(18446744073709551615-18446744073709551615", b"(0-0",
]  # fmt: skip
GROUPS = [b"g", b"g", b"g", b"h", b"STREAMS", b"nosuch"]
CONSUMERS = [b"alice", b"alice", b"bob", b"c", b"COUNT", b""]
ELEMENTS = [b"a", b"b", b"1", b"-4096", b"", b"e" * 64, b"e" * 3000, b"e" * 5000]
MEMBERS = [b"m", b"n", b"member", b"*", b"", b"m" * 64, b"m" * 65, b"m" * 300]
FIELDS = [b"f", b"g", b"name", b"field:01", b"", b"*"]
FAR_S, FAR_STEPS = 100000, 10**6  # no two alike, or GT and LT would depend on who is faster
PAST_OR_BAD = [0, -1, -100, 2**63 - 1, 2**63, -(2**63), 2**63 // 1000 + 1, -(2**63) // 1000 - 1]
AT_S, AT_MS = [33177117420, 33177117421, 2**63 // 1000], [33177117420000, 33177117420499, 2**63 - 1]
PATTERNS_OF_KEYS = [b"*", b"a", b"?", b"[a-c]", b"[^a]", b"*t*", b"{t}*", b"\\{*", b"k*:1", b"", b"b[", b"[b-a]*"]
NAMES = [b"me", b"", b"a b", b"n\n", b"x-y:1"]
TYPES = [b"string", b"STRING", b"list", b"hash", b"set", b"nosuch"]
DATABASES = [0, 0, 0, 1, 1, 2, 15]


def digits(value):
    return value if isinstance(value, bytes) else b"%d" % value


class Model:
    """Draws commands from the patterns with the chance that it is given."""

    def __init__(self, rng):
        self.rng = rng
        self.stream_ms = 1  # ids of new entries grow, those of different streams too
        self.patterns, self.weights = [], []
        for line in PATTERNS.strip().split("\n"):
            pattern, weight = re.fullmatch(r"(.*?)(?:\s*\|\s*([\d.]+))?", line).groups()
            self.patterns.append(pattern.split())
            self.weights.append(float(weight or 1))

    # ---- a command

    def command(self):
        """The words of one command, mostly a valid one."""
        while True:
            pattern = self.rng.choices(self.patterns, self.weights)[0]
            words, _ = self.sequence(tokens(pattern), 0)
            if self.rng.random() < 0.12:
                words = self.spoil(words)
            left_out = (ends_soon, is_endless, is_huge, is_new, is_stray, is_for_replicas, blocks)
            if words and not any(reason(words) for reason in left_out):
                return words

    def sequence(self, items, at):
        words = []
        while at < len(items) and items[at] not in ("|", "]", ")"):
            if items[at] in "[(":
                chosen, end = self.alternative(items, at + 1)
                if items[at] == "(" or self.rng.random() < 0.35:
                    words += chosen
                at = end + 1
                continue
            times = 1
            if at + 1 < len(items) and items[at + 1] == "...":
                times = self.rng.choice([1, 1, 2, 2, 3, 5, 8])
            for _ in range(times):
                words += self.draw(items[at])
            at += 2 if at + 1 < len(items) and items[at + 1] == "..." else 1
        return words, at

    def alternative(self, items, at):
        choices = []
        while True:
            words, at = self.sequence(items, at)
            choices.append(words)
            if items[at] != "|":
                return self.rng.choice(choices), at
            at += 1

    def draw(self, name):
        if name != name.lower() or name.isdigit():
            word = name.encode()
            return [word.lower() if self.rng.random() < 0.1 else word]
        drawn = getattr(self, name)()
        return drawn if isinstance(drawn, list) else [digits(drawn)]

    def spoil(self, words):
        """Something that a client gets wrong."""
        words = list(words)
        at = self.rng.randrange(len(words))
        way = self.rng.randrange(6)
        if way == 0:
            del words[at]
        elif way == 1:
            words.insert(at, words[at])
        elif way == 2:
            words.append(self.word())
        elif way == 3 and at > 0:
            words[at] = self.word()
        elif way == 4 and len(words) > 2:
            other = self.rng.randrange(1, len(words))
            at = max(at, 1)
            words[at], words[other] = words[other], words[at]
        else:
            words[at] = words[at].swapcase()
        return words

    # ---- its words

    def key(self):
        return self.rng.choice(KEYS if self.rng.random() < 0.85 else HASH_KEYS)

    def bit(self):
        return self.rng.choice([0, 1, 0, 1, 0, 1, 2, -1, b"x"])

    def bit_offset(self):
        few = self.rng.choice([0, 1, 7, 8, 63, 100, 359, 360, 4000])
        return few if self.rng.random() < 0.9 else self.rng.choice([-1, 2**32, 2**63 - 1, 2**63, b"x", b"#1", b""])

    def field_type(self):
        width = self.rng.choice([1, 2, 5, 8, 16, 31, 32, 33, 63])
        odd = [b"i64", b"u64", b"i65", b"u0", b"u-1", b"U8", b"8", b"u", b""]
        return self.rng.choice([b"i%d" % width, b"u%d" % width]) if self.rng.random() < 0.9 else self.rng.choice(odd)

    def field_step(self):
        """What BITFIELD does with one field, or how it overflows from there on."""
        offset = self.bit_offset() if self.rng.random() < 0.6 else b"#%d" % self.rng.choice([0, 1, 3, 20, -1])
        place = [self.field_type(), digits(offset)]
        kind = self.rng.choice([b"GET", b"SET", b"INCRBY", b"OVERFLOW"])
        if kind == b"GET":
            return [kind] + place
        if kind == b"OVERFLOW":
            return [kind, self.rng.choice([b"WRAP", b"SAT", b"FAIL", b"FAIL", b"sat", b"NONE"])]
        return [kind] + place + [digits(self.rng.choice([1, 100, -100, self.number()]))]

    def hll_key(self):
        return self.rng.choice(HLL_KEYS) if self.rng.random() < 0.97 else self.key()

    def seen(self):
        """Elements of a HyperLogLog, a few or enough to change its encoding."""
        first, count = self.rng.randrange(5000), self.rng.choice([0, 1, 1, 2, 5, 20, 20, 500])
        return [b"seen:%d" % number for number in range(first, first + count)]

    def list_key(self):
        return self.rng.choice(LIST_KEYS) if self.rng.random() < 0.85 else self.key()

    def list_keys(self):
        """With their number before them, mostly the right one."""
        keys = [self.list_key() for _ in range(self.rng.choice([1, 2, 2, 3]))]
        wrong = self.rng.choice([0, -1, len(keys) + 1, 2**63 - 1, 2**63, b"x"])
        return [digits(len(keys) if self.rng.random() < 0.9 else wrong)] + keys

    def element(self):
        return self.rng.choice(ELEMENTS) if self.rng.random() < 0.85 else self.value()

    def rank(self):
        return self.rng.choice([1, 1, -1, 2, -2, 3, 0, 2**63 - 1, -(2**63) + 1, b"x"])

    def set_key(self):
        return self.rng.choice(SET_KEYS)

    def any_set(self):
        return self.set_key() if self.rng.random() < 0.95 else self.key()

    def set_keys(self):
        """With their number before them, mostly the right one."""
        keys = [self.any_set() for _ in range(self.rng.choice([1, 2, 2, 3]))]
        wrong = self.rng.choice([0, -1, len(keys) + 1, 2**63 - 1, 2**63, b"x"])
        return [digits(len(keys) if self.rng.random() < 0.9 else wrong)] + keys

    def zset_key(self):
        return self.rng.choice(ZSET_KEYS)

    def geo_key(self):
        return self.rng.choice([b"geo", b"{t}geo", self.any_zset()])

    def degrees(self):
        return self.rng.choice([b"0", b"13.361389", b"38.115556", b"-85.05112878", b"85.1", b"-179.9", b"15", b"37.5", b"x"])

    def place_member(self):
        return [self.degrees(), self.degrees(), digits(self.member())]

    def unit(self):
        return self.rng.choice([b"m", b"km", b"KM", b"ft", b"mi", b"mile"])

    def geo_center(self):
        if self.rng.random() < 0.5:
            return [b"FROMMEMBER", digits(self.member())]
        return [b"FROMLONLAT", self.degrees(), self.degrees()]

    def geo_shape(self):
        length = self.rng.choice([b"0", b"1", b"100", b"5000", b"300000", b"1e7", b"-1", b"x"])
        if self.rng.random() < 0.5:
            return [b"BYRADIUS", length, self.unit()]
        return [b"BYBOX", length, b"500", self.unit()]

    def sort_by(self):
        """What every list's element has or has not: some of these name keys of another type."""
        return self.rng.choice([b"k*", b"*", b"hash*->f1", b"h*->*", b"none*", b"*k", b"k*->"])

    def sort_get(self):
        return self.rng.choice([b"#", b"#", b"k*", b"*", b"hash*->f1", b"h*->f", b"none", b"##"])

    def no_order(self):
        return self.rng.choice([b"nosort", b"", b"x->y"])

    def any_zset(self):
        return self.zset_key() if self.rng.random() < 0.95 else self.key()

    def zset_keys(self):
        """With their number before them, mostly the right one; sets count too."""
        keys = [self.any_zset() for _ in range(self.rng.choice([1, 2, 2, 2, 3]))]
        if self.rng.random() < 0.2:
            keys[-1] = self.set_key()
        wrong = self.rng.choice([0, -1, len(keys) + 1, 2**63 - 1, 2**63, b"x"])
        return [digits(len(keys) if self.rng.random() < 0.93 else wrong)] + keys

    def lex_key(self):
        """Of sorted sets whose scores are all 0: ranges by member of others mean nothing."""
        return self.rng.choice(LEX_KEYS)

    def lex(self):
        return self.rng.choice(LEX_BOUNDS)

    def score(self):
        return self.rng.choice(SCORES) if self.rng.random() < 0.97 else self.rng.choice(ODD)

    def score_member(self):
        """Not -0: whether a sorted set tells it from 0 depends on its encoding, and so on the version."""
        score = self.score()
        return [b"0" if score == b"-0" else digits(score), digits(self.member())]

    def zero_member(self):
        return [b"0", digits(self.member())]

    def bound(self):
        opens = b"(" if self.rng.random() < 0.2 else b""
        return opens + digits(self.score())

    def member(self):
        if self.rng.random() < 0.7:
            return digits(self.rng.choice([1, 2, 3, 4, 5, 10, -7, 300, 2**31, -(2**63)]))
        kind = self.rng.choice([MEMBERS, MEMBERS, INTEGERS, TEXTS, ODD])
        return digits(self.rng.choice(kind))

    def stream_key(self):
        return self.rng.choice(STREAM_KEYS)

    def any_stream(self):
        return self.stream_key() if self.rng.random() < 0.95 else self.key()

    def new_id(self):
        self.stream_ms += self.rng.choice([0, 0, 1, 2, 3])
        seq = b"*" if self.rng.random() < 0.6 else b"%d" % self.rng.randrange(4)
        return b"%d-%s" % (self.stream_ms, seq)

    def auto_id(self):
        return b"*"

    def stream_id(self):
        """Mostly one that may be there."""
        if self.rng.random() < 0.1:
            return self.odd_id()
        ms = self.rng.randrange(self.stream_ms + 2)
        return b"%d" % ms if self.rng.random() < 0.4 else b"%d-%d" % (ms, self.rng.randrange(4))

    def late_id(self):
        """One that no stream has come to."""
        self.stream_ms += 1
        return b"%d-0" % self.stream_ms

    def odd_id(self):
        return self.rng.choice(ODD_IDS)

    def id_bound(self):
        if self.rng.random() < 0.3:
            return self.rng.choice([b"-", b"+"])
        return (b"(" if self.rng.random() < 0.2 else b"") + self.stream_id()

    def strategy(self):
        """How XADD and XTRIM are to trim."""
        how = [[], [], [b"="], [b"~"], [b"~"]]
        words = [b"MAXLEN", b"%d" % self.rng.choice([0, 1, 2, 5, 10, 30, -1])]
        if self.rng.random() < 0.5:
            words = [b"MINID", self.stream_id()]
        words[1:1] = self.rng.choice(how)
        if b"~" in words and self.rng.random() < 0.3 or self.rng.random() < 0.03:
            words += [b"LIMIT", b"%d" % self.rng.choice([0, 1, 3, 10, 100, -1])]
        return words

    def streams_and_ids(self):
        keys = [self.any_stream() for _ in range(self.rng.choice([1, 1, 2, 3]))]
        return keys + [b"$" if self.rng.random() < 0.1 else self.stream_id() for _ in keys]

    def group(self):
        return self.rng.choice(GROUPS)

    def consumer(self):
        return self.rng.choice(CONSUMERS)

    def new_entries(self):
        return b">"

    def group_start(self):
        return self.rng.choice([b"$", b"0", self.stream_id(), self.stream_id()])

    def group_from(self):
        return self.rng.choice([b">", b">", b">", b"0", self.stream_id(), b"$"])

    def idle(self):
        """Far from what passes while servers are compared."""
        return self.rng.choice([0, 0, 0, -1, 10**6, 10**12, 2**63 - 1, b"x"])

    def age(self):
        return self.rng.choice([0, 5 * 10**6, 10**15, -1, -(2**63), 2**63 - 1, b"x"])

    def any_key(self):
        """Of any type: mostly another one than that of the payload."""
        kinds = [KEYS, HLL_KEYS, LIST_KEYS, SET_KEYS, ZSET_KEYS, LEX_KEYS, STREAM_KEYS, HASH_KEYS]
        return self.rng.choice(self.rng.choice(kinds))

    def restore_ttl(self):
        return 0 if self.rng.random() < 0.6 else self.rng.choice([self.ms, self.at_ms])()

    def payload(self):
        return self.rng.choice(payloads.WRONG if self.rng.random() < 0.1 else payloads.SOUND)

    def hash_key(self):
        return self.rng.choice(HASH_KEYS) if self.rng.random() < 0.9 else self.key()

    def field(self):
        kind = self.rng.choice([FIELDS, FIELDS, FIELDS, INTEGERS, TEXTS])
        return digits(self.rng.choice(kind))

    def field_value(self):
        return [self.field(), self.value()]

    def draws(self):
        """How many random elements."""
        return self.rng.choice([0, 1, 2, 5, 100, -1, -3, -20, 2**63 - 1, 2**62, 2**63, -(2**63), b"x"])

    def value(self):
        if self.rng.random() < 0.01:
            return LARGE
        return digits(self.rng.choice(self.rng.choice([INTEGERS, FLOATS, TEXTS, TEXTS, ODD])))

    def pair(self):
        return [self.key(), self.value()]

    def number(self):
        return self.rng.choice(INTEGERS if self.rng.random() < 0.9 else ODD)

    def decimal(self):
        return self.rng.choice(FLOATS if self.rng.random() < 0.9 else ODD)

    def small(self):
        return self.rng.choice([0, 1, 2, 3, 5, -1, 2**63 - 1])

    def index(self):
        return self.rng.choice([0, 1, 2, 4, 5, 10, -1, -2, -5, -100, 100, 2**63 - 1, -(2**63), 2**63])

    def offset(self):
        return self.rng.choice([0, 1, 2, 5, 10, 43, 44, 100, 1000, -1, 536870912, 2**63 - 1, 2**63])

    def seconds(self):
        far = self.rng.random() < 0.8
        return FAR_S + 7 * self.rng.randrange(FAR_STEPS) if far else self.rng.choice(PAST_OR_BAD)

    def ms(self):
        seconds = self.seconds()
        return seconds * 1000 + 500 if FAR_S <= seconds < 2**53 else seconds

    def at_s(self):
        return self.rng.choice(AT_S if self.rng.random() < 0.8 else PAST_OR_BAD + [1])

    def at_ms(self):
        return self.rng.choice(AT_MS if self.rng.random() < 0.8 else PAST_OR_BAD + [1])

    def db(self):
        return self.rng.choice(DATABASES if self.rng.random() < 0.9 else [16, -1, b"x", 2**31, 2**63])

    def pattern(self):
        return self.rng.choice(PATTERNS_OF_KEYS)

    def cursor(self):
        return self.rng.choice([0, 0, 0, 0, b"x", b"", b" 0", 2**64])

    def count(self):
        return self.rng.choice([1, 5, 10, 1000, 1000, 0, -1, 2**63 - 1, 2**63, b"x"])

    def type_name(self):
        return self.rng.choice(TYPES)

    def name(self):
        return self.rng.choice(NAMES)

    def word(self):
        kinds = [self.key, self.value, self.number, self.pattern, self.name]
        return digits(self.rng.choice(kinds)()) if self.rng.random() < 0.7 else self.literal()

    def literal(self):
        pattern = self.rng.choice(self.patterns)
        return self.rng.choice([word for word in pattern if word.isupper()]).encode()


def tokens(pattern):
    """A pattern's words with its brackets apart."""
    return re.findall(r"[\[\]()|]|\.\.\.|[^\s\[\]()|]+", " ".join(pattern))


def is_between(word, low, high):
    try:
        return low <= int(word) <= high
    except ValueError:
        return False


TIMED = {b"SET": 3, b"GETEX": 2, b"SETEX": 1, b"PSETEX": 1, b"EXPIRE": 1, b"PEXPIRE": 1}


def ends_soon(words):
    """Would this give a key a life of seconds, so that it may end between two servers' replies?"""
    first = TIMED.get(words[0].upper())
    return first is not None and any(is_between(word, 1, 90000) for word in words[first:])


ENDLESS = {b"HRANDFIELD", b"SRANDMEMBER", b"ZRANDMEMBER"}


def is_huge(words):
    """Would this make a string of more than a few thousand bytes by setting a bit?"""
    sets_bits = words[0].upper() in (b"SETBIT", b"BITFIELD")
    return sets_bits and any(is_between(word.lstrip(b"#"), 10**5, 2**32 - 1) for word in words[1:])


def is_endless(words):
    """Would this ask for billions of random elements?"""
    return words[0].upper() in ENDLESS and any(
        is_between(word, -(2**63) + 1, -1000) for word in words[1:]
    )


def is_new(words):
    """What Redis 7.2 does otherwise: COMMAND GETKEYS of a single word was refused by its arity until
    then, and is queued by MULTI since; HSET and SADD count what they are given, though it may repeat,
    when they choose an encoding; ZRANK takes a fourth word; XREAD knows +; HELLO with words that are wrong behind SETNAME sets no name."""
    name = words[0].upper()
    if name == b"COMMAND":
        return len(words) == 3 and words[1].upper().startswith(b"GETKEYS")
    if name in (b"ZRANK", b"ZREVRANK"):
        return len(words) > 3
    if name == b"HELLO":
        return len(words) > 4
    if name == b"XREAD":
        return b"+" in words
    names = words[2:] if name == b"SADD" else words[2::2]
    counts = name in (b"HSET", b"HMSET", b"SADD")
    return counts and len(names) > 2 and len(set(names)) < len(names)


def is_stray(words):
    """Might this put a set where only hashes should be? differences.txt tells them apart by name."""
    makes_sets = words[0].upper() in (b"SADD", b"SMOVE", b"SINTERSTORE", b"SUNIONSTORE", b"SDIFFSTORE")
    return (makes_sets or set(SET_KEYS) & set(words)) and set(HASH_KEYS) & set(words)


def is_for_replicas(words):
    """SYNC, which FLUSHALL SYNC becomes without its first word, ends the talk of commands and replies."""
    return words[0].upper() == b"SYNC"


def is_endless(words):
    """Would this ask for billions of random elements?"""
    return words[0].upper() in ENDLESS and any(
        is_between(word, -(2**63) + 1, -1000) for word in words[1:]
    )


def blocks(words):
    """Would this wait for longer than a moment?"""
    upper = [word.upper() for word in words]
    return b"BLOCK" in upper and upper[upper.index(b"BLOCK") + 1 :][:1] != [b"1"]
