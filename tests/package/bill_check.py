"""Checks a bill of materials from the outside: every package of bootstrap and
every library that the installed programs load by name is in it, with a reason,
and it has what CycloneDX asks for.

    bill_check.py BILL BUILD_DIRECTORY
"""
import json
import pathlib
import re
import subprocess
import sys

bill = json.loads(pathlib.Path(sys.argv[1]).read_text())
build = pathlib.Path(sys.argv[2])
root = pathlib.Path(__file__).resolve().parent.parent.parent
assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", bill["serialNumber"])

references, libraries, reasoned = {"thermocline"}, set(), set()
for part in bill["metadata"]["component"]["components"]:
    references.add(part["bom-ref"])
for part in bill["components"]:
    assert part["bom-ref"] not in references, part["bom-ref"] + " twice"
    references.add(part["bom-ref"])
    assert part["purl"].startswith("pkg:deb/debian/" + part["name"])
    for entry in part["properties"]:
        if entry["name"] == "thermocline:reason" and entry["value"]:
            reasoned.add(part["name"])
        if entry["name"] == "thermocline:library":
            libraries.add(entry["value"])
for edge in bill["dependencies"]:
    assert {edge["ref"], *edge["dependsOn"]} <= references, edge

# bootstrap's own words, by bash itself.
listed = subprocess.run(
    ["bash", "-c", "eval \"$(sed -n '/packages=(/,/)/p' \"$0\")\"; "
     "echo \"${packages[@]}\" \"${fuzz_packages[@]}\"", str(root / "bootstrap")],
    capture_output=True, text=True, check=True).stdout.split()
assert len(listed) > 40, listed
assert not set(listed) - reasoned, set(listed) - reasoned

# And whatever is built to be shipped.
needed = set()
for file in [*build.glob("bin/thermocline*"), *build.glob("lib/*thermocline_*.so")]:
    if "machine" in file.name:
        continue  # the emulator's
    said = subprocess.run(["readelf", "-d", file], capture_output=True, text=True).stdout
    needed |= set(re.findall(r"\(NEEDED\).*\[(.*?)\]", said))
needed = {name for name in needed if not name.startswith("ld-linux")}
assert needed and not needed - libraries, needed - libraries
print(f"bill_check: {len(bill['components'])} packages, {len(needed)} libraries")
