#!/bin/bash
# failures_test: whatever goes wrong with the emulated machine, it says so in
# one line, exits with 125, and leaves nothing behind.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
machine=$here/machine
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

give_up() {
  echo "failures_test: $*"
  exit 1
}

# fails PATTERN COMMAND...: it exits with 125 and prints one line, like PATTERN.
fails() {
  local pattern=$1 code=0
  shift
  "$@" 2>&1 </dev/null | sed '/: fetching /d; /; starting anew$/d' >"$place/out" || code=$?
  echo "$code: $(<"$place/out")"
  [[ $code == 125 ]] || give_up "exit code $code, not 125: $*"
  [[ $(wc -l <"$place/out") == 1 ]] || give_up "not one line: $*"
  grep -q -- "$pattern" "$place/out" || give_up "no \"$pattern\": $*"
}

# put PATH TEXT: makes a program.
put() {
  printf '#!/bin/sh\n%s\n' "$2" >"$1"
  chmod +x "$1"
}

# Half a gigabyte and no model: the quickest machine there is.
small=(--fast 512M --slow 128M --cpus 1 --bare)

fails 'unknown command boot' "$machine" boot -- true
fails 'unknown option --speed' "$machine" run --speed 9 -- true
fails '100M is not a multiple' "$machine" run --slow 100M -- true
fails 'no plugin at /nowhere' "$machine" run --plugin /nowhere -- true

tiers=$place/tiers.json
fails 'tiers.json: No such file' "$machine" run --tiers "$tiers" -- true
echo '[{"kind": "dram-ddr5"}]' >"$tiers"
fails 'a tier has "kind" and "size"' "$machine" run --tiers "$tiers" -- true
fails '3 sockets cannot share 2 CPUs' "$machine" run --bare --sockets 3 -- true
fails '--sockets goes with --bare' "$machine" run --sockets 2 -- true
fails '--tiers stands for' "$machine" run --tiers "$tiers" --fast 1G -- true

fails 'has not come up in 1 s, 3 times; raise --start-within' \
  "$machine" run "${small[@]}" --start-within 1 -- true

mkdir "$place/programs"
cp -rs /usr/sbin/. "$place/programs"
cp -rs --no-clobber /usr/bin/. "$place/programs"
rm "$place/programs/qemu-system-x86_64"
fails 'qemu-system-x86_64 is missing; apt-get install' \
  env PATH="$place/programs" "$machine" run "${small[@]}" -- true

# Neither a kernel, nor a way to one.
mkdir "$place/offline"
offline=(env PATH="$place/offline:$PATH"
         "$machine" run "${small[@]}" --cache "$place/cache" -- true)
put "$place/offline/apt-cache" 'exit 1'
fails 'apt knows no kernel' "${offline[@]}"
put "$place/offline/apt-cache" 'echo "  Depends: linux-image-0"'
put "$place/offline/apt-get" 'echo "E: no network" >&2; exit 100'
fails 'cannot download linux-image-0: E: no network' "${offline[@]}"
[[ ! -e $place/cache/kernel.part ]] || give_up "half a kernel stays"

# No room: for the kernel, for the logs, and for what the guest writes.
cat >"$place/full" <<'SCRIPT'
mount -t tmpfs -o size="$1" tmpfs "$2"
shift 2
exec "$@"
SCRIPT
mkdir "$place/disk"
fails 'out of disk: .* 700 are needed' \
  unshare -m bash "$place/full" 16M "$place/disk" \
  env PATH="$place/offline:$PATH" \
  "$machine" run "${small[@]}" --cache "$place/disk" -- true
fails 'out of disk: [0-7] MiB free' \
  unshare -m bash "$place/full" 4M "$place/disk" \
  "$machine" run "${small[@]}" --work "$place/disk" -- true
fails 'out of disk: .*/disk is full' \
  unshare -m bash "$place/full" 9M "$place/disk" \
  "$machine" run "${small[@]}" --work "$place/disk" -- \
  bash -c "cat /dev/zero >$place/disk/zeros 2>/dev/null; true"

fails 'no kind of memory is called tape' \
  "$machine" run "${small[@]::6}" --kind tape --work "$place/kind" -- true
fails 'no end after 3 s; raise --timeout' \
  "$machine" run "${small[@]}" --work "$place/slow" --timeout 3 -- sleep 60
fails 'its kernel panicked: sysrq triggered crash' \
  "$machine" run "${small[@]}" --work "$place/panic" -- \
  bash -c 'echo c >/proc/sysrq-trigger; sleep 60'

# An exit code and a scratch folder come back.
code=0
"$machine" run "${small[@]}" --work "$place/work" -- \
  bash -c "echo kept >$place/work/file; exit 7" || code=$?
[[ $code == 7 && $(<"$place/work/file") == kept ]] || give_up "code $code"
# Ten seconds at the most are meant; a busy host may take twice that.
ready=$(grep -o 'machine: ready at .*' "$place/work/console.log")
echo "$ready"
ready=${ready#machine: ready at }
((${ready%%.*} < 20)) || give_up "too slow to start"

# As many tiers as a file lists, each a node, in its order.
cat >"$tiers" <<'JSON'
[{"kind": "dram-ddr5", "size": "512M"},
 {"kind": "cxl", "size": "128M"},
 {"kind": "optane", "size": "256M"}]
JSON
distances=$("$machine" run --tiers "$tiers" --cpus 1 --bare --work "$place/three" -- \
  cat /sys/devices/system/node/node0/distance)
[[ $distances == '10 20 30' ]] || give_up "distances of three tiers: $distances"

# Two at once, of which one is interrupted: it takes all of itself with it.
"$machine" run "${small[@]}" --work "$place/second" -- sleep 4 &
second=$!
env --default-signal=INT "$machine" run "${small[@]}" \
  --work "$place/first" -- sleep 60 &
first=$!
wait_for_boot() {
  local i
  for ((i = 0; i < 600; ++i)); do
    ! grep -q 'ready at' "$1/console.log" 2>/dev/null || return 0
    sleep 0.1
  done
  give_up "no machine in $1 after a minute"
}
wait_for_boot "$place/first"
fails 'another machine runs in' \
  "$machine" run "${small[@]}" --work "$place/first" -- true
kill -INT "$first"
code=0
wait "$first" || code=$?
[[ $code == 130 ]] || give_up "interrupted, it exits with $code"
! pgrep -f "$place/first" >/dev/null || give_up "a process stays"
[[ -z $(find "$place/first" -name '*.sock') ]] || give_up "a socket stays"
wait "$second" || give_up "the other machine failed with $?"
echo "failures_test: every failure is one clear line"
