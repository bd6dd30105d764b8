#!/bin/bash
# Runs inside the machine: is it what a tiered server looks like?
set -euo pipefail
cd "$(dirname "$(realpath "$0")")/../.."
fail() { echo "guest_test: $*"; exit 1; }

nodes=/sys/devices/system/node
[[ -z $(<$nodes/node1/cpulist) ]] || fail "node 1 has CPUs"
[[ -n $(<$nodes/node0/cpulist) ]] || fail "node 0 has no CPUs"
grep -q 'MemTotal: *[1-9]' $nodes/node1/meminfo || fail "node 1 has no memory"
tiers=$(grep -l . /sys/devices/virtual/memory_tiering/memory_tier*/nodelist | wc -l)
((tiers == 2)) || fail "$tiers memory tiers, not two"
[[ $(</proc/sys/kernel/numa_balancing) == 0 ]] || fail "numa_balancing is on"

# The clock answers, and the slow node is slower on it.
bin=build/release/bin
$bin/machine_clock now | grep -q '"ok":true' || fail "the clock does not answer"
$bin/machine_bench 4 20000 | tee /tmp/bench
stalls() { awk -v node="$1" '$2 == node && $3 == "chase" {print int($7)}' /tmp/bench; }
(($(stalls 1) > 2 * $(stalls 0))) ||
  fail "a chase stalls $(stalls 0) ns on node 0, $(stalls 1) ns on node 1"

# Its figures as JSON, the curve of latency under load among them.
$bin/machine_bench --loaded --json 2 2000 >/tmp/curve
grep -q '"chase_ns"' /tmp/curve || fail "no loaded latency: $(head -c 200 /tmp/curve)"

# A captured stream is what perf makes of a file of its own, and holds as many
# samples as the clock counted. The clock counts records: those of the counters
# too, each of which perf shows as one line per counter.
$bin/machine_clock start 97 97 >/dev/null
cat /dev/virtio-ports/thermocline.samples >/tmp/dump &
numactl --membind=1 $bin/machine_bench 4 20000 >/dev/null
$bin/machine_clock stop >/dev/null
wait
perf script -i /tmp/dump 2>/dev/null | awk '{print $6}' | sort | uniq -c >/tmp/events
number() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"; }
event() { awk -v name="$1:" '$2 == name {print $1}' /tmp/events; }
sent=$($bin/machine_clock now | number samples)
loads=$(event loads) stores=$(event stores) counts=$(event instructions)
((loads > 100 && stores > 100 && counts > 10)) ||
  fail "perf sees $loads loads, $stores stores, $counts counts in the stream"
((loads + stores + counts == sent)) ||
  fail "perf sees $loads loads, $stores stores, $counts counts, the clock $sent"
echo "perf reads all of $sent records: $loads loads, $stores stores, $counts counts"

# An event with too many samples pauses, and says so.
$bin/machine_clock start 97 97 10000 >/dev/null
cat /dev/virtio-ports/thermocline.samples >/tmp/dump &
numactl --membind=1 $bin/machine_bench 2 10000 >/dev/null
$bin/machine_clock stop >/dev/null
wait
perf script -D -i /tmp/dump 2>/dev/null | grep -o 'PERF_RECORD_U*N*THROTTLE' | sort | uniq -c >/tmp/pauses
(($(wc -l </tmp/pauses) == 2)) || fail "no pauses: $(cat /tmp/pauses)"

# What the machine cannot know of processes, the guest's own perf tells.
perf record -q -e dummy:u -o /tmp/side sh -c 'true; env true' >/dev/null
perf script -i /tmp/side --show-task-events --show-mmap-events >/tmp/side.text 2>/dev/null
for record in COMM MMAP2 FORK EXIT; do
  grep -q "PERF_RECORD_$record" /tmp/side.text || fail "no $record from the guest's perf"
done

# Where there is no PMU, the kernel's own tracking tells which pages are written.
$bin/thermocline record -q --source pages --no-tensors -o /tmp/pages.trace -- \
  $bin/machine_workload gups --size=16 --steps=12 --no-check >/dev/null
$bin/thermocline info --json /tmp/pages.trace >/tmp/pages
of_pages() { sed -n "s/.*\"$1\": \"*\([^\",]*\).*/\1/p" /tmp/pages; }
[[ $(of_pages source) == pages:soft-dirty ]] || fail "the source is $(of_pages source)"
(($(of_pages stores) > 1000 && $(of_pages footprint_bytes) > 15 << 20)) ||
  fail "pages written: $(of_pages stores), on $(of_pages footprint_bytes) bytes"

# What probe measures is two tiers, the faster one first, and slow memory slow.
$bin/machine_clock dilation 8 >/dev/null
$bin/thermocline probe --machine-only --quick --size 8M --threads 1 -o /tmp/probed.json ||
  fail "nothing was probed"
$bin/machine_clock dilation 1 >/dev/null
python3 - /tmp/probed.json <<'PYTHON' || fail "not the machine that this is: $(cat /tmp/probed.json)"
import json
import sys
machine = json.load(open(sys.argv[1], encoding="utf-8"))
fast, slow = machine["tiers"]
assert machine["emulated"] and (fast["nodes"], slow["nodes"]) == ([0], [1])
assert slow["read_ns"] > 1.5 * fast["read_ns"]
assert fast["write_bytes_per_s"] > 1.5 * slow["write_bytes_per_s"]
PYTHON

# The service takes its own memory from the slow node.
$bin/thermocline run --policy hottest_first --source none -- sh -c '
  grep -h heap /proc/$(pidof thermoclined)/numa_maps' >/tmp/own 2>/tmp/own.errors ||
  fail "no service to look at: $(cat /tmp/own.errors)"
grep -q 'N1=[1-9]' /tmp/own || fail "the service lies in fast memory: $(cat /tmp/own)"

# A recorder its own from where its job's is not.
for where in all_fast:1 all_slow:0; do
  $bin/thermocline record -q --source pages --no-tensors --placement ${where%:*} --force \
    -o /tmp/own.trace -- sh -c 'grep -h heap /proc/$PPID/numa_maps' >/tmp/own ||
    fail "no recorder to look at"
  grep -q "N${where#*:}=[1-9]" /tmp/own ||
    fail "beside a job that is ${where%:*} the recorder lies: $(cat /tmp/own)"
done

# Pages really move between the two nodes.
$bin/two_nodes_probe
