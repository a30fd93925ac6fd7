"""run_kinds: what tools/test does once the packages are there.

A kind of test is a folder of tests/ with a program `run` in it; nothing else names it. `run` takes
    --build DIR             the build it is about, with the programs in DIR/tests
    --sherd PATH            the server of that build
    --server-options TEXT   options that every server it starts is given
    --budget SECONDS        what it should stay within; a little later it is killed
    --all                   the long form
prints what went wrong, ends with a line `N passed, M failed` and exits with 1 if anything failed.
It says what it needs in a comment of its own, any part of which may be missing:
    # kind: order=50 builds=release,asan variants=epoll seconds=60 all_builds=tsan all_seconds=600
`builds` are those of BUILDS below, in each of which it runs once; `variants` are further runs with the
first build, see VARIANTS; `all_builds` and `all_seconds` are of the long form, the former additional.

What a sanitizer reports, in whatever process, fails the kind that was running.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SHORT_FORM_S = 15 * 60   # the whole run by default; what has not begun by then has failed
GRACE_S = 15             # after its budget a kind may finish what it is at
SLOWER = {"asan": 2, "tsan": 4}  # and these builds take so much longer over that
RESULT = re.compile(r"^(\d+) passed, (\d+) failed\s*$")
REPORT_LINES_MAX = 60
REPORTS_MAX = 5  # that are printed

# name: (folder, what to build there, how)
BUILDS = {
    "release": ("build", ["sherd"], ["-DCMAKE_BUILD_TYPE=Release"]),
    "debug": ("build-debug", ["tests"], ["-DCMAKE_BUILD_TYPE=Debug"]),
    "asan": ("build-asan", ["sherd", "tests"],
             ["-DCMAKE_BUILD_TYPE=Debug", "-DSHERD_SANITIZE=address"]),
    "tsan": ("build-tsan", ["sherd", "tests"],
             ["-DCMAKE_BUILD_TYPE=Debug", "-DSHERD_SANITIZE=thread"]),
    "fuzz": ("build-fuzz", ["tests"],
             ["-DCMAKE_BUILD_TYPE=Debug", "-DSHERD_FUZZ=ON", "-DCMAKE_C_COMPILER=clang"]),
}
VARIANTS = {
    "epoll": "--io-backend epoll",
}


class Kind:
    """One folder of tests, and what its `run` says of itself."""

    def __init__(self, run, is_long):
        self.name = run.parent.name
        self.run = run
        head = run.read_text(encoding="utf-8", errors="replace")[:4000]
        match = re.search(r"^# kind:(.*)$", head, re.M)
        said = dict(re.findall(r"(\w+)=(\S+)", match.group(1))) if match else {}
        self.order = int(said.get("order", 50))
        self.builds = names(said.get("builds", "release"))
        self.variants = names(said.get("variants", ""))
        self.seconds = int(said.get("seconds", 60))
        if is_long:
            self.builds += names(said.get("all_builds", ""))
            self.seconds = int(said.get("all_seconds", 10 * self.seconds))

    def runs(self):
        """(label, build or None, server options) of each run."""
        for build in self.builds or [None]:
            yield (f"{self.name} [{build}]" if build else self.name), build, ""
        for variant in self.variants:
            yield f"{self.name} [{variant}]", self.builds[0], VARIANTS[variant]


def names(text):
    return [name for name in text.split(",") if name not in ("", "none")]


def say(text):
    print(text, flush=True)


class Builder(threading.Thread):
    """Builds one after the other, in the order in which they are wanted, while tests already run:
    those wait for each other much of the time, and whoever waits for a build gets it sooner."""

    def __init__(self, wanted):
        super().__init__(daemon=True)
        self.wanted = wanted
        self.done = {name: threading.Event() for name in wanted}
        self.folders = {}

    def run(self):
        for name in self.wanted:
            try:
                self.folders[name] = build(name)
            finally:
                self.done[name].set()

    def get(self, name):
        """The folder of that build, or None if it failed. Waits for it."""
        self.done[name].wait()
        return self.folders.get(name)


def build(name):
    """Builds one of BUILDS; its folder, or None when that failed."""
    folder, targets, options = BUILDS[name]
    path = ROOT / folder
    began = time.monotonic()
    commands = [["nice", "cmake", "--build", str(path), "--parallel", str(os.cpu_count()),
                 "--target"] + targets]
    if not (path / "CMakeCache.txt").exists():
        commands.insert(0, ["cmake", "-S", str(ROOT), "-B", str(path), "-G", "Ninja"] + options)
    for command in commands:
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, errors="replace", check=False)
        if result.returncode != 0:
            say(f"{result.stdout[-6000:]}\n---- build {name}: failed")
            return None
    say(f"---- build {name}: {time.monotonic() - began:.0f} s")
    return path


def environment(reports):
    """Sanitizers write into the folder `reports`, so that no report is lost in a test's output."""
    common = f"log_path={reports}/report:print_stacktrace=1"
    env = dict(os.environ)
    env["ASAN_OPTIONS"] = f"{common}:exitcode=99:detect_leaks=1:detect_stack_use_after_return=1"
    env["UBSAN_OPTIONS"] = f"{common}:halt_on_error=1"
    env["TSAN_OPTIONS"] = f"{common}:exitcode=66:halt_on_error=0"
    return env


