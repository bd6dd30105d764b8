"""Moves without end: a program that decides, and jobs that notice a wrong byte.

The program (policy `external`) wants all of a job's memory in one tier and, when
it is there, in the other, so that a batch is on its way nearly always.
"""
import json
import re
import subprocess
import threading

import zmq

# They would rest from moving back and forth, which is what is wanted here.
WITHOUT = ["residence", "ping_pong", "no_payback", "needless", "slowdown",
           "thrashing", "pressure", "oom_margin"]


def bytes_of(objects):
    return sum(one["bytes"] for one in objects)


class BackAndForth(threading.Thread):
    """`wanted` is the tier of its last answer."""

    def __init__(self, context, endpoint):
        super().__init__(daemon=True)
        self.endpoint = endpoint
        self.socket = context.socket(zmq.REP)
        self.socket.bind(endpoint)
        self.wanted = 0
        self.turns = 0

    def run(self):
        known = {}
        while True:
            asked = json.loads(self.socket.recv())
            if asked["full"]:
                known.clear()
            for one in asked["objects"]:
                known[one["id"]] = one
            movable = [one for one in known.values() if one["movable"]]
            away = [one for one in movable if one["tier"] != self.wanted]
            # Some small thing may stay, whatever is asked of it.
            if movable and 50 * bytes_of(away) <= bytes_of(movable):
                self.wanted = 1 - self.wanted
                self.turns += 1
                away = [one for one in movable if one["tier"] != self.wanted]
            moves = [{"object": one["id"], "to": self.wanted}
                     for one in away]
            self.socket.send_string(json.dumps(
                {"v": 1, "seq": asked["seq"], "moves": moves}))


def daemon_that_moves(build, scratch, endpoint):
    """The command line of one that this program decides for."""
    options = {"endpoint": endpoint, "deadline_ms": 5000, "fallback": "first_touch"}
    command = [f"{build}/bin/thermoclined", "--socket", f"{scratch}/api.sock",
               "--interval", "50", "--budget", "64G",
               "--policy", "external", "--options", json.dumps(options)]
    for guard in WITHOUT:
        command += ["--without", guard]
    return command


class Job:
    """The checksumming target, on its own."""

    def __init__(self, program, mib):
        self.process = subprocess.Popen([program, str(mib)], text=True,
                                        stdout=subprocess.PIPE)
        words = self.process.stdout.readline().split()
        self.pid, self.memory, self.bytes = map(int, words[1:])

    def pages_by_node(self):
        """Of the memory that is verified, as the kernel has it."""
        pages = {}
        with open(f"/proc/{self.pid}/numa_maps") as file:
            for line in file:
                start = int(line.split()[0], 16)
                if self.memory <= start < self.memory + self.bytes:
                    for node, count in re.findall(r" N(\d+)=(\d+)", line):
                        pages[int(node)] = pages.get(int(node), 0) + int(count)
        return pages

    def verdict(self):
        """Pages verified, words wrong, exit status."""
        self.process.terminate()
        text = self.process.communicate(timeout=120)[0]
        found = re.findall(r"(?:verified|wrong) (\d+)", text)
        return int(found[0]), int(found[1]), self.process.returncode
