#!/bin/bash
# The guide's five steps (daemon/GUIDE.md), as they stand there, with a small
# PyTorch job: what a server would do in the emulated machine, what can be done
# anywhere here. `thermocline` there is a script that adds to the command where
# the machine's samples come from, and to `probe` that it be quick, nothing else;
# and that lets the machine's model of memory sleep while Python loads LibTorch:
# the job waits for it, or part of a trace would be by another clock.
#   guide_test.sh            the whole
#   guide_test.sh --in DIR STEPS...  in the machine
set -euo pipefail
cd "$(dirname "$(realpath "$0")")/../.."
root=$PWD
fail() { echo "guide_test: $*"; exit 1; }

# step N: its commands, a line each.
step() {
  sed -n '/^## Five steps/,/^## /p' daemon/GUIDE.md |
    awk -v n="$1" '/^[0-9]+\. / {at = $1 + 0} at == n && /^       [a-z]/ {print}' |
    sed 's/^ *//'
}

# do_all: the commands on standard input; the job of `run` stays in the
# background, and is asked while it runs.
do_all() {
  local line
  while read -r line; do
    echo "\$ $line"
    case $line in
      'thermocline run '*)
        STEPS=100000 bash -c "exec $line" &
        until grep -q '^step 5' job.log 2>/dev/null; do
          sleep 0.5
          kill -0 $! || fail "the job ended: $line"
        done
        ;;
      'thermocline top') bash -c "$line --once" || fail "$line" ;;
      *) bash -c "$line" || fail "$line" ;;
    esac </dev/null
  done
}

if [[ ${1:-} == --in ]]; then
  dir=$2
  shift 2
  taskset -cp 1 $$ >/dev/null  # the first CPU is the job's
  export PATH=$dir/bin:/usr/bin:/bin OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
  for number; do step "$number"; done >"$dir/steps"
  cd "$dir"
  do_all <steps
  pkill -INT -x thermocline || true
  wait
  exit
fi

for number in 1 2 3 4 5; do
  [[ -n $(step $number) ]] || fail "no commands in step $number of the guide"
done
work=$root/build/guide_test
rm -rf "$work"
mkdir -p "$work/bin"
cat >"$work/bin/thermocline" <<SCRIPT
#!/bin/bash
bin=$root/build/release/bin name=\$1
shift
case \$name in
  record | run)
    rm -f job.log awake
    \$bin/machine_clock start 199 199 >/dev/null
    (
      until [[ -s job.log ]]; do sleep 0.3; done
      \$bin/machine_clock model on >/dev/null
      touch awake
    ) &
    \$bin/thermocline "\$name" --source stream:/dev/virtio-ports/thermocline.samples "\$@"
    status=\$?
    \$bin/machine_clock stop >/dev/null
    \$bin/machine_clock model off >/dev/null
    exit \$status
    ;;
  probe)
    \$bin/machine_clock model on >/dev/null
    \$bin/thermocline probe --quick --machine-only --threads 1 --size 8M "\$@"
    status=\$?
    \$bin/machine_clock model off >/dev/null
    exit \$status
    ;;
esac
exec \$bin/thermocline "\$name" "\$@"
SCRIPT
printf '#!/bin/bash\nexec taskset -c 0 /usr/bin/python3 "$@"\n' >"$work/bin/python3"
chmod +x "$work"/bin/*
# More memory than fits the caches; the same steps whoever watches, for as long
# as it is let.
cat >"$work/train.py" <<'PYTHON'
import os
import time

import torch
log = open("job.log", "w")
print("training", file=log, flush=True)
while not os.path.exists("awake"):
    time.sleep(0.1)
torch.manual_seed(1)
table = torch.nn.EmbeddingBag(60_000, 64, mode="sum")
model = torch.nn.Sequential(table, torch.nn.Linear(64, 64), torch.nn.ReLU(),
                            torch.nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for step in range(int(os.environ.get("STEPS", 6))):
    rows = torch.randint(60_000, (256, 16))
    optimizer.zero_grad()
    loss = (model(rows) - rows.float().mean(1, keepdim=True) / 60_000).pow(2).mean()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item().hex()}", file=log, flush=True)
PYTHON
machine() {
  tests/machine/machine run --fast 1G --slow 1G --dilation 1 --model-off --timeout 600 \
    --work "$work" -- "$root/tests/machine/guide_test.sh" --in "$work" "$@"
}
machine 1 2
[[ -s $work/job.slow.trace && -s $work/job.fast.trace ]] || fail "no traces"
mv "$work/job.log" "$work/job.recorded.log"
(
  export PATH=$root/build/release/bin:$PATH
  step 3 >"$work/steps"
  cd "$work"
  do_all <steps
)
machine 4 5
# It trained as when it was recorded.
cmp <(head -n 4 "$work/job.recorded.log") <(head -n 4 "$work/job.log") ||
  fail "the job's losses differ"
echo "guide_test: the guide's five steps were taken"
