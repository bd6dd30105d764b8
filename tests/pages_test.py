"""Whether the commands that pages show exist, with the options that they show.

    pages_test.py BUILD_DIRECTORY

Every `thermocline COMMAND ... --option` and `thermoclined --option` in a code
span or block of any page. Those in ```sh blocks are run besides: readme.sh.
"""
import functools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = pathlib.Path(sys.argv[1]).resolve() / "bin"
OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")
failures = []


@functools.cache
def help_of(*words):
    done = subprocess.run([BIN / words[0], *words[1:], "--help"],
                          capture_output=True, text=True, timeout=60)
    return done.stdout if done.returncode == 0 else None


@functools.cache
def subcommands(*words):
    part = (help_of(*words) or "").partition("Subcommands:")[2]
    return set(re.findall(r"^  ([a-z][\w-]*)", part, re.M))


@functools.cache
def options(*words):
    known = set(OPTION.findall(help_of(*words) or ""))
    return known.union(*(options(*words, sub) for sub in subcommands(*words)))


def code(text):
    """Spans and lines of code, each on one line, with continued lines joined."""
    text = text.replace("\\\n", " ")
    for block in re.findall(r"^```.*?\n(.*?)^```", text, re.M | re.S):
        yield from block.splitlines()
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    for line in text.splitlines():
        if line.startswith("    ") or line.startswith("\t"):
            yield line
    for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", text):
        yield " ".join(span.split())


def commands(line):
    """What is ours of a line of shell: words up to what belongs to a job."""
    line = re.sub(r"\"[^\"]*\"|'[^']*'", "QUOTED", line)
    for found in re.finditer(r"(?:^|[\s/$(])(thermoclined?)((?: [^;|&#)]*)?)", line):
        rest = found.group(2)
        if line[found.end():found.end() + 1] == "|" and re.search(r"[a-z]$", rest):
            rest += line[found.end():].split("#")[0]  # list|verify|export
        yield [found.group(1)] + rest.split(" -- ")[0].split()


def check(page, words):
    program, *rest = words
    where = f"{page}: {' '.join(words)}"
    path = [program]
    if program == "thermocline" and rest and re.fullmatch(r"[a-z][a-z|-]*[,.]?", rest[0]):
        names = rest[0].rstrip(",.").split("|")
        for name in names:
            if name not in subcommands(program):
                failures.append(f"{where}: there is no command {name}")
                return 0
        path.append(names[0])
        nested = subcommands(*path)
        if nested and len(rest) > 1 and re.fullmatch(r"[a-z][a-z|-]*", rest[1]):
            for name in rest[1].split("|"):
                if name not in nested:
                    failures.append(f"{where}: {path[-1]} has no {name}")
    elif rest and not rest[0].startswith(("-", "[")):
        return 0  # prose, a log line, another's file
    known = options(*path) | {"--help", "--version"}
    for word in rest:
        for option in OPTION.findall(word.split("=")[0]) if word[0] in "-[(" else []:
            if option not in known and option[:2] not in known:
                failures.append(f"{where}: {' '.join(path)} knows no {option}")
    return 1


def main():
    count = 0
    for page in sorted(ROOT.rglob("*.md")):
        name = page.relative_to(ROOT)
        if "build" in name.parts:
            continue
        for line in code(page.read_text()):
            for words in commands(line):
                count += check(name, words)
    for line in sorted(set(failures)):
        print("pages_test:", line, file=sys.stderr)
    if failures or count < 50:
        sys.exit(f"pages_test: {count} commands, {len(set(failures))} of them wrong")
    print(f"pages_test: {count} commands in pages, all known")


main()
