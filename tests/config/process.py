"""Settings of the process: daemon, pid file, supervisor, title, commands, ports, shutdown."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from support.resp import Closed, Connection, NoReply, encode
from support.server import START_SECONDS, STOP_SECONDS, Server, free_port


class Fault(Exception):
    """What went wrong."""


def expect(is_right, what):
    if not is_right:
        raise Fault(what)


def wait_until(is_true, what, seconds=START_SECONDS):
    deadline = time.monotonic() + seconds
    while not is_true():
        expect(time.monotonic() < deadline, what)
        time.sleep(0.02)


def is_gone(pid):
    return not os.path.exists("/proc/%d" % pid)


def text_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def daemon(given, folder, *options):
    command = [given.sherd, "--daemonize", "yes", "--bind", "127.0.0.1", "--dir", folder, "--save", ""]
    command += ["--pidfile", "pid", "--logfile", "log", *given.server_options, *options]
    return subprocess.run(command, cwd=folder, capture_output=True, timeout=START_SECONDS, check=False)


# ---- One function a case; its name says what must be so.


def a_daemon_serves_when_its_parent_ends_and_takes_its_pid_file_away(given, folder):
    port = free_port()
    ended = daemon(given, folder, "--port", str(port))
    expect(ended.returncode == 0, "status %d\n%s" % (ended.returncode, ended.stderr.decode()))
    pid = int(text_of(folder + "/pid"))
    try:
        connection = Connection(port)
        expect(connection.command("PING").value == b"PONG", "it does not answer")
        expect(os.getsid(pid) == pid, "it has no session of its own")
        expect(os.readlink("/proc/%d/fd/1" % pid) == "/dev/null", "it keeps its starter's terminal")
        connection.close()
    finally:
        os.kill(pid, signal.SIGTERM)
    wait_until(lambda: is_gone(pid), "it does not end", STOP_SECONDS)
    expect(not os.path.exists(folder + "/pid"), "the pid file is left behind")
    expect("server.ready" in text_of(folder + "/log"), "the log is elsewhere")


def a_daemon_that_cannot_listen_ends_badly_and_leaves_no_pid_file(given, folder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ended = daemon(given, folder, "--port", str(taken.getsockname()[1]))
    expect(ended.returncode == 1, "status %d" % ended.returncode)
    expect(os.listdir(folder) == ["log"], "left behind: %r" % os.listdir(folder))
    expect("in use" in text_of(folder + "/log"), "the log does not say why")


def systemd_is_told_when_it_serves_and_when_it_stops(given, folder):
    path = folder + "/notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(path)
        supervisor.settimeout(START_SECONDS)
        os.environ["NOTIFY_SOCKET"] = path
        try:
            server = Server(given.sherd, "--supervised", "systemd", "--daemonize", "yes", *given.server_options)
        finally:
            del os.environ["NOTIFY_SOCKET"]
        expect(b"READY=1" in supervisor.recv(1000), "it is not ready")
        expect(server.is_alive(), "it has become a daemon under a supervisor")
        faults = server.stop()
        expect(not faults, faults)
        expect(supervisor.recv(1000) == b"STOPPING=1", "it does not say that it stops")


def its_title_is_what_the_template_makes(given, folder):
    template = "{title} at {port} {{x"
    with Server(given.sherd, "--proc-title-template", template, *given.server_options) as server:
        title = "/proc/%d/cmdline" % server.process.pid
        wanted = "%s at %d {x" % (given.sherd, server.port)
        expect(text_of(title).rstrip("\0") == wanted, repr(text_of(title)))
        reply = server.connect().command("CONFIG", "SET", "proc-title-template", "now {port}")
        expect(reply.value == b"OK", reply)
        expect(text_of(title).rstrip("\0") == "now %d" % server.port, repr(text_of(title)))


def renamed_commands_answer_to_their_new_name_only(given, folder):
    os.environ["SHERD_TEST_CONFIG"] = path = folder + "/x.conf"
    with open(path, "w", encoding="utf-8") as file:
        file.write('rename-command FLUSHALL wipe\nrename-command KEYS ""\n')
    launcher = ["sh", "-c", 'program=$1; shift; exec "$program" "$SHERD_TEST_CONFIG" "$@"', "sh"]
    with Server(given.sherd, *given.server_options, launcher=launcher) as server:
        connection = server.connect()
        expect(connection.command("WIPE").value == b"OK", "the new name is unknown")
        for name in b"FLUSHALL", b"KEYS":
            reply = connection.command(name, "*")
            expect(reply.raw.startswith(b"-ERR unknown command '" + name), reply)


def answers(port):
    try:
        connection = Connection(port, timeout=2)
        answer = connection.command("PING").value
        connection.close()
        return answer == b"PONG"
    except (OSError, Closed, NoReply):
        return False


def a_port_that_changes_is_open_at_once_and_the_old_one_closed(given, folder):
    with Server(given.sherd, "--shards", "4", *given.server_options) as server:
        connection, port = server.connect(), free_port()
        expect(connection.command("CONFIG", "SET", "port", port).value == b"OK", "it refuses")
        for _ in range(20):  # more than there are threads
            wait_until(lambda: answers(port), "the new port is closed")
        wait_until(lambda: not answers(server.port), "the old port is open")
        expect(connection.command("PING").value == b"PONG", "the old connection is gone")


def a_port_that_is_taken_is_refused_and_nothing_changes(given, folder):
    with Server(given.sherd, *given.server_options) as server, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        connection = server.connect()
        reply = connection.command("CONFIG", "SET", "timeout", 7, "port", taken.getsockname()[1])
        wanted = (b"-ERR CONFIG SET failed (possibly related to argument 'port') - Unable to listen on this "
                  b"port. Check server logs.\r\n")
        expect(reply.raw == wanted, reply)
        expect(connection.command("CONFIG", "GET", "timeout").plain() == [b"timeout", b"0"], "half of it was done")
        expect(answers(server.port), "the old port is closed")


def dir_changes_only_where_that_is_allowed(given, folder):
    with Server(given.sherd, *given.server_options) as server:
        reply = server.connect().command("CONFIG", "SET", "dir", "/")
        expect(b"can't set protected config" in reply.raw, reply)
    with Server(given.sherd, "--enable-protected-configs", "local", *given.server_options) as server:
        connection = server.connect()
        expect(connection.command("CONFIG", "SET", "dir", folder).value == b"OK", "it refuses")
        where = os.readlink("/proc/%d/cwd" % server.process.pid)
        expect(os.path.samefile(where, folder), where)
        reply = connection.command("CONFIG", "SET", "dir", "/", "timeout", "x")
        expect(reply.is_error(), reply)
        where = os.readlink("/proc/%d/cwd" % server.process.pid)
        expect(os.path.samefile(where, folder), "a refused change moved it to " + where)


def debug_needs_permission(given, folder):
    with Server(given.sherd, *given.server_options) as server:
        connection = server.connect()
        reply = connection.command("DEBUG", "SLEEP", "0")
        expect(reply.raw.startswith(b"-ERR DEBUG command not allowed. If the enable-debug-command"), reply)
        for words in [("MULTI",), ("DEBUG", "SLEEP", "0")]:
            connection.command(*words)
        reply = connection.command("EXEC")
        expect(b"OK" not in reply.raw, reply)
    with Server(given.sherd, "--enable-debug-command", "local", *given.server_options) as server:
        reply = server.connect().command("DEBUG", "SLEEP", "0")
        expect(reply.value == b"OK", reply)


def shutdown_ends_the_process_without_an_answer(given, folder):
    for words in ("SHUTDOWN",), ("SHUTDOWN", "NOSAVE", "NOW"), ("SHUTDOWN", "SAVE", "FORCE"):
        server = Server(given.sherd, *given.server_options)
        connection = server.connect()
        try:
            reply = connection.command(*words)
            raise Fault("it answers %r" % reply)
        except Closed:
            pass
        expect(server.process.wait(STOP_SECONDS) == 0, "status %d" % server.process.returncode)
        shutil.rmtree(server.folder, ignore_errors=True)


def shutdown_that_must_save_is_refused(given, folder):
    with Server(given.sherd, *given.server_options) as server:
        reply = server.connect().command("SHUTDOWN", "SAVE")
        expect(reply.raw.startswith(b"-ERR Errors trying to SHUTDOWN"), reply)
        expect(answers(server.port), "it has ended all the same")


def maxmemory_below_what_is_used_is_said(given, folder):
    with Server(given.sherd, "--maxmemory", "100kb", *given.server_options) as server:
        expect(server.log().count(b"maxmemory_below_use maxmemory=102400 ") == 1, server.log_tail())
        connection = server.connect()
        expect(connection.command("SET", "k", "v").raw.startswith(b"-OOM "), "it takes a SET")
        connection.command("CONFIG", "SET", "maxmemory", "100mb")
        connection.command("CONFIG", "SET", "maxmemory", "200kb", "timeout", "0")
        connection.command("CONFIG", "SET", "timeout", "1000")
        expect(server.log().count(b"maxmemory_below_use") == 2, server.log_tail())


def writes_are_refused_at_once(given, folder):
    """Under noeviction, on whatever shard a key lives, and in the same pipeline."""
    with Server(given.sherd, "--shards", "3", *given.server_options) as server:
        connection = server.connect()
        sets = [encode(["SET", "key:%d" % number, "v"]) for number in range(20)]
        for _ in range(3):
            connection.send(b"".join([encode(["CONFIG", "SET", "maxmemory", "1"]), *sets,
                                      encode(["CONFIG", "SET", "maxmemory", "0"]), *sets]))
            replies = [connection.reply().raw[:4] for _ in range(2 + 2 * len(sets))]
            wanted = [b"+OK\r"] + [b"-OOM"] * len(sets) + [b"+OK\r"] * (1 + len(sets))
            expect(replies == wanted, replies)


CASES = [
    a_daemon_serves_when_its_parent_ends_and_takes_its_pid_file_away,
    a_daemon_that_cannot_listen_ends_badly_and_leaves_no_pid_file,
    systemd_is_told_when_it_serves_and_when_it_stops,
    its_title_is_what_the_template_makes,
    renamed_commands_answer_to_their_new_name_only,
    a_port_that_changes_is_open_at_once_and_the_old_one_closed,
    a_port_that_is_taken_is_refused_and_nothing_changes,
    dir_changes_only_where_that_is_allowed,
    debug_needs_permission,
    shutdown_ends_the_process_without_an_answer,
    shutdown_that_must_save_is_refused,
    maxmemory_below_what_is_used_is_said,
    writes_are_refused_at_once,
]


def run(given, totals):
    for case in CASES:
        folder = tempfile.mkdtemp(prefix="sherd-test-")
        try:
            case(given, folder)
            totals.ok()
        except (Fault, RuntimeError, OSError, Closed, NoReply, subprocess.SubprocessError) as error:
            totals.fail(case.__name__.replace("_", " "), error)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
