# What run.sh and test.sh share: the packages, and one function that configures and builds a preset. Sourced, not run.
# REQUIRES: the working folder is the project's root.
source platforms/linux/packages.sh

# on_off NAME: ON or OFF for the environment variable of that name. Anything that is neither is an error.
on_off() {
  case "${!1:-}" in
    1 | ON | on | true | yes) echo ON ;;
    "" | 0 | OFF | off | false | no) echo OFF ;;
    *) echo "$1='${!1}' is neither on nor off; use $1=1 or $1=0." >&2; return 2 ;;
  esac
}

# build PRESET: configures into build/PRESET and builds what is out of date. The dump options are passed each time, so that a
# build with dumps switched on does not stay that way.
build() {
  local preset=$1 log=build/$1.log input output parallel
  input=$(on_off DUMP_INPUT_BLOB) || return
  output=$(on_off DUMP_OUTPUT_BLOB) || return
  mkdir -p build
  cmake --preset "$preset" -DDUMP_INPUT_BLOB="$input" -DDUMP_OUTPUT_BLOB="$output" >"$log" 2>&1 || {
    cat "$log" >&2
    echo "CMake could not configure preset '$preset' (the lines above are $log)." >&2
    return 4
  }
  parallel=$(nproc)
  if [ -t 1 ]; then
    cmake --build --preset "$preset" -j "$parallel"
  else
    cmake --build --preset "$preset" -j "$parallel" >"$log" 2>&1 || {
      grep -E -A12 'FAILED|error' "$log" | head -n 100 >&2
      echo "The build of preset '$preset' failed (whole output: $log)." >&2
      return 4
    }
  fi
}
