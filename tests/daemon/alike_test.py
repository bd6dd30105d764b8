"""All commands speak alike: help, options, JSON, exit codes, units, words.

    alike_test.py BIN_DIRECTORY

The commands are found as --help shows them, so a new one is looked at, too. One
that knows --json is run in earnest, both ways: what it prints is one document
(a stream: one a line), with keys and units as everywhere; as text, too. What
they say when they refuse, messages_test.py looks at.
"""
import contextlib
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

BIN = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SMALL = str(ROOT / "traces/samples/small.trace")
HELD_OUT = str(ROOT / "traces/samples/held_out/kmeans")
PAIR = [f"{HELD_OUT}.slow.trace", f"{HELD_OUT}.fast.trace"]
failures = []

# How each is run; what needs a daemon or a pool finds one.
RUNS = {
    "list": [],
    "doctor": [],
    "info": [SMALL],
    "export": [SMALL, "--what", "tensors"],
    "import": ["some.lackey", "-o", "imported.trace", "--force", "--quiet"],
    "record": ["-o", "a.trace", "--force", "--quiet", "--source", "none", "--", "true"],
    "run": ["--policy", "first_touch", "--machine", "two.json", "--mover", "dry",
            "--source", "none", "--", "true"],
    "probe": ["--quick", "--machine-only", "--time", "2", "--size", "4M", "--quiet"],
    "estimate": ["--slow", PAIR[0], "--fast", PAIR[1], "--sweep", "fast=0..100%"],
    "evaluate": [*PAIR, "--policies", "first_touch,histogram", "--fast-share", "0.5",
                 "--quiet"],
    "tune": [SMALL, "-o", "tuned.json", "--force", "--policies", "hottest_first",
             "--fast-share", "0.5", "--quiet"],
    "report": [SMALL, "--policies", "first_touch", "-o", "report.html", "--force",
               "--quiet"],
    "train": ["-o", "agent.pt", "--force", "--quiet", "--option", "episodes=2", *PAIR],
    "checkpoint list": ["pool", "--pieces"],
    "checkpoint verify": ["pool"],
    "query": ["status"],
    "policy": [],
    "budget": [],
    "guard": [],
    "pause": [],
    "resume": [],
    "top": ["--once"],
    "watch": [],
    "detach": ["OTHER"],
}
ANSWERS = ["status", "targets", "tiers", "heat", "policies", "history", "metrics",
           "plan", "version"]  # of query
# Whose JSON is looked at where there is something to ask.
ELSEWHERE = {"job status": "training/elastic/job_test.py",
             "job join": "training/elastic/job_test.py",
             "job leave": "training/elastic/job_test.py",
             "job stop": "training/elastic/job_test.py"}

# The same option has the same letter, the same kind of value...
SAME = {}
# ... but for these, which mean something else there.
OTHER = {("record", "--placement"), ("train", "--machine"), ("checkpoint export", "--format")}
# What the help of these says, whatever the command.
ABOUT = {
    "--quiet": ("-q,--quiet", r"^no progress"),
    "--json": ("--json", r"JSON|as it came|as they come|instead, times in nano"),
    "--force": ("--force", r"^replace an existing"),
    "--output": ("-o,--output", r"to write"),
}
# A word that stands for one of DESIGN's.
WORDS = {"hotness": "heat", "temperature": "heat",
         "migrated": "moved", "evicted": "moved", "memory level": "tier",
         "memory type": "tier", "bandwith": "bandwidth"}
# Sizes and rates of moves are binary; a memory's bandwidth is in GB/s, as all quote it.
UNITS = re.compile(r"[0-9] ?(?:KB|kB|MB|GB(?!/s)|TB|Kb|Mb|Gb|msec|usec|secs?|seconds?|µs)\b")
TIGHT = re.compile(r"(?<![\w.x:-])[0-9]+(?:\.[0-9]+)?(?:ns|us|ms|s|B|KiB|MiB|GiB|TiB)(?![\w-])")
KEY = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*$")
NO_UNIT = re.compile(r"(?:^|_)(?:time|latency|duration|elapsed|bandwidth|wall|uptime|age)$")
BAD_UNIT = re.compile(r"_(?:us|usec|msec|sec|secs|seconds|kb|mb|gb|kib|mib|gib|percent|pct)$")
# Keys below these are names: of policies.
NAMES = {"options", "policies"}


