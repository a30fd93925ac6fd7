"""Starts both servers with the same files and command lines: the same errors, the same settings."""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time

from support import kind
from support.resp import Closed, Connection, NoReply
from support.server import START_SECONDS, free_port

# PORT and DIR are filled in. A file is written into DIR, which is the working directory.
CASES = [
    ("--port a", {}), ("--port", {}), ("--port 1 2", {}), ("--nosuch 1", {}), ("x.conf --nosuch", {"x.conf": ""}),
    ("x.conf", {"x.conf": "port PORT\n\nbogus line\n"}),
    ("x.conf", {"x.conf": 'port PORT\nmaxmemory "1gb\n'}),
    ("x.conf", {"x.conf": "# x\nport PORT\nmaxmemory 1gb\nsave 900 1\nsave 300 10\nbind 127.0.0.1\n"
                          "client-output-buffer-limit normal 10mb 2mb 3\nslaveof no one\nappendonly no\n"}),
    ("x.conf --maxmemory 2mb --save '' --hz 50", {"x.conf": "port PORT\nsave 1 1\nhz 7\n"}),
    ("x.conf --save --hz 50", {"x.conf": "port PORT\n"}),
    ("--port PORT --save", {}),
    ("--port PORT --save '1 2 3 4'", {}),
    ("--port PORT --save 1 2 --save 3 4", {}),
    ("--port PORT --requirepass '' --masterauth --x --timeout 3", {}),
    ("'--port PORT' --hz 11", {}),
    ("--port PORT --bind '127.0.0.1 -::1'", {}),
    ("--port PORT --bind 127.0.0.1 -::1", {}),
    ("x.conf", {"x.conf": "include d.conf\nport PORT\n", "d.conf": "hz 33\n"}),
    ("x.conf", {"x.conf": "include d*.conf\nport PORT\n", "d1.conf": "hz 33\n", "d2.conf": "maxclients 99\n"}),
    ("x.conf", {"x.conf": "include nosuch*.conf\nport PORT\n"}),
    ("x.conf", {"x.conf": "port PORT\ninclude d.conf\n", "d.conf": "\n\nbad bad\n"}),
    ("x.conf", {"x.conf": 'port PORT\nrename-command GET XGET\nrename-command SET ""\n'}),
    ("x.conf", {"x.conf": "port PORT\nrename-command NOSUCH x\n"}),
    ("x.conf", {"x.conf": "port PORT\nrename-command GET SET\n"}),
    ("--port PORT --logfile /nosuch/x.log", {}), ("--port PORT --dir /nosuch", {}), ("--port PORT --dir /tmp", {}),
    ("--port PORT --databases 0", {}), ("--port PORT --maxmemory abc", {}), ("--port PORT --databases 3", {}),
    ("--port PORT --unixsocketperm 999", {}), ("--port PORT --unixsocketperm 700", {}),
    ("--port PORT --unixsocket DIR/socket", {}), ("--port PORT --list-max-ziplist-entries 512", {}),
    ("--port PORT --lua-time-limit 7", {}), ("--port PORT --proc-title-template {foo}", {}),
    ("--port PORT --notify-keyspace-events KEA", {}), ("--port PORT --save 900", {}),
    ("--port PORT --oom-score-adj-values 1 2 3", {}), ("--port PORT --maxmemory-policy allkeys-lru", {}),
    ("x.conf", {"x.conf": "  Port   PORT  \r\n\tHZ 9\r\n"}),
    ("x.conf", {"x.conf": "port 'PORT'\nmasterauth \"\\x41\\\"\"\nsyslog-ident 'a b'\n"}),
    ("--port PORT --hz 1000", {}), ("--port PORT --shutdown-on-sigterm nosave now", {}),
    ("--port PORT --shutdown-on-sigterm 'nosave now'", {}),
    ("--port PORT --latency-tracking-info-percentiles 50 90.5", {}),
    ("--port PORT --latency-tracking-info-percentiles ''", {}),
    ("--port PORT --client-output-buffer-limit replica 1mb 2mb 3", {}),
    ("--port PORT --io-threads 4", {}), ("--port PORT --replicaof h", {}), ("--port PORT --supervised systemd", {}),
]

# Asked for on standard input.
TYPED = [("-", "port PORT\nmaxclients 77\n", {}), ("x.conf -", "maxclients 77\n", {"x.conf": "port PORT\nhz 3\n"})]

