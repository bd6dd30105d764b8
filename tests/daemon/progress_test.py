"""Progress on a terminal and elsewhere, and Ctrl-C.

    progress_test.py BIN_DIRECTORY
"""
import fcntl
import json
import os
import pathlib
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

THERMOCLINE = str(pathlib.Path(sys.argv[1]).resolve() / "thermocline")
LINE = b" L 7f0000%06x,8\n S 7f0000%06x,8\n"


class OnTerminal:
    """A command whose standard error is a terminal of 100 columns."""

    def __init__(self, *words):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        self.process = subprocess.Popen([THERMOCLINE, *map(str, words)], stderr=theirs,
                                        stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL)
        os.close(theirs)
        self.terminal = ours
        self.said = b""

    def press_ctrl_c(self):
        self.process.send_signal(signal.SIGINT)

    def read(self, seconds):
        """False at the end."""
        if not select.select([self.terminal], [], [], seconds)[0]:
            return True
        try:
            more = os.read(self.terminal, 65536)
        except OSError:  # its other end is closed
            more = b""
        self.said += more
        return bool(more)

    def wait_for(self, text, seconds=60):
        end = time.monotonic() + seconds
        while text not in self.said:
            assert time.monotonic() < end, (text, self.said)
            if not self.read(0.2):
                return text in self.said
        return True

    def end(self):
        end = time.monotonic() + 60
        while self.read(1):
            assert time.monotonic() < end, self.said
        return self.process.wait(60)


class InTheForeground(OnTerminal):
    """A command with a terminal of its own, whose keys go to all that it runs."""

    def __init__(self, *words):
        ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [THERMOCLINE, *map(str, words)], stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(theirs)
        self.terminal = ours
        self.said = b""

    def press_ctrl_c(self):
        os.write(self.terminal, b"\x03")


# Hears Ctrl-C as well, and takes a moment to end. It waits for the signal by
# name: Python's own handler may run just before a sleep, which then goes on.
JOB = ["--", "/usr/bin/python3", "-c", """
import signal, sys, time
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
print('job: runs', flush=True)
signal.sigwait({signal.SIGINT})
time.sleep(0.5)
print('job: stopped', flush=True)
sys.exit(7)"""]


def a_recorded_job_is_stopped(folder):
    """The job hears it from the terminal, ends as it likes; the trace is whole."""
    out = folder / "stopped_job.trace"
    running = InTheForeground("record", "--source", "none", "-o", out, *JOB)
    assert running.wait_for(b"job: runs"), running.said
    running.press_ctrl_c()
    assert running.end() == 7, running.said  # the job's own status
    assert running.said.count(b"job: stopped") == 1, running.said
    told = subprocess.run([THERMOCLINE, "info", out, "--json"], capture_output=True)
    assert told.returncode == 0, told
    assert json.loads(told.stdout)["exit_status"] == 7, told.stdout


def a_job_beside_a_daemon_is_stopped(folder):
    """Both end, the job first; nobody is left, nor a socket."""
    socket = folder / "run.sock"
    running = InTheForeground("run", "--policy", "first_touch", "--source", "none",
                              "--socket", socket, *JOB)
    assert running.wait_for(b"job: runs"), running.said
    running.press_ctrl_c()
    assert running.end() == 7, running.said
    assert running.said.count(b"job: stopped") == 1, running.said
    assert not socket.exists(), running.said
    left = [path for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")
            if str(socket).encode() in said_by(path)]
    assert not left, left


def said_by(path):
    try:
        return path.read_bytes()
    except OSError:  # it ended
        return b""


def reads_a_pipe_and_is_stopped(folder):
    """How much there will be nobody knows; a reader that waits hears Ctrl-C."""
    fifo, out = folder / "fifo", folder / "stopped.trace"
    os.mkfifo(fifo)
    running = OnTerminal("import", "--format", "lackey", fifo, "-o", out)
    writer = os.open(fifo, os.O_WRONLY)
    number = 0
    while b"/s" not in running.said:
        number += 1
        os.write(writer, LINE % (number % 4096 * 64, number % 4096 * 64) * 64)
        running.read(0.01)
        assert number < 10000, running.said
    assert b"reading" in running.said, running.said
    running.press_ctrl_c()
    status = running.end()
    os.close(writer)
    assert status == 130, (status, running.said)
    assert b"stopped while reading" in running.said, running.said
    assert not out.exists()


def shows_a_bar_for_what_takes_long(folder):
    """A file as large as it takes until there is something to show."""
    source, out = folder / "long.lackey", folder / "long.trace"
    block = b"".join(LINE % (i * 64, i * 64) for i in range(4096))
    for megabytes in (16, 64, 256):
        with open(source, "wb") as file:
            for _ in range(megabytes * 1000000 // len(block)):
                file.write(block)
        running = OnTerminal("import", "--force", source, "-o", out)
        bar = running.wait_for(b" left, ")
        assert running.end() == 0, running.said
        if bar:
            break
    lines = [line for line in running.said.split(b"\r") if b" left, " in line]
    assert lines and b"[" in lines[0] and b" %" in lines[0], running.said
    assert b"/s: reading" in lines[-1], lines[-1]
    assert all(len(line) <= 103 for line in lines), lines  # 99 and what clears
    quiet = OnTerminal("import", "--force", "--quiet", source, "-o", out)
    assert quiet.end() == 0 and quiet.said == b"", quiet.said
    elsewhere = subprocess.run([THERMOCLINE, "thin", out, "-o", folder / "thin.trace"],
                               capture_output=True)
    assert elsewhere.returncode == 0, elsewhere
    assert b"\r" not in elsewhere.stderr and elsewhere.stderr.count(b"\n") == 1


def half_an_export_is_removed(folder):
    """Stopped while it writes; the file would pass for a whole one."""
    out = folder / "all.csv"
    running = OnTerminal("export", folder / "long.trace", "--csv", "-o", out)
    if running.wait_for(b"writing"):
        running.press_ctrl_c()
        status = running.end()
        assert status in (0, 130), (status, running.said)
        assert out.exists() == (status == 0), running.said
        assert status == 0 or b"was removed" in running.said, running.said


with tempfile.TemporaryDirectory() as scratch:
    for test in (reads_a_pipe_and_is_stopped, shows_a_bar_for_what_takes_long,
                 half_an_export_is_removed, a_recorded_job_is_stopped,
                 a_job_beside_a_daemon_is_stopped):
        test(pathlib.Path(scratch))
        print("progress_test:", test.__name__.replace("_", " "))
