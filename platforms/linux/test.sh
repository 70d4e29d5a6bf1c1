#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds Plumb and runs its tests: the release build's, the core's under ASan and UBSan,
# and the readers' fuzz targets; and clang-tidy over what changed.
#
#   platforms/linux/test.sh          every test that is not labelled slow
#   platforms/linux/test.sh --slow   every test, the build with NAIVE alone and no ONNX reader, and those for 64-bit ARM
#                                    in an emulator (arm64.sh)
#
# Ends with ctest's summary of all of them. Exit code: 0 when all passed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
select=(-LE slow)
presets=(release dev fuzz)
case "${1:-}" in
  "") ;;
  --slow) select=() presets+=(minimal) with_slow=1 ;;
  -h | --help) sed -n '3,11s/^# \{0,1\}//p' "platforms/linux/test.sh"; exit 0 ;;
  *) echo "test.sh: unknown option '$1'; it knows --slow and --help." >&2; exit 2 ;;
esac
unset DUMP_INPUT_BLOB DUMP_OUTPUT_BLOB
source platforms/linux/build.sh

say_distribution
[ -z "${with_slow:-}" ] || test_packages+=("${slow_packages[@]}")
if [ "$(distribution)" = "debian 12" ]; then
  test_packages+=("${debian_12_packages[@]}")
else
  echo "Skipping what needs ${debian_12_packages[*]}: Debian 12 has them." >&2
fi
install_missing "${build_packages[@]}" "${test_packages[@]}"
if ! command -v clang++ >/dev/null; then  # no Debian, where nothing is installed by this script
  echo "Skipping the fuzz targets: they need clang++ with libFuzzer." >&2
  presets=(${presets[*]/fuzz/})
fi
python_environment
SECONDS=0
for preset in "${presets[@]}"; do
  build "$preset"
  echo "Built build/$preset ($SECONDS s since the start)."
done
if ! command -v clang-tidy-14 >/dev/null; then
  echo "Skipping clang-tidy over what changed: there is no clang-tidy-14." >&2
elif git rev-parse -q --verify HEAD >/dev/null 2>&1; then
  if [ ${#select[@]} -gt 0 ]; then platforms/linux/tidy.sh; else platforms/linux/tidy.sh --all; fi
else
  echo "Skipping clang-tidy over what changed: this is no git repository." >&2
fi
if [ ${#select[@]} = 0 ]; then
  if [[ "$(uname -m)" =~ ^(aarch64|arm64)$ ]]; then
    echo "Skipping the cross build for 64-bit ARM: this machine is one, and its builds are for it."
  elif command -v apt-get >/dev/null; then
    platforms/linux/arm64.sh --slow
    platforms/linux/arm64.sh --static
  else
    echo "Skipping 64-bit ARM: its libraries are Debian's packages, and there is no apt-get." >&2
  fi
fi
# One run over all of this machine's builds, so that one summary speaks for everything.
mkdir -p build/all
cp test/leaks.supp build/all/leaks.supp
[ "$(distribution)" = "debian 12" ] || cat test/leaks_layer.supp >>build/all/leaks.supp
export LSAN_OPTIONS="suppressions=$PWD/build/all/leaks.supp:print_suppressions=0:${LSAN_OPTIONS:-}"
echo "subdirs($(printf '"../%s" ' "${presets[@]}"))" >build/all/CTestTestfile.cmake
ctest --test-dir build/all "${select[@]}" -j "$(nproc)" --output-on-failure
