#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds Plumb and checks the example networks on every device of this machine.
#
#   platforms/linux/run.sh               prepare, build the tools (build/release), check the examples, print the reports
#   platforms/linux/run.sh --build-only  prepare and build, check nothing
#   DUMP_OUTPUT_BLOB=1 platforms/linux/run.sh    in a build that dumps every layer's outputs (also DUMP_INPUT_BLOB)
#
# Needs a Debian 12 or 13 and root or sudo, nothing else. A second run installs and builds nothing. Exit code:
# model_check's (0 aligned, 1 misaligned, 2 bad usage, 3 no device, 4 failure); 2 and 4 also for the preparation.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build_only=0
case "${1:-}" in
  "") ;;
  --build-only) build_only=1 ;;
  -h | --help) sed -n '3,10s/^# \{0,1\}//p' "platforms/linux/run.sh"; exit 0 ;;
  *) echo "run.sh: unknown option '$1'; it knows --build-only and --help." >&2; exit 2 ;;
esac
source platforms/linux/build.sh

say_distribution
install_missing "${build_packages[@]}"
build release tools
golden_environment
bin=build/release/bin
if [ "$build_only" = 1 ]; then
  echo "Built: the tools are in $bin/."
  exit 0
fi

"$bin/device_info"
worst=0
check() {
  printf '\n=== %s\n' "$*"
  "$bin/model_check" "$@" || { local code=$?; [ "$code" -le "$worst" ] || worst=$code; }
}
check -m examples/digits/digits.tnnproto -i examples/digits/images/digit_3.png -n 120 -s 0.0078125
check -m examples/squeezenet/squeezenet.tnnproto
echo
if [ "$worst" = 0 ]; then
  echo "Next: check your own model with  $bin/model_check -m your.onnx  and keep every blob of it on disk by"
  echo "putting DUMP_OUTPUT_BLOB=1 in front of that command."
else
  echo "Next: the report above names the first guilty layer and the command that shows it again;"
  echo "doc/check.md explains it."
fi
exit "$worst"
