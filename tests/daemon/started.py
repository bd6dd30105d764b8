"""A thermoclined of a script's own: started, and asked from outside."""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "daemon"))
import thermocline  # noqa: E402


def start(words, **popen):
    """The process, whether it said that it is ready, and seconds until then."""
    read, write = os.pipe()
    began = time.monotonic()
    daemon = subprocess.Popen([*words, "--ready-fd", str(write)],
                              pass_fds=[write], **popen)
    os.close(write)
    ready = os.read(read, 16) == b"ready\n"
    took = time.monotonic() - began
    os.close(read)
    return daemon, ready, took


def status(path, timeout_s):
    """What it says of itself. Raises TimeoutError when it says nothing."""
    with thermocline.Daemon(path, timeout_s) as daemon:
        return daemon.ask("status")
