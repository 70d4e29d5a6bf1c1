#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs clang-tidy (.clang-tidy) over C++ files without precompiled headers.
#
#   platforms/linux/tidy.sh          what changed since main (on main itself: since the last commit), when that is at
#                                    most 40 files; each is read alone
#   platforms/linux/tidy.sh --all    the whole of source/ and tools/ with their headers, the small files of a library
#                                    eight at a time: some seven minutes of two idle cores
#   platforms/linux/tidy.sh FILE...  these, each alone
#
# Exit code: 0 when nothing is found, 1 with the findings.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
limit=40
build=build/tidy
options=()
case "${1:-}" in
  -h | --help) sed -n '3,11s/^# \{0,1\}//p' "platforms/linux/tidy.sh"; exit 0 ;;
  --all)
    mapfile -t files < <(git ls-files 'source/*.cc' 'tools/*.cc')
    limit=${#files[@]}
    build=build/tidy-all
    # What is included, too: a library's files come as those of a list of #includes (PLUMB_UNITY). Highway's kernels are
    # read for one instruction set: they are the same text for each.
    options=(--checks=-bugprone-suspicious-include "--header-filter=/(source|tools|include)/.*[.](h|cc)$"
             --extra-arg=-DHWY_COMPILE_ONLY_STATIC) ;;
  -*) echo "tidy.sh: unknown option '$1'; it knows --all and --help." >&2; exit 2 ;;
  "")
    git rev-parse -q --verify HEAD >/dev/null 2>&1 || {
      echo "tidy.sh: no git repository here; name files or --all." >&2
      exit 2
    }
    base=
    for main in origin/main main; do
      base=$(git merge-base HEAD "$main" 2>/dev/null) && break || base=
    done
    # On main, and in a checkout that does not know it: what the last commit changed.
    [ -n "$base" ] && [ "$base" != "$(git rev-parse HEAD)" ] ||
      base=$(git rev-parse -q --verify HEAD~1 || git hash-object -t tree /dev/null)
    mapfile -t files < <(git diff --name-only --diff-filter=AM -M "$base" -- 'source/*.cc' 'tools/*.cc') ;;
  *) files=("$@") limit=$# ;;
esac
[ ${#files[@]} -gt 0 ] || { echo "tidy: no C++ file changed."; exit 0; }
if [ ${#files[@]} -gt "$limit" ]; then
  echo "tidy: ${#files[@]} files changed, more than $limit: none is read here; tidy.sh --all reads every one."
  exit 0
fi
mkdir -p "$build"
unity=OFF
[ "$build" = build/tidy ] || unity=ON
cmake --preset tidy -B "$build" -DPLUMB_UNITY=$unity >"$build.log" 2>&1 || { cat "$build.log" >&2; exit 4; }
if grep -q plumb_tflite_reader "$build/build.ninja"; then  # the header that flatc writes
  cmake --build "$build" --target plumb_tflite_reader >>"$build.log" 2>&1 || { tail "$build.log" >&2; exit 4; }
fi
units=("${files[@]}")
if [ "$unity" = ON ]; then
  mapfile -t units < <(sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' "$build/compile_commands.json" | sort -u |
    grep -E "^$PWD/(source|tools)/|^$PWD/$build/(source|tools)/.*/plumb_[^/]*\.dir/Unity/" | grep -v "/plumb_kind_")
  covered=$(printf '%s\n' "${units[@]}"
    printf '%s\0' "${units[@]}" | xargs -0 sed -n 's/^#include "\(.*[.]cc\)"$/\1/p')
  for file in "${files[@]}"; do  # what this machine's build leaves out is read alone
    grep -qxF "$PWD/$file" <<<"$covered" || units+=("$file")
  done
fi
printf '%s\0' "${units[@]}" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy-14 -p "$build" --quiet "--warnings-as-errors=*" ${options[@]+"${options[@]}"} \
    >"$build.out" 2>/dev/null || {
  cat "$build.out" >&2
  echo "tidy: the lines above are what clang-tidy finds in ${#files[@]} files." >&2
  exit 1
}
echo "tidy: ${#files[@]} files, nothing found."
