#!/bin/sh
# That layers.sh fails on each breach, and passes a tree without one.
set -eu
layers=$(cd "$(dirname "$0")" && pwd)/layers.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

clean() {
  rm -rf "${tree:?}"/*
  mkdir -p "$tree/traces" "$tree/estimator" "$tree/agent" "$tree/tracer" \
    "$tree/policies" "$tree/daemon"
  printf '// What a Machine is.\n#include "traces/types.h"\n' \
    >"$tree/estimator/machine.h"
  echo '#include <nlohmann/json.hpp>' >"$tree/estimator/machine.cc"
  echo '#include <torch/torch.h>' >"$tree/traces/libtorch.h"
  echo '#include "policies/policy.h"' >"$tree/daemon/loop.cc"
  echo 'int one;' >"$tree/traces/types.h"
}

# expect WORDS: layers.sh fails and says WORDS.
expect() {
  if said=$(sh "$layers" "$tree"); then
    echo "passes, but should say: $1"
    exit 1
  fi
  case $said in
    *"$1"*) ;;
    *) echo "should say \"$1\", says: $said"; exit 1 ;;
  esac
  clean
}

clean
sh "$layers" "$tree" || { echo "refuses a clean tree"; exit 1; }
echo '#include "agent/world.h"' >"$tree/tracer/perf.cc"
expect 'tracer/perf.cc:1: tracer must not include agent/'
echo '  #  include "tracer/sampler.h"' >"$tree/agent/environment.cc"
expect 'agent must not include tracer/'
echo '#include "daemon/loop.h"' >"$tree/policies/learned.cc"
expect 'policies must not include daemon/'
echo '#include "estimator/machine.h"' >"$tree/traces/trace.h"
expect 'traces must not include estimator/'
echo '#include "tests/fakes/clock.h"' >"$tree/daemon/loop.cc"
expect 'daemon must not include tests/'
seq 401 >"$tree/daemon/long.cc"
expect 'daemon/long.cc: 401 lines'
echo '#include <nlohmann/json.hpp>' >"$tree/policies/policy.h"
expect 'policies/policy.h: includes json.hpp'
echo '#include <torch/torch.h>' >"$tree/policies/learned.h"
expect 'policies/learned.h: a header must not include torch'
for i in 1 2 3 4 5 6 7; do seq 130 >"$tree/daemon/file$i.cc"; done
expect 'median file has 130 lines'
for i in 1 2 3; do seq 301 >"$tree/daemon/file$i.cc"; done
expect 'one file of ten has 301 lines'
echo '// Said again.' >>"$tree/estimator/machine.h"
echo '// And again.' >>"$tree/estimator/machine.h"
expect 'headers: 50 % is comment'
rm -rf "${tree:?}"/*
expect 'no sources'
echo "layers_catches: every breach is caught"
