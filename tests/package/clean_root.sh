#!/usr/bin/env bash
# The packages in a clean root: a Debian of its own, made by debootstrap, with
# nothing of this machine's. They install, the daemon starts with its unit's own
# command line, rights and folders, answers, stops; they are removed and purged,
# and nothing is left.
#   clean_root.sh BUILD_DIRECTORY
# As root, with debootstrap; some minutes and 2 GB in $TMPDIR, most of them
# LibTorch's, so it is not among the tests of every build. systemd is installed
# in such a root but does not run: it reads the unit, and we stand in for it.
set -euo pipefail
build=$(realpath "${1:?clean_root.sh BUILD_DIRECTORY}")
((EUID == 0)) || { echo "clean_root: needs root, to make one" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "clean_root: apt-get install debootstrap" >&2; exit 2; }
# Mounts of our own: they end with us, however we end.
[[ ${CLEAN_ROOT_MOUNTS:-} ]] ||
  CLEAN_ROOT_MOUNTS=own exec unshare --mount --propagation private "$0" "$build"

work=$(mktemp -d)
root=$work/root daemon=''
cleanup() {
  # shellcheck disable=SC2046
  kill -9 $(jobs -p) 2>/dev/null || true
  wait
  umount -R "$root/proc" "$root/sys" "$root/dev" 2>/dev/null || true
  rm -rf --one-file-system "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
fail() {
  echo "FAILED  $*" >&2
  [[ ! -s $work/said ]] || tail -n 15 "$work/said" >&2
  exit 1
}
began=$SECONDS
# step NAME COMMAND...: what it says goes to $work/said.
step() {
  local name=$1
  shift
  "$@" >"$work/said" 2>&1 || fail "$name"
  printf '%4d s  ok  %s\n' $((SECONDS - began)) "$name"
}
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
  DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"; }

# --- a root, and the packages -------------------------------------------------
# shellcheck disable=SC2016
sources=$(apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' \
  'Created-By: Packages' 'Origin: Debian')
mirror=$(awk '$2 == "bookworm" { print $1; exit }' <<<"$sources")
[[ $mirror ]] || fail "apt has no sources of Debian 12; run apt-get update"

make_packages() { cd "$work" && cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work/deb"; }
step "cpack makes the packages of this build" make_packages
for name in thermocline thermocline-observer thermocline-dev thermocline-doc; do
  compgen -G "$work/deb/${name}_*.deb" >/dev/null || fail "cpack made no package $name"
done
step "debootstrap makes a clean Debian 12" debootstrap --variant=minbase bookworm "$root" "$mirror"
awk '{ print "deb", $1, $2, $3 }' <<<"$sources" >"$root/etc/apt/sources.list"
cp /etc/resolv.conf "$root/etc/resolv.conf"
echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io" # it is thrown away
mkdir "$root/deb"
cp "$work"/deb/*.deb "$root/deb"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sys "$root/sys"
mount -t tmpfs -o mode=755 dev "$root/dev"
for device in null zero random urandom; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done

step "apt-get update in it" inside apt-get update -q
# What they stand on comes first, so that what is left is theirs alone.
depends=$(for deb in "$work"/deb/*.deb; do dpkg-deb -f "$deb" Depends; done |
  tr ',' '\n' | sed 's/(.*//; s/ //g' | grep -v '^thermocline' | sort -u)
# shellcheck disable=SC2086
step "apt installs what they depend on" inside apt-get install -qy --no-install-recommends systemd $depends
files() {
  (cd "$root" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./deb \
    -o -path ./var/cache -o -path ./var/log -o -path ./tmp \) -prune -o -print | LC_ALL=C sort)
}
files >"$work/before"
step "the packages install" inside sh -c 'apt-get install -qy --no-install-recommends /deb/*.deb'
for package in thermocline thermocline-observer thermocline-dev thermocline-doc; do
  # shellcheck disable=SC2016
  [[ $(inside dpkg-query -W -f='${db:Status-Status}' $package) == installed ]] || fail "$package is not installed"
done

# --- the unit, read by systemd's own tool --------------------------------------
unit=$root/lib/systemd/system/thermoclined.service
step "systemd-analyze verifies the unit" systemd-analyze verify --man=no --root="$root" thermoclined.service
[[ ! -s $work/said ]] || fail "systemd-analyze verify has something to say"
# In tenths, 0 is locked up and 100 free; it was 30 when this was written.
step "systemd-analyze security finds it tight" systemd-analyze security --offline=yes \
  --threshold=35 --root="$root" thermoclined.service
sed -n '/Overall exposure/s/^/            /p' "$work/said"
[[ -L $root/etc/systemd/system/multi-user.target.wants/thermoclined.service ]] ||
  fail "the service is not enabled"

# --- as systemd would start it --------------------------------------------------
of_unit() { sed -n "s/^$1=//p" "$unit"; }
config=/etc/thermocline/thermoclined.json
install -d -m "$(of_unit RuntimeDirectoryMode)" "$root/run/$(of_unit RuntimeDirectory)"
install -d -m "$(of_unit StateDirectoryMode)" "$root/var/lib/$(of_unit StateDirectory)"
step "its configuration is right" inside thermoclined --config $config --check-config
rights=$(of_unit CapabilityBoundingSet | sed 's/CAP_//g; s/^/+/; s/ /,+/g' | tr '[:upper:]' '[:lower:]')
start() {
  # shellcheck disable=SC2046
  chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin setpriv --no-new-privs \
    --inh-caps=-all --bounding-set="-all,$rights" $(of_unit ExecStart) 2>>"$work/log" &
  daemon=$!
  for _ in {1..100}; do
    inside thermocline query status >/dev/null 2>&1 && return
    kill -0 "$daemon" 2>/dev/null || { cat "$work/log"; return 1; }
    sleep 0.1
  done
  cat "$work/log"
  return 1
}
stop() {
  kill "$daemon"
  wait "$daemon" || { cat "$work/log"; return 1; }
  daemon=''
}
step "thermoclined starts, with the unit's command and rights" start
step "thermocline query status answers" inside thermocline query status
sed -En 's/^(version|policy|mover|dry_reason):/            &/p' "$work/said"
step "thermocline query tiers answers" inside thermocline query tiers
sleep 60 &
sleeper=$!
step "it manages a process" inside thermocline attach $sleeper
step "and lets it go" inside thermocline detach $sleeper
kill $sleeper
step "it stops" stop
step "it starts again, with its state" start
step "and stops" stop
[[ -s $root/var/lib/thermocline/state ]] || fail "it kept no state"
step "thermocline run starts a job" inside thermocline run --policy first_touch -- true

# --- and is gone -----------------------------------------------------------------
packages=(thermocline thermocline-observer thermocline-dev thermocline-doc)
step "apt removes the packages" inside apt-get remove -qy "${packages[@]}"
[[ ! -e $root/usr/bin/thermoclined ]] || fail "thermoclined is still there"
[[ -s $root$config ]] || fail "its configuration went with a mere removal"
step "apt installs them again, and keeps the configuration" inside sh -c 'apt-get install -qy --no-install-recommends /deb/*.deb'
step "apt purges them" inside apt-get purge -qy "${packages[@]}"
rmdir "$root/run/thermocline" 2>/dev/null || true # systemd's to remove
files >"$work/after"
nothing_left() {
  local left
  # But for what apt and systemd's helper keep for themselves.
  left=$(LC_ALL=C comm -13 "$work/before" "$work/after" |
    grep -Ev '^\./var/lib/(apt/.*|systemd/deb-systemd-helper-[a-z]+)$')
  [[ -z $left ]] || { echo "$left"; return 1; }
  ! grep -rl thermocline "$root/etc" "$root/var/lib/systemd" 2>/dev/null
}
step "nothing of them is left" nothing_left
printf 'clean_root: installed, started, answered, stopped, purged in %d s\n' $((SECONDS - began))
