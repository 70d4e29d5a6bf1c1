#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Cross-compiles Plumb for 64-bit ARM (preset arm64-cross: NAIVE, ARM, all readers, the tools) and runs its tests in
# qemu-user.
#
#   platforms/linux/arm64.sh             build/arm64-cross, its tests on the CPU "max", those of the device ARM also
#                                        on cortex-a53 and cortex-a76; then NAIVE against x86-64's, bit for bit, and
#                                        what each kernel takes in instructions
#   platforms/linux/arm64.sh --slow      those that take minutes in an emulator, every seed and the heavy networks, too
#   platforms/linux/arm64.sh --cpu NAME  all tests on this CPU alone; `qemu-aarch64 -cpu help` lists them
#   platforms/linux/arm64.sh --static    instead build/arm64-static/bin: the tools without ONNX, each one file that
#                                        starts on any arm64 Linux or Android kernel; then runs them on those CPUs
#
# The ARM libraries are Debian's, unpacked into build/arm64-sysroot: nothing of them is installed. A tool runs here as
#   qemu-aarch64 -L build/arm64-sysroot build/arm64-cross/bin/model_check ...
# Exit code: 0 when all passed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cpus=(max cortex-a53 cortex-a76)
static=
slow='same_bits|arm_kernel_instructions'
seeds=1  # of those tests that try several
# What an emulator takes a minute or three for, and what is beside it says as much of the device.
heavy=
for tests in 'Int8.CoarseFaults*' 'Int8.HealthySubjects*' 'Int8.WeightsOf*' 'Int8.One*' 'RecurrentCheck.AStateIn*' \
  'PlantedFaults.EachCoarse*' \
  'CpuAttention.OfEvery*' '*/CpuWinograd.FaultsInsideAreFound/'{'*7','*3','F2*'} '*/CpuWinograd.*/F2_made' \
  '*/WrongWinograd.IsNamed/F2_5'; do
  heavy+=":$tests"
done
while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) sed -n '3,17s/^# \{0,1\}//p' "platforms/linux/arm64.sh"; exit 0 ;;
    --cpu) [ $# -gt 1 ] || { echo "arm64.sh: --cpu needs a name." >&2; exit 2; }; cpus=("$2"); shift 2 ;;
    --static) static=1; shift ;;
    --slow) slow+='|networks_heavy'; seeds='' heavy=''; shift ;;
    *) echo "arm64.sh: unknown option '$1'; it knows --slow, --cpu NAME, --static and --help." >&2; exit 2 ;;
  esac
done
unset DUMP_INPUT_BLOB DUMP_OUTPUT_BLOB
[[ ! "$(uname -m)" =~ ^(aarch64|arm64)$ ]] || {
  echo "arm64.sh cross-compiles on x86-64; this machine is arm64: run.sh and test.sh build for it." >&2
  exit 2
}
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

# check_static CPU: the static tools on the example, with nothing beside them but the kernel.
check_static() {
  local bin=build/arm64-static/bin work=build/arm64-static/check example=examples/digits/digits.tnnproto
  local image=(-i examples/digits/images/digit_3.png -n 120 -s 0.0078125)
  export QEMU_CPU=$1
  rm -rf "$work"
  mkdir -p "$work"
  qemu-aarch64 "$bin/device_info" >"$work/device_info" &&
    grep -q '^ARM  *present' "$work/device_info" &&
    qemu-aarch64 "$bin/model_info" -m "$example" >"$work/model_info" &&
    qemu-aarch64 "$bin/model_convert" -m "$example" -o "$work/again" >"$work/model_convert" &&
    qemu-aarch64 "$bin/model_run" -m "$example" -d NAIVE "${image[@]}" -o "$work/naive.npy" >"$work/model_run" &&
    qemu-aarch64 "$bin/model_run" -m "$work/again.tnnproto" -d ARM "${image[@]}" -o "$work/arm.npy" \
      >>"$work/model_run" &&
    qemu-aarch64 "$bin/blob_diff" "$work/arm.npy" "$work/naive.npy" >"$work/blob_diff" &&
    qemu-aarch64 "$bin/model_check" -m "$example" -d ARM --min-tested 100% "${image[@]}" >"$work/model_check" &&
    echo "$1: $(tail -n 1 "$work/model_check")" || {
    tail -n 5 "$work"/* >&2
    echo "The static tools failed on $1 (their last lines are above; all of them in $work)." >&2
    return 1
  }
}

install_missing g++ cmake ninja-build ccache nlohmann-json3-dev g++-aarch64-linux-gnu qemu-user
arm64_sysroot build/arm64-sysroot libstdc++-12-dev libprotobuf-dev libonnx-dev libzstd-dev zlib1g-dev \
  libfmt-dev libhwy-dev libpng-dev libturbojpeg0-dev nlohmann-json3-dev libxxhash-dev libgtest-dev
if [ -n "$static" ]; then
  build arm64-static
  for tool in blob_diff device_info model_check model_convert model_info model_run; do
    ! readelf -lW "build/arm64-static/bin/$tool" | grep -E 'INTERP|NEEDED|DYNAMIC' >&2 ||
      { echo "build/arm64-static/bin/$tool is not static (the lines above)." >&2; exit 1; }
  done
  for cpu in "${cpus[@]}"; do check_static "$cpu"; done
  du -h build/arm64-static/bin/*
  exit 0
fi
build arm64-cross
install_missing "${build_packages[@]}"
build release model_run  # what NAIVE computes here
# qemu-user 7.2 fails itself where a program with threads forks. Tests that start the tools as programs of their own
# are those of the x86 builds: a kernel without binfmt_misc starts no ARM program.
export GTEST_FILTER="-*AForkedChild*$heavy"
export PLUMB_TEST_DEVICE=ARM  # NAIVE is not tested beside it: same_bits_test is there for that
[ -z "$seeds" ] || export PLUMB_TEST_SEEDS=$seeds
started='^(tools|tool_words|model_convert|subject|constant|only_tools|consumer|numpy|dump_process|mutate|netron'
started+='|plumb_golden)_'
select=()
for cpu in "${cpus[@]}"; do
  echo "Testing on $cpu"
  QEMU_CPU=$cpu ctest --test-dir build/arm64-cross -LE slow "${select[@]}" -E "$started" -j "$(nproc)" \
    --output-on-failure
  select=(-R '^(base|simd|arm_.*|device|op|networks)_test')  # what may depend on the CPU
done
ctest --test-dir build/arm64-cross -L slow -R "^($slow)_test" --output-on-failure