def check(ok, what):
    if not ok:
        failures.append(what)


def run(words, folder, **more):
    env = dict(os.environ, THERMOCLINE_SOCKET=str(folder / "api.sock"), COLUMNS="100")
    return subprocess.run([str(BIN / "thermocline"), *words], cwd=folder, env=env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120, **more)


@functools.cache
def help_of(*path):
    done = run([*path, "--help"], pathlib.Path("/"))
    check(done.returncode == 0 and not done.stderr, f"{path} --help: {done}")
    return done.stdout


def options_of(text):
    """{long name: (names and kind of value, help)}, of a --help."""
    found = {}
    text = text.partition("Options:")[2].partition("Subcommands:")[0]
    for match in re.finditer(r"^  (-\S+)(?: ([^\n]*?))?(?:\s{2,}|\n\s+)(\S[^\n]*(?:\n {20,}\S[^\n]*)*)",
                             text, re.M):
        names = match.group(1).split(",")
        found[names[-1]] = (match.group(1), match.group(2) or "",
                            " ".join(match.group(3).split()))
    return found


def commands(*path):
    """All commands that do something, as tuples of words."""
    part = help_of(*path).partition("Subcommands:")[2]
    names = re.findall(r"^  ([a-z][a-z_-]*)", part, re.M)
    return [path] if not names else [one for name in names for one in commands(*path, name)]


def looks_alike(path):
    text = help_of(*path)
    name = " ".join(path)
    check(re.search(r"^Usage: thermocline", text, re.M), f"{name} --help: no Usage")
    check(re.match(r"[A-Z]", text), f"{name} --help begins with {text[:30]!r}")
    found = options_of(text)
    check("--help" in found, f"{name} --help lacks itself: {sorted(found)}")
    for option, (names, value, about) in found.items():
        check(about, f"{name} {option}: no help")
        if option in ABOUT:
            spelled, wanted = ABOUT[option]
            check(names.startswith(spelled), f"{name}: {names}, elsewhere {spelled}")
            check(re.search(wanted, about), f"{name} {option}: {about!r}")
        if (name, option) in OTHER:
            continue
        kind = re.split(r"[=:\[]| REQUIRED| ?Excludes| ?Needs", value)[0].strip()
        first = SAME.setdefault(option, (name, names, kind))
        check(first[1:] == (names, kind),
              f"{option} is {first[1:]} in {first[0]}, {(names, kind)} in {name}")
    for word, ours in WORDS.items():
        check(word not in text.lower(), f"{name} --help: \"{word}\"; we say {ours}")
    check(not UNITS.search(text), f"{name} --help: {UNITS.findall(text)}")
    return "--json" in found


def keys_of(value, name=True):
    if isinstance(value, dict):
        for key, inside in value.items():
            if name:
                yield key, inside
            yield from keys_of(inside, key not in NAMES)
    elif isinstance(value, list):
        for one in value:
            yield from keys_of(one, name)


def speaks_json(name, text):
    try:
        document = json.loads(text)
    except ValueError as error:
        return check(False, f"{name} --json: {error}: {text[:200]!r}")
    check(isinstance(document, (dict, list)), f"{name} --json: {text[:60]!r}")
    for key, value in keys_of(document):
        if not KEY.match(key):
            check(False, f"{name} --json: the key {key!r}")
        for word, ours in WORDS.items():
            check(word not in key, f"{name} --json: {key!r}; we say {ours}")
        check(not BAD_UNIT.search(key), f"{name} --json: the unit of {key!r}")
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            check(not NO_UNIT.search(key), f"{name} --json: {key!r} without a unit")


def speaks_text(name, text):
    check(not UNITS.search(text), f"{name}: the unit of {UNITS.findall(text)}")
    check(not TIGHT.search(text), f"{name}: no space in {TIGHT.findall(text)}")
    check("\t" not in text and "\r" not in text, f"{name}: tabs, carriage returns")
    for line in text.splitlines():
        check(line == line.rstrip(), f"{name}: blanks at the end of {line!r}")


