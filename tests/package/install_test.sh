#!/usr/bin/env bash
# Installs into a fresh prefix, builds a job against that, by find_package and
# by pkg-config, and runs it; the installed programs find their libraries, the
# headers all that they include, and every package and library is in the bill
# of materials.
#   install_test.sh BUILD_DIRECTORY
set -euo pipefail
build=$(realpath "$1") here=$(dirname "$(realpath "$0")")
fail() { echo "install_test: $*" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
cmake --install "$build" --prefix "$prefix" --strip >"$work/log" 2>&1 ||
  { tail -n 5 "$work/log" >&2; fail "cmake --install failed"; }

# One version, of the changelog.
version=$(sed -n '1s/.*(\(.*\)).*/\1/p' "$here/../../daemon/package/changelog")
[[ $("$prefix/bin/thermocline" --version) == "thermocline $version" ]] ||
  fail "thermocline --version is not $version"

# Nothing of the build folder is needed: plugins and programs lie beside.
installed() { env -i HOME=/ "$prefix/bin/thermocline" "$@"; }
installed policy --help >/dev/null
installed evaluate "$here/../../traces/samples/small.trace" --policies learned \
  --fast-share 0.5 --quiet >"$work/evaluated" 2>&1 || fail "no learned policy: $(cat "$work/evaluated")"
installed record --source none -o "$work/job.trace" -- true 2>"$work/recorded" ||
  fail "cannot record: $(cat "$work/recorded")"
for file in etc/thermocline/thermoclined.json lib/systemd/system/thermoclined.service \
  share/bash-completion/completions/thermocline share/man/man8/thermoclined.8 \
  share/doc/thermocline/README.md share/doc/thermocline/daemon/GUIDE.md; do
  [[ -s $prefix/$file ]] || fail "$file is not installed"
done
grep -q "^ExecStart=$prefix/bin/" "$prefix/lib/systemd/system/thermoclined.service" ||
  fail "the service is not of this prefix"

# Headers: whole.
include=$prefix/include/thermocline
while IFS=: read -r file _ name; do
  [[ -f $include/$name ]] || fail "$file includes $name, which is not installed"
done < <(cd "$include" && grep -rno '#include "[^"]*"' . | sed 's/#include "\(.*\)"/\1/')

# Both ways to build against it, with every target and package there is.
run() {
  local said
  said=$("$1" "$work/${1##*/}.$2.pool" 2>&1) || fail "$1, built by $2, failed: $said"
  [[ $said == "$3" ]] || fail "$1, built by $2, says: $said"
}
run_all() {
  run "$1/job" "$2" "41 at step 1"
  run "$1/torch_job" "$2" "1 tensor of 16"
  [[ $mpi == no ]] || run "$1/mpi_job" "$2" "41 from rank 0 of 1"
}
libraries=$(cd "$prefix" && dirname "$(find . -name thermocline-training.pc)")
mpi=no
[[ ! -e $prefix/$libraries/thermocline-mpi.pc ]] || mpi=yes
cmake -S "$here" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1 &&
  cmake --build "$work/cmake" >>"$work/log" 2>&1 || { cat "$work/log" >&2; fail "find_package"; }
[[ $mpi == no || -x $work/cmake/mpi_job ]] || fail "find_package finds no Thermocline::mpi"
run_all "$work/cmake" cmake
export PKG_CONFIG_PATH=$prefix/$libraries
[[ $(pkg-config --modversion thermocline-training) == "$version" ]] || fail "pkg-config's version"
build_by_pkg_config() {
  # shellcheck disable=SC2046
  c++ -std=c++20 "$here/$1.cc" -o "$work/$1" \
    $(pkg-config --cflags --libs "$2") || fail "pkg-config $2"
}
build_by_pkg_config job thermocline-distributed
build_by_pkg_config torch_job thermocline-torch
[[ $mpi == no ]] || build_by_pkg_config mpi_job thermocline-mpi
run_all "$work" pkg-config

# The bill: sbom itself refuses packages without reasons and unknown libraries.
python3 "$here/bill_check.py" "$prefix/share/doc/thermocline/sbom.cdx.json" "$build"
echo "install_test: installed; three jobs built against it twice, ran (mpi: $mpi)"
