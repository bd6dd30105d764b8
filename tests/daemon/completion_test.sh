#!/usr/bin/env bash
# What the shells are told is what the command line takes: bash completes
# commands and options, and the man pages name every option of --help.
#   completion_test.sh BIN_DIRECTORY
set -euo pipefail
bin=$1 here=$(dirname "$(realpath "$0")")
fail() { echo "completion_test: $*" >&2; exit 1; }

# shellcheck disable=SC1090
source <("$bin/thermocline" completion bash)
completed() {  # WORDS...: what bash offers for the last one
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  _thermocline
  echo "${COMPREPLY[*]-}"
}
[[ $(completed thermocline eva) == evaluate ]] || fail "no evaluate"
[[ $(completed thermocline evaluate --fast-s) == --fast-share ]] || fail "no --fast-share"
[[ $(completed thermocline checkpoint ver) == verify ]] || fail "no verify"
# What other programs parse is completed, too.
[[ $(completed thermocline train --wor) == --workers ]] || fail "no train --workers"
[[ $(completed thermocline checkpoint export --pre) == --prefix ]] || fail "no export --prefix"
[[ -z $(completed thermocline run -- ls --a) ]] || fail "completes a job's own words"
[[ " $(completed thermocline '') " == *" completion "* ]] || fail "commands are missing"
fish=$("$bin/thermocline" completion fish)
[[ $fish == *"seen_subcommand_from thin' -l every -r"* ]] || fail "fish is not told of thin --every"
! "$bin/thermocline" completion ksh 2>/dev/null || fail "takes any shell"

command -v help2man >/dev/null || fail "help2man is missing; ./bootstrap setup"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$here/../../daemon/man/make_pages" "$bin" "$work"
commands=$(completed thermocline '' | tr ' ' '\n' | grep -v '^-')
for command in $commands; do
  page=$work/thermocline-$command.1
  [[ -s $page ]] || fail "no page of $command"
  for option in $(completed thermocline "$command" -- | tr ' ' '\n' | grep '^--' || true); do
    grep -qF -- "${option//-/\\-}" "${page%.1}"*.1 || fail "$command's page lacks $option"
  done
done
[[ -s $work/thermoclined.8 ]] || fail "no page of thermoclined"
echo "completion_test: $(ls "$work" | wc -l) pages"
