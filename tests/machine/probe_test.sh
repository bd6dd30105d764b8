#!/bin/sh
# In the emulated machine with an emulated DIMM: what thermocline probe makes of
# it. Only what does not depend on the host's speed is looked at.
#   probe_test.sh BIN_DIRECTORY file_system|device
set -eu
options=""
[ "$2" = device ] && options=--force # a device has no files: it is overwritten
report=$("$1/thermocline" probe --quick --size 4M --time 100 --json --quiet \
  --path /run/pmem $options)
/usr/bin/python3 - "$report" <<'PYTHON'
import json
import sys

report = json.loads(sys.argv[1])
place = {one["place"]: one for one in report["places"]}["/run/pmem"]
assert place["granularity"] == "line", place["granularity"]
assert place["durable"] is True
names = {one["operation"] for one in place["operations"]}
assert {"persist", "reduce", "fill around"} <= names, names
assert all(one["bytes_per_s"] > 0 for one in place["operations"])
assert len(report["places"]) == 1 + len(report["nodes"]) >= 3
print(f"probe: {len(place['operations'])} figures of the emulated DIMM, by "
      f"{place['granularity']}, {place['left_out']} left out")
PYTHON
