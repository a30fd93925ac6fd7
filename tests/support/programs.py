"""Kinds of tests that are programs of the build, run one after the other."""

import glob
import os
import subprocess

OUTPUT_LINES_MAX = 60


def find(given, pattern, totals):
    """The programs of BUILD/tests; that there are none is a failure of its own."""
    programs = sorted(glob.glob(os.path.join(given.build, "tests", pattern)))
    if not programs:
        totals.fail(pattern, "there is no such program in %s/tests" % given.build)
    return programs


def run(command, totals):
    """Runs to the end, or to that of the budget; (status, output). Too late is status None."""
    left = totals.time_left()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    try:
        output, _ = process.communicate(timeout=None if left == float("inf") else max(1.0, left))
        return process.returncode, output
    except subprocess.TimeoutExpired:
        process.kill()
        return None, process.communicate()[0] + "\nstopped: the budget is used up"


def judge(name, status, output, totals):
    """Counts a program that does not count for itself."""
    if status == 0:
        totals.ok()
    else:
        totals.fail(name, "status %s\n%s" % (status, tail(output)))


def tail(output):
    return "\n".join(output.splitlines()[-OUTPUT_LINES_MAX:])
