#!/usr/bin/env bash
# The model is switched on and off while another CPU takes faults and
# interrupts: QEMU must not use what it has freed (keep_callbacks.cc). Run in
# the machine, with MALLOC_PERTURB_ set for it: freed memory is garbage at once.
# Without keep_callbacks 4 of 5 runs of a minute end in QEMU's abort.
set -euo pipefail
cd "$(dirname "$(realpath "$0")")/../.."
taskset -c 0 /usr/bin/python3 -c '
import mmap
while True:
    with mmap.mmap(-1, 1 << 20) as memory:
        memory.write(bytes(1 << 20))
' &
trap "kill $!" EXIT
for ((i = 0; i < 20; ++i)); do
  taskset -c 1 "$1/machine_clock" model on >/dev/null
  sleep 0.1
  taskset -c 1 "$1/machine_clock" model off >/dev/null
  sleep 0.05
done
kill -0 $!  # it was there all the time
