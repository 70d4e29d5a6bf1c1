# SPDX-License-Identifier: Apache-2.0
# What run.sh and test.sh share: the packages, a function that configures and builds a preset, and one that makes the
# Python environment of plumb-golden. Sourced, not run.
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

# progress LOG: every ten seconds where Ninja is ("[120/640]"), for as long as it is not killed.
progress() {
  local started=$SECONDS step shown=
  exec 9<> <(:)  # a pipe that nobody writes to: to wait without a process that would outlive this one
  while ! read -r -t 10 -u 9; do
    step=$(grep -o '^\[[0-9]*/[0-9]*\]' "$1" | tail -n 1) || true
    [ "$step" = "$shown" ] || echo "  $step after $((SECONDS - started)) s"
    shown=$step
  done
}

# build PRESET [TARGET]: configures into build/PRESET and builds what is out of date. The dump options are passed each
# time, so that a build with dumps switched on does not stay that way.
build() {
  local preset=$1 log=build/$1.log input output target=() reporter code=0
  [ $# -lt 2 ] || target=(--target "$2")
  input=$(on_off DUMP_INPUT_BLOB) || return
  output=$(on_off DUMP_OUTPUT_BLOB) || return
  mkdir -p build
  cmake --preset "$preset" -DDUMP_INPUT_BLOB="$input" -DDUMP_OUTPUT_BLOB="$output" >"$log" 2>&1 || {
    cat "$log" >&2
    echo "CMake could not configure preset '$preset' (the lines above are $log)." >&2
    return 4
  }
  if [ -t 1 ]; then  # Ninja shows its progress itself
    cmake --build --preset "$preset" "${target[@]}" -j "$(nproc)" || return 4
    return 0
  fi
  echo "Building build/$preset on $(nproc) processors"
  progress "$log" &
  reporter=$!
  cmake --build --preset "$preset" "${target[@]}" -j "$(nproc)" >"$log" 2>&1 || code=4
  kill "$reporter" 2>/dev/null
  wait "$reporter" 2>/dev/null || true
  [ "$code" = 0 ] || {
    grep -E -A12 'FAILED|error' "$log" | head -n 100 >&2
    echo "The build of preset '$preset' failed (whole output: $log)." >&2
  }
  return "$code"
}

# why LOG: what stopped what wrote it, and where it is.
why() {
  echo "$(grep -o -m 1 "ERROR: .*" "$1" || tail -n 1 "$1") ($1)"
}

# python_environment: what the Python package is built and tested with, from PyPI into build/venv, where CMake looks for
# it.
python_environment() {
  local venv=build/venv log=build/venv.log
  ! "$venv/bin/python" -c "import mypy, nanobind, numpy, pytest" 2>/dev/null || return 0
  echo "Installing nanobind, numpy, pytest, pytest-xdist and mypy into $venv"
  mkdir -p build
  {
    { [ -x "$venv/bin/pip" ] || python3 -m venv "$venv"; } &&
      PIP_RETRIES=1 PIP_TIMEOUT=15 PIP_DISABLE_PIP_VERSION_CHECK=1 \
        "$venv/bin/pip" install -q "nanobind>=2.9" numpy pytest pytest-xdist mypy
  } >"$log" 2>&1 && return
  echo "Going on without the Python package and its tests: $(why "$log")"
}

# golden_environment: plumb-golden with ONNX Runtime in build/venv, which `model_check --golden onnxruntime` finds by
# itself. pip builds a copy, so that it writes nothing into tools/python. What cannot be had is said, and nothing else
# fails for it.
golden_environment() {
  local venv=build/venv source=build/plumb_golden log=build/venv.log want
  want=$(cat tools/python/pyproject.toml tools/python/plumb_golden/*.py | cksum)
  [ "$(cat "$venv/plumb_golden.cksum" 2>/dev/null)" != "$want" ] || return 0
  echo "Installing plumb-golden and ONNX Runtime into $venv"
  rm -rf "$source"
  mkdir -p "$source/plumb_golden"
  cp tools/python/pyproject.toml "$source"
  cp tools/python/plumb_golden/*.py "$source/plumb_golden"
  {
    { [ -x "$venv/bin/pip" ] || python3 -m venv "$venv"; } &&
      { [ ! -e "$venv/bin/plumb-golden" ] || "$venv/bin/pip" uninstall -q -y plumb-golden; } &&
      PIP_RETRIES=1 PIP_TIMEOUT=15 PIP_DISABLE_PIP_VERSION_CHECK=1 "$venv/bin/pip" install -q "./$source[onnx]"
  } >"$log" 2>&1 && echo "$want" >"$venv/plumb_golden.cksum" && return
  echo "Going on without plumb-golden, which --golden onnxruntime needs: $(why "$log")"
}
