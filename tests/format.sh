#!/usr/bin/env bash
# Fails when a C++ file is not as clang-format-14 would have it.
#   tests/format.sh [--fix]
set -euo pipefail
cd "$(dirname "$(realpath "$0")")/.."
mode=(--dry-run --Werror)
[[ ${1:-} != --fix ]] || mode=(-i)
find . -path ./build -prune -o \( -name '*.cc' -o -name '*.h' \) -print0 |
  xargs -0 clang-format-14 --style=file "${mode[@]}"
