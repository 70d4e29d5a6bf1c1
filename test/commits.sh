#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Holds commits to CONTRIBUTING.md: a subject of at most 72 characters, and a body from 50 changed lines on.
#
#   test/commits.sh RANGE          every commit of it, such as origin/main..HEAD
#   test/commits.sh --new          those since this script came
#   test/commits.sh --message FILE one message that is being written, and what is staged (the commit-msg hook)
#
# Exit code 0: all hold; 1: prints those that do not; 2: bad usage; 77: --new, where git has no history.
set -euo pipefail

# fault SUBJECT BODY LINES: why the commit does not hold; nothing where it does.
fault() {
  if [ ${#1} -gt 72 ]; then
    echo "its subject has ${#1} characters, 72 are allowed"
  elif [ "$3" -ge 50 ] && [ -z "$2" ]; then
    echo "it changes $3 lines and has no body that says why"
  fi
}

# changed: insertions and deletions out of git's short statistics.
changed() {
  grep -oE '[0-9]+ (insertion|deletion)' | awk '{sum += $1} END {print sum + 0}'
}

failed=0
if [ "${1:-}" = --message ] && [ $# = 2 ]; then
  text=$(grep -v '^#' "$2")
  why=$(fault "$(head -n 1 <<<"$text")" "$(tail -n +2 <<<"$text" | tr -d '[:space:]')" \
    "$({ git diff --cached --shortstat || true; } | changed)")
  [ -z "$why" ] || { echo "The commit does not follow CONTRIBUTING.md: $why." >&2; failed=1; }
elif [ $# = 1 ] && { [ "$1" = --new ] || [[ "$1" != -* ]]; }; then
  if [ "$1" = --new ]; then
    command -v git >/dev/null || { echo "skipped: there is no git"; exit 77; }
    first=$(git log --diff-filter=A --format=%H -- test/commits.sh 2>/dev/null | tail -n 1)
    [ -n "$first" ] || { echo "skipped: no history of test/commits.sh"; exit 77; }
    set -- "$first..HEAD"
  fi
  commits=$(git rev-list --no-merges "$1") || exit 2
  for commit in $commits; do
    why=$(fault "$(git log -1 --format=%s "$commit")" "$(git log -1 --format=%b "$commit" | tr -d '[:space:]')" \
      "$(git show --shortstat --format= "$commit" | changed)")
    [ -z "$why" ] || { echo "$(git log -1 --format='%h %s' "$commit"): $why"; failed=1; }
  done
else
  sed -n '3,9s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
exit "$failed"
