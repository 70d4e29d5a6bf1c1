#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# doc/start.md on a bare Debian 13: its commands, as they stand there, find the planted fault within a minute.
#
#   test/release/start_test.sh [WHEEL [RELEASE]]      the cp312-abi3 wheel that is in build/dist or build/wheel; trixie
#
# Exit code 77: no wheel, or no bare Debian can be made here (bare.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
limit=60
wheel=${1:-$(ls build/dist/*-cp312-abi3-*.whl build/wheel/*-cp312-abi3-*.whl 2>/dev/null | head -n 1 || true)}
release=${2:-trixie}
[ -f "$wheel" ] || { echo "skipped: no wheel '$wheel' (platforms/linux/wheel.sh python3.12 makes it)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$wheel" "$work"
cp -r examples "$work"
sed -n 's/^    //p' doc/start.md >"$work/commands"
[ "$(wc -l <"$work/commands")" -ge 8 ] || { echo "doc/start.md has no commands"; exit 1; }
cat >"$work/all.sh" <<'END'
set -eu
{ apt-get update -q && apt-get install -y -q --no-install-recommends pipx; } >apt.log 2>&1 ||
  { tail -n 5 apt.log; exit 77; }
begin=$(date +%s)
set +e
code=0
. ./commands >said 2>&1 || code=$?
taken=$(($(date +%s) - begin))
cat said
for words in "ALIGNED: X86 aligned" "this is a 3 (100.0 %)" "FAILED: subject wrong at 'conv3'"; do
  grep -qF "$words" said || { echo "start_test: nobody said: $words"; exit 1; }
done
[ "$code" = 1 ] || { echo "start_test: the last command ends with $code, expected 1"; exit 1; }
for tool in blob_diff device_check device_info model_bisect model_check model_convert model_info model_reduce \
    model_run stage_diff \
    plumb-golden; do
  "$tool" --version || exit 1
done
echo "start_test: $taken s from pipx install to the wrong layer"
[ "$taken" -le "$1" ]
END
test/release/bare.sh "$release" "$work" bash all.sh "$limit"