def both_ways(path, folder, other):
    name = " ".join(path)
    words = [other if word == "OTHER" else word for word in RUNS[name]]
    at = words.index("--") if "--" in words else len(words)
    spelled = [*path, *words[:at], "--json", *words[at:]]
    text = [word for word in spelled if word != "--json"]
    if name == "export":
        text += ["--csv"]
    for words in (spelled, text):
        if name == "watch":
            said = first_lines(words, folder)
        else:
            if name == "detach":
                attached = run(["attach", other], folder)
                check(attached.returncode == 0, f"attach: {attached.stderr!r}")
            done = run(words, folder)
            check(done.returncode == 0, f"{' '.join(words)}: {done.returncode}: {done.stderr!r}")
            said = [done.stdout]
        for one in said:
            (speaks_json if "--json" in words else speaks_text)(name, one)


def first_lines(words, folder):
    env = dict(os.environ, THERMOCLINE_SOCKET=str(folder / "api.sock"))
    with subprocess.Popen([str(BIN / "thermocline"), *words], cwd=folder, env=env,
                          stdout=subprocess.PIPE, text=True) as watching:
        lines = [watching.stdout.readline() for _ in range(3)]
        watching.terminate()
    check(all(lines), f"{words}: {lines}")
    return [line.rstrip("\n") for line in lines]


@contextlib.contextmanager
def daemon(folder):
    """thermoclined beside a job. Gives the pid of another, which it does not manage."""
    (folder / "two.json").write_text(json.dumps({"name": "two", "tiers": [
        {"name": name, "nodes": [node], "capacity": 1 << 30, "read_ns": ns, "write_ns": ns,
         "read_bytes_per_s": 1e10, "write_bytes_per_s": 1e10}
        for name, node, ns in (("near", 0, 80), ("far", 63, 300))]}))
    jobs = [subprocess.Popen(["sleep", "600"]) for _ in range(2)]
    serving = subprocess.Popen(
        [BIN / "thermoclined", "--pid", str(jobs[0].pid), "--machine", folder / "two.json",
         "--mover", "dry", "--policy", "hottest_first", "--interval", "50",
         "--socket", folder / "api.sock"], stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            if run(["query", "status"], folder).returncode == 0:
                break
            time.sleep(0.1)
        yield str(jobs[1].pid)
    finally:
        serving.terminate()
        serving.wait(30)
        for job in jobs:
            job.kill()
            job.wait()


def pool(folder):
    """A pool with a checkpoint of two pieces."""
    code = ("import sys; sys.path.insert(0, sys.argv[1]); import torch, thermocline_checkpoint as c\n"
            "pool = c.Pool(sys.argv[2], slot_bytes=1 << 20)\n"
            "pool.save({'a': torch.ones(4), 'b': torch.zeros(2, 3)}, 3)\n")
    done = subprocess.run(
        ["/usr/bin/python3", "-c", code, ROOT / "training", folder / "pool"],
        env=dict(os.environ, THERMOCLINE_CHECKPOINT_LIBRARY=str(
            BIN.parent / "lib/libthermocline_checkpoint.so")),
        capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def main():
    every = commands()
    check(len(every) > 25, f"commands: {every}")
    speaking = [path for path in every if looks_alike(path)]
    missing = {" ".join(path) for path in speaking} - set(RUNS) - set(ELSEWHERE)
    check(not missing, f"know --json, and are not run here: {missing}")
    silent = set(RUNS) - {" ".join(path) for path in speaking}
    check(not silent, f"print, and know no --json: {silent}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "some.lackey").write_text(" L 7f000000,8\n S 7f000040,8\n" * 64)
        pool(folder)
        with daemon(folder) as other:
            for path in speaking:
                if " ".join(path) in RUNS:
                    both_ways(path, folder, other)
            for answer in ANSWERS:
                for words in (["query", answer, "--json"], ["query", answer]):
                    done = run(words, folder)
                    if done.returncode and answer == "plan":
                        continue  # there is none
                    check(done.returncode == 0, f"{words}: {done.stderr}")
                    if "--json" in words:
                        speaks_json(f"query {answer}", done.stdout)
                    elif answer != "metrics":
                        speaks_text(f"query {answer}", done.stdout)
    if failures:
        sys.exit("\n".join(dict.fromkeys(failures)) + f"\nalike_test: {len(failures)} failures")
    print(f"alike_test: {len(every)} commands, {len(speaking)} of them with --json")


main()
