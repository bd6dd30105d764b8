"""Whether the README's claims and CLAIMS.md agree, with each other and with what
the commands print now.

    claims_test.py BUILD_DIRECTORY
"""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = pathlib.Path(sys.argv[1]).resolve()
KINDS = {"now", "test", "bench", "machine"}
FIGURE = r"[-+]?(?:0x[0-9a-f]+|[0-9][0-9.,:]*[0-9x]|[0-9])(?:-0x[0-9a-f]+)?"
failures = []


def plain(text):
    """One line, one space, no marks of code."""
    return " ".join(text.replace("`", "").split())


def rows(text):
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 3:
            yield plain(cells[0]), cells[1].strip("`"), cells[2]


def exists(command, tests):
    """Why there is no such command, or nothing."""
    words = command.split()
    if words[0] == "ctest":
        if not re.search(words[-1], tests):
            return f"no test matches {words[-1]}"
    elif words[0] == "thermocline":
        return None if (BUILD / "bin/thermocline").exists() else "not built"
    elif not (ROOT / (words[1] if words[0] == "sh" else words[0])).exists():
        return "no such file"


def printed(command):
    words = command.split()
    if words[0] == "thermocline":
        words[0] = str(BUILD / "bin/thermocline")
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        failures.append(f"{command}: status {done.returncode}: {done.stderr.strip()}")
    return plain(done.stdout)


def main():
    readme = plain((ROOT / "README.md").read_text())
    claims = (HERE / "CLAIMS.md").read_text()
    job = plain(re.search(r"^`JOB`: `(.*?)`$", claims, re.M | re.S).group(1))
    tests = subprocess.run(["ctest", "-N"], cwd=BUILD, capture_output=True,
                           text=True).stdout
    covered, output = [], {}
    found = list(rows(claims))
    for claim, command, kind in found:
        if kind not in KINDS:
            failures.append(f"{claim}: the kind is {kind}, none of {sorted(KINDS)}")
        command = job if command == "JOB" else command
        match = re.search(re.escape(claim).replace(r"\#", FIGURE), readme)
        if not match:
            failures.append(f"the README does not say: {claim}")
            continue
        covered.append(match.span())
        why = exists(command, tests)
        if why:
            failures.append(f"{claim}: {command}: {why}")
        elif kind == "now":
            if command not in output:
                output[command] = printed(command)
            if "#" in claim and match.group() not in output[command]:
                failures.append(f"the README says \"{match.group()}\", but now {command} "
                                f"prints \"{output[command]}\"")
    # Measurements: figures with a unit.
    for match in re.finditer(r"(?<![\w=.])[0-9][0-9.]* ?(?:s|ms|µs|us|%|MiB|min)(?![\w.])",
                             readme):
        if not any(start <= match.start() < end for start, end in covered):
            around = readme[max(0, match.start() - 40):match.end() + 20]
            failures.append(f"no row of CLAIMS.md has \"{match.group()}\" (... {around} ...)")
    if failures:
        sys.exit("\n".join(failures) + f"\nclaims_test: {len(failures)} failures")
    now = sum(kind == "now" for _, _, kind in found)
    print(f"claims_test: {len(found)} claims, {now} of them looked at now")


main()
