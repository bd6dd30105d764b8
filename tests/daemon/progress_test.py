"""Progress on a terminal and elsewhere, and Ctrl-C.

    progress_test.py BIN_DIRECTORY
"""
import fcntl
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
        while self.read(60):
            pass
        return self.process.wait(60)


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
    running.process.send_signal(signal.SIGINT)
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
        running.process.send_signal(signal.SIGINT)
        status = running.end()
        assert status in (0, 130), (status, running.said)
        assert out.exists() == (status == 0), running.said
        assert status == 0 or b"was removed" in running.said, running.said


with tempfile.TemporaryDirectory() as scratch:
    for test in (reads_a_pipe_and_is_stopped, shows_a_bar_for_what_takes_long,
                 half_an_export_is_removed):
        test(pathlib.Path(scratch))
        print("progress_test:", test.__name__.replace("_", " "))
