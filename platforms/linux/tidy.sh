#!/usr/bin/env bash
# Runs clang-tidy (.clang-tidy) over C++ files, each read alone and without precompiled headers.
#
#   platforms/linux/tidy.sh          what changed since main (on main itself: since the last commit), when that is at
#                                    most 40 files
#   platforms/linux/tidy.sh --all    the whole of source/ and tools/, some 500 files of several seconds each
#   platforms/linux/tidy.sh FILE...  these
#
# Exit code: 0 when nothing is found, 1 with the findings.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
limit=40
case "${1:-}" in
  -h | --help) sed -n '2,9s/^# \{0,1\}//p' "platforms/linux/tidy.sh"; exit 0 ;;
  --all)
    mapfile -t files < <(git ls-files 'source/*.cc' 'tools/*.cc')
    limit=${#files[@]} ;;
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
mkdir -p build
cmake --preset tidy >build/tidy.log 2>&1 || { cat build/tidy.log >&2; exit 4; }
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy-14 -p build/tidy --quiet "--warnings-as-errors=*" \
    >build/tidy.out 2>/dev/null || {
  cat build/tidy.out >&2
  echo "tidy: the lines above are what clang-tidy finds in ${#files[@]} files." >&2
  exit 1
}
echo "tidy: ${#files[@]} files, nothing found."
