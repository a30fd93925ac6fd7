"""Starts a server of its own for a test: on a free port, in a folder of its own, ended by its pid."""

import glob
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from support.resp import Closed, Connection, NoReply

START_SECONDS = 60  # a sanitizer build with many shards on a busy machine takes its time
STOP_SECONDS = 60
LOG_TAIL_BYTES = 4000
SANITIZERS = ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")
PORT_TRIES = 5


def free_port():
    """A port that was free a moment ago; never the default one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A running server. `program` is sherd or redis-server; both take the same options.

    `launcher` is a command that becomes the program it is given, after setting up what surrounds it.

    `faults` lists what went wrong with the process itself: an exit that nobody asked for, a status
    other than 0, a report of a sanitizer. A test that passes with faults has failed.
    """

    def __init__(self, program, *options, name=None, launcher=()):
        self.program = program
        self.name = name or os.path.basename(program)
        self.launcher = [str(word) for word in launcher]
        self.options = [str(option) for option in options]
        self.folder = tempfile.mkdtemp(prefix="sherd-test-")
        self.faults = []
        self.process = None
        self.is_stopped = False
        for attempt in range(PORT_TRIES):
            self.port = free_port()
            if self.start():
                return
        raise RuntimeError("%s does not start:\n%s" % (self.name, self.log_tail()))

    def start(self):
        """Starts the process and waits for PING; False when the port was taken meanwhile."""
        command = self.launcher + [self.program, "--port", str(self.port), "--bind", "127.0.0.1"]
        command += ["--dir", self.folder, "--save", ""] + self.options
        environment = dict(os.environ)
        for variable in SANITIZERS:
            report = "log_path=" + os.path.join(self.folder, "sanitizer")
            given = environment.get(variable, "")
            environment[variable] = given + ":" + report if given else report
        with open(self.log_path(), "ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
            )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                if b"in use" in self.log():
                    return False
                raise RuntimeError(
                    "%s ended at once, status %s\n%s"
                    % (" ".join(command), self.process.returncode, self.log_tail())
                )
            try:
                connection = Connection(self.port, timeout=2)
            except OSError:
                time.sleep(0.02)
                continue
            try:
                answer = connection.command("PING")
                if answer.value == b"PONG" or answer.value.startswith(b"NOAUTH"):
                    return True
            except (Closed, NoReply):
                time.sleep(0.05)
            finally:
                connection.close()
        self.process.kill()
        self.process.wait()
        raise RuntimeError("%s does not answer PING\n%s" % (" ".join(command), self.log_tail()))

    # ---- what it says

    def log_path(self):
        return os.path.join(self.folder, "log")

    def log(self):
        with open(self.log_path(), "rb") as log:
            return log.read()

    def log_tail(self):
        return self.log()[-LOG_TAIL_BYTES:].decode("utf-8", "replace")

    def is_alive(self):
        return self.process.poll() is None

    def connect(self, timeout=5.0):
        return Connection(self.port, timeout=timeout)

    # ---- the end

    def stop(self):
        """Ends the process with SIGTERM, collects its faults and gives them."""
        self.is_stopped = True
        if self.is_alive():
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.faults.append("%s does not end on SIGTERM" % self.name)
                self.process.kill()
                self.process.wait()
        elif self.process.returncode == 0:
            self.faults.append("%s has ended by itself" % self.name)
        if self.process.returncode != 0:
            self.faults.append(
                "%s ended with status %s\n%s"
                % (self.name, self.process.returncode, self.log_tail())
            )
        for path in sorted(glob.glob(os.path.join(self.folder, "sanitizer*"))):
            with open(path, errors="replace") as report:
                self.faults.append("%s: report of a sanitizer\n%s" % (self.name, report.read()))
        if not self.faults:
            shutil.rmtree(self.folder, ignore_errors=True)
        return self.faults

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
