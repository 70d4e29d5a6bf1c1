# SPDX-License-Identifier: Apache-2.0
# The Debian packages that Plumb needs, in one list, and the functions that name this system and install what is
# missing. Sourced, not run.
# Why each library is taken, and its licence: third_party/README.md.

# To build and use Plumb.
build_packages=(
  g++ cmake ninja-build ccache
  opencl-c-headers ocl-icd-libopencl1 pocl-opencl-icd # device OPENCL; PoCL runs it without a GPU
  libhwy-dev libzstd-dev zlib1g-dev libfmt-dev
  libprotobuf-dev libonnx-dev libflatbuffers-dev flatbuffers-compiler
  nlohmann-json3-dev libpng-dev libturbojpeg0-dev libxxhash-dev
  libgtest-dev
  python3-venv # build/venv, where plumb-golden runs models in ONNX Runtime
  libvulkan-dev libvulkan1 mesa-vulkan-drivers glslang-tools # device VULKAN; Mesa's lavapipe runs it without a GPU
)
case "$(uname -m)" in
  x86_64 | amd64) # device X86; libdnnl-dev only recommends the other, but its CMake files cannot do without
    build_packages+=(libdnnl-dev ocl-icd-opencl-dev) ;;
esac
# To build the Python package (pip install .).
python_packages=(python3-dev)
# To run every test: clang brings libFuzzer, valgrind counts the hooks' instructions, adb and openssh-server are both
# ends of device_check, qemu-user runs its programs for ARM, numpy reads our .npy files, libonnx-testdata has the ONNX
# backend tests, the validation layers watch what device VULKAN asks of its driver; the slow tests install other
# runtimes into a virtual environment.
test_packages=(
  "${python_packages[@]}" clang libclang-rt-dev valgrind python3-numpy libonnx-testdata
  vulkan-validationlayers adb openssh-client openssh-server qemu-user
)
# Of the slow tests alone: the ports of examples/faces and examples/orientation are written with OpenCV.
slow_packages=(libopencv-dev)
# What Debian 12 alone has: these two check the form of the sources (other versions format and find otherwise), and
# oclgrind watches the OPENCL kernels' memory accesses. Elsewhere those checks are left out, which test.sh says.
debian_12_packages=(clang-format-14 clang-tidy-14 oclgrind)

# distribution [FILE]: "debian 12" of an os-release file (os-release(5)), "unknown" where it says nothing.
distribution() {
  local file=${1:-/etc/os-release}
  [ -r "$file" ] || file=/dev/null
  (
    ID='' VERSION_ID=''
    source "$file"
    echo "${ID:-unknown}${VERSION_ID:+ $VERSION_ID}"
  )
}

# say_distribution [FILE]: a sentence on stderr where Plumb has not been tried; nothing where it has.
say_distribution() {
  local found
  found=$(distribution "$@")
  case "$found" in
    "debian 12" | "debian 13") ;;
    *) echo "Plumb is tried on Debian 12 and 13; this is $found: packages may have other names or versions." >&2 ;;
  esac
}

# install_missing PACKAGE...: installs those that are not there. Touches neither network nor disk when none is missing.
install_missing() {
  local missing=() package
  if ! command -v dpkg-query >/dev/null; then
    echo "This is no Debian: taking for granted that these are installed: $*" >&2
    return 0
  fi
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || {
      echo "Missing packages: ${missing[*]}. Run this as root, or install sudo, or: apt-get install ${missing[*]}" >&2
      return 2
    }
    as_root=(sudo)
  fi
  echo "Installing ${missing[*]}"
  local log
  log=$(mktemp)
  {
    "${as_root[@]}" apt-get update -q &&
      "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
  } >"$log" 2>&1 || {
    cat "$log" >&2
    echo "apt-get could not install ${missing[*]} (its output is above)." >&2
    return 4
  }
  rm -f "$log"
}