def print_reports(reports):
    """Prints what sanitizers found; in how many processes. An allocation that they refuse is
    mentioned too, and is no finding: sizes that a client chooses may fail."""
    found = 0
    for file in sorted(Path(reports).glob("report.*")):
        text = file.read_text(encoding="utf-8", errors="replace")
        if re.search(r"ERROR: |runtime error: |WARNING: ThreadSanitizer", text):
            found += 1
            if found <= REPORTS_MAX:
                say("\n".join(text.splitlines()[:REPORT_LINES_MAX]))
    return found


def run_kind(kind, folder, server_options, grace, is_long):
    """Runs a kind once; (passed, failed)."""
    budget = kind.seconds
    command = [str(kind.run), "--budget", str(budget)]
    if folder:
        command += ["--build", str(folder), "--sherd", str(folder / "sherd")]
    if server_options:
        command += ["--server-options", server_options]
    if is_long:
        command.append("--all")

    passed, failed, said_result = 0, 0, False
    with tempfile.TemporaryDirectory(prefix="sherd-reports-") as reports:
        process = subprocess.Popen(command, cwd=ROOT, env=environment(reports), text=True,
                                   errors="replace", stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        late = []

        # An alarm rather than a thread: reading its lines is all there is to do meanwhile.
        def too_late(_signal, _frame):
            late.append(True)
            say(f"{kind.name}: still running {grace} s after its budget of {budget} s; killed")
            os.killpg(process.pid, signal.SIGKILL)
        signal.signal(signal.SIGALRM, too_late)
        signal.alarm(budget + grace)
        for line in process.stdout:
            match = RESULT.match(line)
            said_result = bool(match)
            if match:
                passed, failed = int(match.group(1)), int(match.group(2))
            else:
                say(line.rstrip("\n"))
        status = process.wait()
        signal.alarm(0)
        try:
            os.killpg(process.pid, signal.SIGKILL)  # what it left behind
        except ProcessLookupError:
            pass
        reported = print_reports(reports)
    if late:
        failed += 1
    elif not said_result:
        say(f"{kind.name}: ended (status {status}) without saying how many passed")
        failed += 1
    elif status != 0 and failed == 0:
        say(f"{kind.name}: ended with status {status}")
        failed += 1
    if reported:
        say(f"{kind.name}: a sanitizer reported on {reported} processes")
        failed += reported
    return passed, failed


def main():
    parser = argparse.ArgumentParser(prog="tools/test",
                                     description="Builds Sherd and runs its tests.")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="run these kinds alone")
    parser.add_argument("--all", action="store_true", help="run the long forms")
    parser.add_argument("--within", type=int, default=SHORT_FORM_S, metavar="SECONDS",
                        help="how long the short forms may take together (%(default)s)")
    options = parser.parse_args()

    kinds = sorted((Kind(run, options.all) for run in (ROOT / "tests").glob("*/run")),
                   key=lambda kind: (kind.order, kind.name))
    unknown = set(options.kinds) - {kind.name for kind in kinds}
    if unknown:
        parser.error(f"no such kind: {' '.join(sorted(unknown))}; there are: "
                     f"{' '.join(kind.name for kind in kinds)}")
    if options.kinds:
        kinds = [kind for kind in kinds if kind.name in options.kinds]

    began = time.monotonic()
    runs = [(kind, *run) for kind in kinds for run in kind.runs()]
    builder = Builder(list(dict.fromkeys(name for _, _, name, _ in runs if name)))
    builder.start()
    total_passed, total_failed, table = 0, 0, []
    for kind, label, name, server_options in runs:
        folder = builder.get(name) if name else None
        start = time.monotonic()
        if not options.all and start - began > options.within:
            say(f"==== {label}: not begun within {options.within} s")
            passed, failed = 0, 1
        elif name and not folder:
            say(f"==== {label}: its build failed")
            passed, failed = 0, 1
        else:
            say(f"==== {label}")
            passed, failed = run_kind(kind, folder, server_options,
                                      GRACE_S * SLOWER.get(name, 1), options.all)
        table.append((label, passed, failed, time.monotonic() - start))
        total_passed += passed
        total_failed += failed

    say("")
    for label, passed, failed, spent in table:
        say(f"{label:24} {passed:6} passed {failed:5} failed {spent:7.1f} s")
    say(f"{'with all builds':24} {'':27} {time.monotonic() - began:7.1f} s")
    say(f"{total_passed} passed, {total_failed} failed")
    return 1 if total_failed or not total_passed else 0


def reap_orphans():
    """The first process of a container inherits every orphan and has to bury it: a daemon that a test
    has ended would else never be gone. So the work is done by a child."""
    worker = os.fork()
    if worker == 0:
        return
    while True:
        pid, status = os.wait()
        if pid == worker:
            sys.exit(os.waitstatus_to_exitcode(status) & 0xff)


if __name__ == "__main__":
    if os.getpid() == 1:
        reap_orphans()
    sys.exit(main())
