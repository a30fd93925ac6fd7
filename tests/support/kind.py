"""What all kinds of tests have in common: their options, their budget, their last line."""

import argparse
import os
import shlex
import shutil
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def parser(description):
    """The options that every tests/<kind>/run understands; a kind may add its own."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--sherd", metavar="PATH", help="the server (default: BUILD/sherd)")
    options.add_argument("--build", metavar="DIR", default=os.path.join(ROOT, "build"))
    options.add_argument("--budget", metavar="SECONDS", type=float, default=120.0)
    options.add_argument("--all", action="store_true", help="the long form: no budget")
    options.add_argument("--server-options", metavar="'...'", default="")
    return options


def complete(given, needs_sherd=True):
    """Fills in what follows from the options that were given."""
    given.sherd = os.path.abspath(given.sherd or os.path.join(given.build, "sherd"))
    given.server_options = shlex.split(given.server_options)
    if needs_sherd and not os.access(given.sherd, os.X_OK):
        sys.exit("there is no server at %s: build it, or name one with --sherd" % given.sherd)
    return given


def reference():
    """Path of redis-server, which the recorded and compared replies come from."""
    path = shutil.which("redis-server")
    if not path:
        sys.exit("redis-server is not installed; apt-get install redis-server")
    return path


class Totals:
    """Counts, reports failures as they come, and ends the program. Any thread may count."""

    def __init__(self, budget, no_limit):
        self.lock = threading.Lock()
        self.passed = self.failed = 0
        self.deadline = None if no_limit else time.monotonic() + budget

    def time_left(self):
        return float("inf") if self.deadline is None else self.deadline - time.monotonic()

    def ok(self, count=1):
        with self.lock:
            self.passed += count

    def fail(self, what, why):
        with self.lock:
            self.failed += 1
            print("FAIL %s\n     %s" % (what, str(why).replace("\n", "\n     ")), flush=True)

    def finish(self):
        if self.passed + self.failed == 0:
            self.fail("this run", "nothing was tested")
        print("%d passed, %d failed" % (self.passed, self.failed), flush=True)
        sys.exit(1 if self.failed else 0)
