"""CONFIG SET of every option to every value of a list, on both servers: replies and CONFIG GET."""

import re

from support import kind
from support.server import Server

VALUES = """|yes|no|YES|1|0|-1|5|100|101|501|1000|65536|99999999999|9223372036854775807
|9223372036854775808|18446744073709551615|1.5|abc|1k|1kb|1mb|1Gb|100b|-5mb|5%|-5%|101%|kb|010|777
| 1|1 2|900 1|900 1 60 100|0 1|1 -1|a b|900|normal 0 0 0|normal 1mb 2mb 3
|replica 1 2 3 pubsub 1 1 1|foo 1 2 3|normal 1 2|normal a 1 1|normal 1 1 a|master 1 1 1|50 99|50 101
|50 x|KEA|Kx|AKEn|gn|Knm|KEAm|x y|save|nosave now|save nosave|default force|force now|debug
|noeviction|allkeys-lru|ALLKEYS-LFU|always|everysec|local0|user|local|swapdb|on-empty-db|optional
|relative|absolute|clients|hostname|ip|panic|resetchannels|allchannels|a/b|dump2.rdb|{title}
|{title} {port}|{foo}|{|x{{y|{unixsocket}|ho_st|my-host.1|1 2 3|-2001 1 1|0 200 800|systemd""".replace(
    "\n", ""
).split("|")

HIDDEN = [
    "use-exit-on-panic", "rdb-key-save-delay", "key-load-delay",
    "loading-process-events-interval-bytes", "aof-disable-auto-gc", "lua-enable-deprecated-api", "nosuch",
]

# Those that would take the connection away, or that depend on the machine; tested elsewhere.
LEFT_OUT = {"port", "bind", "dir", "maxclients", "requirepass", "tls-port", "oom-score-adj", "unixsocket"}

# Pattern of the option, of the value, and why they may differ.
DIFFERENCES = [
    (r"appendonly|activedefrag|min-(replicas|slaves)-to-write|tls-cluster|tls-replication", r"yes|YES|\d+",
     "what protects data or access and is not built is refused"),
    (r"shutdown-on-sig(int|term)", r"save", "there is no snapshot to take"),
    (r"loglevel", r".*", "7.2 has the level nothing"),
    (r"watchdog-period", r"\d+", "Redis raises it to 200"),
    (r"aof-disable-auto-gc", r".*", "hidden in 7.2"),
]
ONLY_OURS = {"hash-seed", "io-backend", "lend", "order-log-entries", "shards"}
SINCE_72 = {"cluster-announce-human-nodename", "locale-collate", "set-max-listpack-entries",
            "set-max-listpack-value"}


def is_explained(option, value):
    return any(
        re.fullmatch(names, option) and re.fullmatch(values, value) for names, values, _ in DIFFERENCES
    )


def settings(connection):
    words = connection.command("CONFIG", "GET", "*").plain()
    return dict(zip(map(bytes.decode, words[::2]), words[1::2]))


def compare_defaults(ours, theirs, totals):
    wrong = {
        name: (ours.get(name), value)
        for name, value in theirs.items()
        if name not in ("port", "dir", "bind", "aof-disable-auto-gc") and ours.get(name) != value
    }
    extra = set(ours) - set(theirs) - ONLY_OURS - SINCE_72
    if wrong or extra:
        totals.fail("defaults", "name: (sherd, redis-server) %r\nonly sherd: %r" % (wrong, extra))
    else:
        totals.ok()


def try_value(ours, theirs, option, value, totals):
    replies = []
    for connection in ours, theirs:
        reply = connection.command("CONFIG", "SET", option, value)
        replies.append((reply.raw, connection.command("CONFIG", "GET", option).raw))
    if replies[0] == replies[1] or is_explained(option, value):
        totals.ok()
    else:
        totals.fail("CONFIG SET %s %r" % (option, value), "sherd:        %r\nredis-server: %r" % tuple(replies))
    return replies[1][0] == b"+OK\r\n" or replies[0][0] == b"+OK\r\n"


def run(given, totals):
    with Server(given.sherd, *given.server_options, name="sherd") as sherd, Server(
        kind.reference()
    ) as redis:
        ours, theirs = sherd.connect(), redis.connect()
        known = settings(theirs)
        compare_defaults(settings(ours), known, totals)
        for option in sorted(set(known) | set(HIDDEN)):
            if option in LEFT_OUT:
                continue
            before = theirs.command("CONFIG", "GET", option).plain()
            for value in VALUES:
                if try_value(ours, theirs, option, value, totals) and before:
                    for connection in ours, theirs:
                        connection.command("CONFIG", "SET", option, before[1])
        for fault in sherd.stop():
            totals.fail("the server of the sweep", fault)
