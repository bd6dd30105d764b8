#!/bin/sh
# On the emulated machine's persistent memory, a bad block in the newest
# checkpoint: who touches it dies (SIGBUS); a job goes on from the one before.
#
#   machine run --bare --fast 512M --pmem 128M -- bad_block_test.sh BIN
set -eu
bin=$1
pool=/run/pmem/job.pool
"$bin/power_cut_job" "$pool" --mib 2 --steps 6 | tail -n 1
offset=$("$bin/thermocline" checkpoint list --json "$pool" | /usr/bin/python3 -c '
import json, sys
pool = json.load(sys.stdin)
newest = next(one for one in pool["checkpoints"] if one["standing"] == "newest")
print(3 * 4096 + newest["slot"] * pool["slot_bytes"] + 65536)')
# Where that lies on the device, in sectors.
sector=$(filefrag -v -b4096 "$pool" | awk -v block=$((offset / 4096)) '
  $1 ~ /^[0-9]+:$/ {
    gsub(/[.:]+/, " ")
    if (block >= $2 && block <= $3) print ($4 + block - $2) * 8
  }')
device=$(basename "$(findmnt -no SOURCE /run/pmem)")
echo "$sector 8" >"/sys/block/$device/badblocks"
echo "bad: byte $offset of the pool, sector $(cat "/sys/block/$device/badblocks")"

touch_it="
import mmap
with open('$pool', 'rb') as file:
    print(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)[$offset])"
status=0
/usr/bin/python3 -c "$touch_it" || status=$?
test $status = 135 || { echo "touching it ended with $status, not SIGBUS"; exit 1; }

if "$bin/thermocline" checkpoint verify "$pool" >/tmp/said 2>&1; then
  echo "it is said to be whole"
  exit 1
fi
cat /tmp/said
grep -q 'bad block' /tmp/said
"$bin/power_cut_job" "$pool" --mib 2 --steps 5 >/tmp/said
head -n 1 /tmp/said
grep -q '^restored 5 wrong 0 damaged 1 ' /tmp/said
tail -n 1 /tmp/said | grep -q '^saved 10$'
"$bin/power_cut_job" "$pool" --mib 2 --steps 1 | grep '^restored 10 wrong 0 '
