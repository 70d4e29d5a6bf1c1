#!/usr/bin/env bash
# Cross-compiles Plumb for 64-bit ARM (preset arm64-cross: NAIVE, ARM, all readers, the tools) and runs its tests in
# qemu-user.
#
#   platforms/linux/arm64.sh             build/arm64-cross, then the tests, on the CPU "max"
#   platforms/linux/arm64.sh --cpu NAME  another CPU that `qemu-aarch64 -cpu help` lists: cortex-a53, cortex-a76
#
# The ARM libraries are Debian's, unpacked into build/arm64-sysroot: nothing of them is installed. A tool runs here as
#   qemu-aarch64 -L build/arm64-sysroot build/arm64-cross/bin/model_check ...
# Exit code: 0 when all passed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cpu=max
while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) sed -n '2,10s/^# \{0,1\}//p' "platforms/linux/arm64.sh"; exit 0 ;;
    --cpu) [ $# -gt 1 ] || { echo "arm64.sh: --cpu needs a name." >&2; exit 2; }; cpu=$2; shift 2 ;;
    *) echo "arm64.sh: unknown option '$1'; it knows --cpu NAME and --help." >&2; exit 2 ;;
  esac
done
unset DUMP_INPUT_BLOB DUMP_OUTPUT_BLOB
source platforms/linux/build.sh

# arm64_sysroot FOLDER PACKAGE...: Debian's packages for arm64 and what they need, unpacked there; once.
arm64_sysroot() {
  local root=$1 work=$1.apt packages=("${@:2}") deb
  [ "$(cat "$root/packages" 2>/dev/null)" != "${packages[*]}" ] || return 0
  echo "Unpacking Debian's arm64 libraries into $root"
  rm -rf "$root" "$work"
  mkdir -p "$root" "$work"/{lists,archives}/partial
  : >"$work/status"
  work=$PWD/$work
  local options=(-q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Debug::NoLocking=1
    -o Dir::State="$work" -o Dir::State::status="$work/status" -o Dir::State::lists="$work/lists"
    -o Dir::Cache="$work" -o Dir::Cache::archives="$work/archives")
  {
    apt-get "${options[@]}" update &&
      apt-get "${options[@]}" install -y --no-install-recommends --download-only "${packages[@]}"
  } >"$work/log" 2>&1 || {
    cat "$work/log" >&2
    echo "apt-get could not fetch ${packages[*]} for arm64 (its output is above)." >&2
    return 4
  }
  for deb in "$work"/archives/*.deb; do dpkg-deb -x "$deb" "$root"; done
  find "$root" -lname '/*' | while read -r link; do  # absolute ones would lead out of the folder
    ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$root$(readlink "$link")")" "$link"
  done
  rm -rf "$work"
  echo "${packages[*]}" >"$root/packages"
}

install_missing g++ cmake ninja-build ccache nlohmann-json3-dev g++-aarch64-linux-gnu qemu-user
arm64_sysroot build/arm64-sysroot libstdc++-12-dev libprotobuf-dev libonnx-dev libzstd-dev zlib1g-dev \
  libspdlog-dev libfmt-dev libhwy-dev libpng-dev libturbojpeg0-dev nlohmann-json3-dev libxxhash-dev libgtest-dev
build arm64-cross
cmake build/arm64-cross -DPLUMB_QEMU_CPU="$cpu" >/dev/null
# qemu-user 7.2 fails itself where a program with threads forks. Tests that start the tools as programs of their own
# are those of the x86 builds: a kernel without binfmt_misc starts no ARM program.
export GTEST_FILTER='-*AForkedChild*'
started='^(tools|tool_words|model_convert|subject|constant|only_tools|consumer|numpy|dump_process|mutate|netron'
started+='|plumb_golden)_'
ctest --test-dir build/arm64-cross -LE slow -E "$started" -j "$(nproc)" --output-on-failure
