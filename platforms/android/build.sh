#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the tools for 64-bit Android phones with the NDK (preset android-arm64): NAIVE, ARM, OPENCL and VULKAN, no ONNX
# reader. README.md beside this file says what it needs and what of it was never tried.
#
#   platforms/android/build.sh       $ANDROID_NDK_HOME: the NDK, r25 or later; $VCPKG_ROOT: a vcpkg, bootstrapped
#
# The tools are then in build/android-arm64/bin. Exit code: 2 when something is missing here, 4 when the build fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
case "${1:-}" in
  "") ;;
  -h | --help) sed -n '3,8s/^# \{0,1\}//p' "platforms/android/build.sh"; exit 0 ;;
  *) echo "build.sh: unknown option '$1'; it knows --help." >&2; exit 2 ;;
esac
missing() {
  echo "$1 (platforms/android/README.md)" >&2
  exit 2
}
toolchain=build/cmake/android.toolchain.cmake
[ -f "${ANDROID_NDK_HOME:-}/$toolchain" ] ||
  missing "ANDROID_NDK_HOME='${ANDROID_NDK_HOME:-}' is no NDK: it has no $toolchain"
[ -f "${VCPKG_ROOT:-}/scripts/buildsystems/vcpkg.cmake" ] ||
  missing "VCPKG_ROOT='${VCPKG_ROOT:-}' is no vcpkg: it has no scripts/buildsystems/vcpkg.cmake"
command -v glslangValidator >/dev/null || missing "glslangValidator is not there: apt-get install glslang-tools"
[ -d /usr/include/CL ] || missing "/usr/include/CL is not there: apt-get install opencl-c-headers"
source platforms/linux/build.sh

mkdir -p build/android-headers
ln -sfn /usr/include/CL build/android-headers/CL  # and nothing else of this machine's
build android-arm64 tools
echo "Built: try  device_check -m your.onnx -d OPENCL --adb SERIAL --binaries build/android-arm64/bin"
