"""Bad command lines and bad files, for every command: what it says.

    messages_test.py BIN_DIRECTORY

A refusal is one line on standard error. It names the thing, and the remedy;
what came of it is in the exit status: 2 for a wrong command line, 1 when the
world was in the way. Nothing is written. That all commands speak alike is
alike_test.py's.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BIN = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SMALL = str(ROOT / "traces/samples/small.trace")
failures = []

LINE, WORLD = 2, 1
# Words, status, what is named, the remedy.
TABLE = [
    ("", LINE, "no command", "thermocline --help"),
    ("evaluat x", LINE, '"evaluat"', 'did you mean "evaluate"?'),
    ("xyzzy", LINE, '"xyzzy"', "thermocline --help"),
    # Wrong words: each says where to look.
    ("evaluate", LINE, "traces is required", "thermocline evaluate --help"),
    ("evaluate SMALL --fast-shar 1", LINE, "--fast-shar", '"--fast-share"?'),
    ("evaluate SMALL --steps x", LINE, "--steps", "1 to 100000"),
    ("evaluate SMALL --fast-share 2", LINE, "--fast-share 2", "shares from 0 to 1"),
    ("evaluate SMALL --policies nosuch", LINE, '"nosuch"', "there are:"),
    ("evaluate SMALL --policies ,", LINE, 'no policy named ""', "there are:"),
    ("evaluate SMALL --options {", LINE, "--options {", '"POLICY"'),
    ("evaluate SMALL --policies deeptm --options {\"deeptm\":{\"nope\":1}}", LINE,
     '"nope"', "thermocline list"),
    ("evaluate SMALL --tuned no.json", LINE, "no.json", "thermocline tune"),
    ("evaluate SMALL --tuned half.json", LINE, "half.json", "-o"),
    ("evaluate SMALL --policies learned --agent no.pt", LINE, "no.pt", "check its name"),
    ("estimate", LINE, "--slow", "thermocline estimate --help"),
    ("estimate --fast SMALL", LINE, "--sweep", "thermocline estimate --help"),
    ("estimate --fast SMALL --sweep abc", LINE, "--sweep abc", "fast=FROM..TO%"),
    ("estimate --fast SMALL --policy nosuch", LINE, '"nosuch"', "there are:"),
    ("estimate --fast SMALL --policy deeptm --options {", LINE, "options", "VALUE"),
    ("estimate --fast SMALL --sweep fast=0..100% --windows -4", LINE, "--windows",
     "1 to 100000"),
    ("estimate --fast SMALL --agent a.pt --policy deeptm", LINE, "--agent",
     "leave one of them out"),
    ("report", LINE, "traces is required", "thermocline report --help"),
    ("report SMALL SMALL SMALL", LINE, "one job", "give one trace"),
    ("job", LINE, "subcommand", "thermocline job --help"),
    ("job run", LINE, "command", "thermocline job run --help"),
    ("tune SMALL", LINE, "--output", "thermocline tune --help"),
    ("record -o x.trace", LINE, "command", "thermocline record --help"),
    ("record -- true", LINE, "--output", "thermocline record --help"),
    ("run", LINE, "command", "thermocline run --help"),
    ("run --agent a.pt --policy deeptm -- true", LINE, "--agent", "leave one"),
    ("run --tuned half.json -- true", LINE, "half.json", "-o"),
    ("export SMALL", LINE, "--csv", "--json"),
    ("export SMALL --csv --what nothing", LINE, "nothing", "samples"),
    ("import", LINE, "file is required", "thermocline import --help"),
    ("import there.txt -o x.trace --pid x", LINE, "--pid", "thermocline import --help"),
    ("thin SMALL -o x.trace --every 0", LINE, "--every", "1 to 1000000"),
    ("info", LINE, "file is required", "thermocline info --help"),
    ("list extra", LINE, "extra", "thermocline list --help"),
    ("doctor extra", LINE, "extra", "thermocline doctor --help"),
    ("probe --from nowhere", LINE, "nowhere", "hmat"),
    ("probe --repeats 0", LINE, "--repeats", "1 to 1000"),
    ("query", LINE, "required", "thermocline query --help"),
    ("query explain", LINE, "explain", "0x7f"),
    ("attach", LINE, "pid is required", "thermocline attach --help"),
    ("detach", LINE, "pid is required", "thermocline detach --help"),
    ("policy deeptm --options {", LINE, "--options {", "JSON object"),
    ("budget lots", LINE, "lots", "--help"),
    ("guard thrashing maybe", LINE, "maybe", "--help"),
    ("guard thrashing", LINE, "guard thrashing", "on or off"),
    ("pause now", LINE, "now", "thermocline pause --help"),
    ("resume now", LINE, "now", "thermocline resume --help"),
    ("top --nosuch", LINE, "--nosuch", "thermocline top --help"),
    ("watch --nosuch", LINE, "--nosuch", "thermocline watch --help"),
    ("keygen a b", LINE, "b", "thermocline keygen --help"),
    ("checkpoint", LINE, "subcommand", "thermocline checkpoint --help"),
    ("checkpoint list", LINE, "pool is required", "thermocline checkpoint list --help"),
    ("checkpoint export pool", LINE, "--output", "--help"),
    ("completion ksh", LINE, "ksh", "bash"),
    ("train SMALL", LINE, "--output", "--help"),
    ("train -o a.pt SMALL --seed x", LINE, "--seed", "--help"),
    # The world: files that are not there, are something else, or are damaged.
    ("evaluate no.trace", WORLD, "no.trace", "check its name"),
    ("evaluate there.txt", WORLD, "there.txt", "thermocline record"),
    ("evaluate SMALL --machine no.json", WORLD, "no.json", "thermocline probe"),
    ("evaluate SMALL --machine half.json", WORLD, "half.json", "thermocline probe"),
    ("estimate --slow no.trace --sweep fast=0..100%", WORLD, "no.trace", "check its name"),
    ("estimate --fast cut.trace --sweep fast=0..100%", WORLD, "cut.trace", "record it again"),
    ("estimate --fast SMALL --placement no.json", WORLD, "no.json", "check its name"),
    ("estimate --fast SMALL --placement half.json", WORLD, "half.json", "estimate --help"),
    ("report no.trace -o x.html", WORLD, "no.trace", "check its name"),
    ("report SMALL -o there.txt", WORLD, "there.txt", "--force"),
    ("tune SMALL -o there.txt", WORLD, "there.txt", "--force"),
    ("train SMALL -o there.txt", WORLD, "there.txt", "--force"),
    ("tune -o x.json no.trace", WORLD, "no.trace", "check its name"),
    ("tune SMALL -o x.json --policies first_touch", WORLD, "grid", "leave out --policies"),
    ("record -o there.txt --source none -- true", WORLD, "there.txt", "--force"),
    ("record -o x.trace --source none -- ./nosuch", WORLD, "./nosuch", "check the command"),
    ("record -o x.trace --source nosuch -- true", WORLD, "nosuch", "give perf"),
    ("record -o x.trace --machine no.json -- true", WORLD, "no.json", "thermocline probe"),
    ("run --machine no.json -- true", WORLD, "no.json", "thermocline probe"),
    ("run --policy nosuch -- true", WORLD, '"nosuch"', "there are:"),
    ("export no.trace --csv", WORLD, "no.trace", "check its name"),
    ("export SMALL --csv -o no/file", WORLD, "no/file", "make its folder"),
    ("export SMALL --csv -o there.txt", WORLD, "there.txt", "--force"),
    ("import no.data -o x.trace", WORLD, "no.data", "check its name"),
    ("import there.txt -o x.trace", WORLD, "there.txt", "--format"),
    ("import there.txt -o x.trace --format nope", WORLD, '"nope"', "there are:"),
    ("thin no.trace -o x.trace", WORLD, "no.trace", "check its name"),
    ("thin cut.trace -o x.trace", WORLD, "cut.trace", "record it again"),
    ("thin SMALL -o there.txt", WORLD, "there.txt", "--force"),
    ("info no.trace", WORLD, "no.trace", "check its name"),
    ("info there.txt", WORLD, "there.txt", "thermocline record"),
    ("info .", WORLD, ".", "name a trace file in it"),
    ("probe --nodes 999", WORLD, "999", "those that have"),
    ("probe -o there.txt", WORLD, "there.txt", "--force"),
    ("job status --socket none.sock", WORLD, "none.sock", "start one"),
    ("query status", WORLD, "socket", "start one"),
    ("attach 4194303", WORLD, "4194303", "ps or pgrep"),
    ("detach 1", WORLD, "socket", "start one"),
    ("policy", WORLD, "socket", "start one"),
    ("budget", WORLD, "socket", "start one"),
    ("guard", WORLD, "socket", "start one"),
    ("pause", WORLD, "socket", "start one"),
    ("resume", WORLD, "socket", "start one"),
    ("top --once", WORLD, "socket", "start one"),
    ("watch", WORLD, "socket", "start one"),
    ("query status --socket tcp://here:1 --keys nokeys", WORLD, "nokeys", "keygen"),
    ("keygen keys", WORLD, "keys", "remove it first"),
    ("checkpoint list no.pool", WORLD, "no.pool", "check its name"),
    ("checkpoint verify there.txt", WORLD, "there.txt", "not a"),
    ("checkpoint export no.pool -o x.pt", WORLD, "no.pool", "check its name"),
    ("train -o a.pt no.trace", WORLD, "no.trace", "check its name"),
    ("train -o no/a.pt SMALL", WORLD, "no/a.pt", "make its folder"),
]


def run(words, folder):
    env = dict(os.environ, THERMOCLINE_SOCKET=str(folder / "socket"))
    return subprocess.run([str(BIN / "thermocline"), *words], cwd=folder, env=env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60)


def check(ok, what):
    if not ok:
        failures.append(what)


def refusals(folder):
    (folder / "there.txt").write_text("hello\n")
    (folder / "half.json").write_text("{")
    (folder / "cut.trace").write_bytes(pathlib.Path(SMALL).read_bytes()[:1000])
    (folder / "keys").mkdir()
    (folder / "keys/public.key").write_text("key\n")
    before = sorted(folder.rglob("*"))
    for line, status, thing, remedy in TABLE:
        done = run([SMALL if word == "SMALL" else word for word in line.split()], folder)
        said = done.stderr.rstrip("\n")
        at = f"thermocline {line}\n    {done.returncode}: {said!r}"
        check(done.returncode == status, f"{at}\n    status should be {status}")
        # The daemon has its say before whoever started it.
        lines = [one for one in said.split("\n") if not one.startswith("thermoclined: ")]
        check(len(lines) <= 1 and said, f"{at}\n    not one line")
        check(said.startswith("thermocline"), f"{at}\n    does not say who speaks")
        check(thing in said, f"{at}\n    does not name {thing}")
        check(remedy in said, f"{at}\n    lacks the remedy: {remedy}")
        check(not said.endswith("."), f"{at}\n    ends with a full stop")
        check(not done.stdout, f"{at}\n    prints {done.stdout[:60]!r}")
    after = sorted(folder.rglob("*"))
    check(before == after, f"files came or went: {set(before) ^ set(after)}")


def every_command_is_here(folder):
    text = run(["--help"], folder).stdout
    commands = re.findall(r"^  ([a-z]+) ", text.split("Subcommands:")[1], re.M)
    check(len(commands) > 20, f"commands: {commands}")
    for name in commands:
        check(any(line.split()[:1] == [name] for line, *_ in TABLE),
              f"{name}: has no bad command line in this table")


with tempfile.TemporaryDirectory() as scratch:
    refusals(pathlib.Path(scratch))
    every_command_is_here(pathlib.Path(scratch))
if failures:
    sys.exit("\n".join(failures) + f"\nmessages_test: {len(failures)} failures")
print(f"messages_test: {len(TABLE)} bad command lines")
