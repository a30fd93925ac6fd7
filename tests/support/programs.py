"""programs: kinds of tests that are programs of the build, run one after the other."""

import argparse
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def parse_options():
    """What tools/test gives every kind; see run_kinds.py."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--sherd", type=Path)
    parser.add_argument("--server-options", default="")
    parser.add_argument("--budget", type=int, default=600)
    parser.add_argument("--all", action="store_true")
    return parser.parse_args()


class Tally:
    """Counts, and is the last to speak."""

    def __init__(self, options):
        self.passed = 0
        self.failed = 0
        self.deadline = time.monotonic() + options.budget

    def run(self, command, **how):
        """Runs to the end or the budget's; (status, or None when it was too late; output)."""
        left = max(1.0, self.deadline - time.monotonic())
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, errors="replace", **how)
        try:
            output, _ = process.communicate(timeout=left)
            return process.returncode, output
        except subprocess.TimeoutExpired:
            process.kill()
            return None, process.communicate()[0]

    def add(self, passed, failed):
        """Counts tests of a program that counts for itself."""
        self.passed += passed
        self.failed += failed

    def check(self, name, good, output):
        """Counts one program; shows the end of what a failed one said."""
        self.passed += good
        self.failed += not good
        if not good:
            print(f"{name}: failed", *output.splitlines()[-60:], sep="\n    ")

    def finish(self):
        """The last line, and the status to exit with."""
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed else 0)
