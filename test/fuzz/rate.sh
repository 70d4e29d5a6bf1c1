#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# rate.sh LEAST PROGRAM ARGUMENTS...: runs a fuzz target and ends as it does, or with 1 where it made fewer than LEAST
# executions in a second of processor time: its reader waits, writes files or starts threads.
least=$1
shift
log=$(mktemp) && times=$(mktemp) || exit 1
trap 'rm -f "$log" "$times"' EXIT
TIMEFORMAT='%U %S'
{ time "$@" > "$log" 2>&1; } 2> "$times"
code=$?
cat "$log"
made=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
[ "$code" = 0 ] || exit "$code"
read -r user system < "$times"
awk -v made="${made:-0}" -v seconds="$user" -v more="$system" -v least="$least" 'BEGIN {
  rate = made / (seconds + more + 0.001)
  printf "executions in a second of processor time: %d, at least %d\n", rate, least
  exit rate < least }'