# redis-server takes these, or fails much later: what protects data or access must not be missing silently.
REFUSED = [
    ("--appendonly yes", "the append-only file is not built yet"),
    ("--replicaof localhost 6379", "replication is not built yet"),
    ("--tls-port 7001", "TLS is not built yet"),
    ("--cluster-enabled yes", "cluster mode is not built yet"),
    ("--aclfile users.acl", "ACL rules are not built yet"),
    ("--user alice on", "ACL rules are not built yet"),
    ("--min-replicas-to-write 1", "replication is not built yet"),
    ("--shutdown-on-sigterm save", "snapshots are not built yet"),
    ("--loadmodule x.so", "modules are not supported"),
]

DEFAULT_FILES = ["/etc/redis/redis.conf"]


class Run:
    """One start: `status` and `err` if it ended, `settings` if it served."""

    def __init__(self, program, words, files, typed=None, tail=()):
        self.folder = tempfile.mkdtemp(prefix="sherd-test-")
        self.port, self.status, self.err, self.settings = free_port(), None, "", {}
        for name, text in files.items():
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(self.fill(text))
        command = [program] + [self.fill(word) for word in words] + list(tail)
        with open(os.path.join(self.folder, "err"), "w+", encoding="utf-8") as err:
            process = subprocess.Popen(
                command, cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=err
            )
            try:
                process.stdin.write(self.fill(typed or "").encode())
                process.stdin.close()
            except OSError:
                pass
            self.wait(process)
            err.seek(0)
            self.err = self.normal(err.read())
        self.left = sorted(os.listdir(self.folder))
        shutil.rmtree(self.folder)

    def fill(self, text):
        return text.replace("PORT", str(self.port)).replace("DIR", self.folder)

    def normal(self, text):
        text = text.replace(self.folder, "DIR").replace(str(self.port), "PORT")
        text = re.sub(r"\((Redis|Sherd) [0-9.]+\)", "(VERSION)", text)
        return re.sub(r"(Reading the configuration file) \S+, at", r"\1, at", text)

    def wait(self, process):
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and process.poll() is None:
            try:
                connection = Connection(self.port, timeout=2)
                words = connection.command("CONFIG", "GET", "*").plain()
                connection.close()
                texts = [self.normal(word.decode()) for word in words]
                self.settings = dict(zip(texts[::2], texts[1::2]))
                process.kill()
                process.wait()
                return
            except (OSError, Closed, NoReply):
                time.sleep(0.02)
        self.status = process.wait(START_SECONDS)


def compare(given, words, files, totals, typed=None):
    name = " ".join(words) + (" with " + repr(files) if files else "")
    theirs = Run(kind.reference(), words, files, typed)
    ours = Run(given.sherd, words, files, typed)
    different = {
        option: (ours.settings.get(option), value)
        for option, value in theirs.settings.items()
        if option != "aof-disable-auto-gc" and ours.settings.get(option) != value
    }
    if ours.status != theirs.status or (theirs.status and ours.err != theirs.err) or different:
        totals.fail(
            name,
            "sherd:        %r %r\nredis-server: %r %r\nsettings (sherd, redis-server): %r"
            % (ours.status, ours.err, theirs.status, theirs.err, different),
        )
    else:
        totals.ok()


def check_refused(given, totals):
    for words, reason in REFUSED:
        tail = ["--port", str(free_port()), "--pidfile", "pid", "--unixsocket", "socket"]
        run = Run(given.sherd, words.split(), {}, tail=tail)
        if run.status != 1 or not run.err.endswith(reason + "\n") or "FATAL CONFIG FILE ERROR" not in run.err:
            totals.fail(words, "status %r, %r" % (run.status, run.err))
        elif run.left != ["err"]:
            totals.fail(words, "left behind: %r" % run.left)
        else:
            totals.ok()


def check_default_files(given, totals):
    """Debian's own file starts us, but for where it writes."""
    for path in filter(os.path.exists, DEFAULT_FILES):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        words = "x.conf --port PORT --daemonize no --dir DIR --logfile DIR/log --pidfile DIR/pid".split()
        compare(given, words, {"x.conf": text}, totals)


def run(given, totals):
    for words, files in CASES:
        compare(given, shlex.split(words), files, totals)
    for words, typed, files in TYPED:
        compare(given, words.split(), files, totals, typed)
    check_refused(given, totals)
    check_default_files(given, totals)
