#!/bin/bash
# Runs inside a machine with two sockets: solvers in groups, one group a node,
# each with its replica there.
set -euo pipefail
cd "$(dirname "$(realpath "$0")")/../.."
bin=$PWD/build/release/bin
fail() { echo "sockets_test: $*"; exit 1; }

nodes=/sys/devices/system/node
[[ $(<$nodes/node0/cpulist) == 0 && $(<$nodes/node1/cpulist) == 1 ]] ||
  fail "not two nodes with a CPU each"
"$bin/numa_example" --check >/tmp/said || fail "$(cat /tmp/said)"
cat /tmp/said
grep -q '^node 0: 2 solvers' /tmp/said || fail "no group on node 0"
grep -q '^node 1: 2 solvers' /tmp/said || fail "no group on node 1"
"$bin/training_numa_test" --gtest_brief=1
# With one node alone, as its administrator may have it, there is one group.
taskset -c 1 "$bin/numa_example" --check >/tmp/said || fail "$(cat /tmp/said)"
grep -q '^node 1: 4 solvers' /tmp/said || fail "on one CPU: $(cat /tmp/said)"
