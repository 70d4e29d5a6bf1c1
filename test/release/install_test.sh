#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What platforms/linux/release.sh makes, installed on a bare Debian 12 and 13 without a compiler, does there what the
# README says. Slow: makes the release first where build/dist does not hold this commit's.
#
#   test/release/install_test.sh [RELEASE ...]      bookworm trixie
#
# Exit code 77: the checkout is not clean, or no bare Debian can be made here (bare.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
releases=("$@")
[ $# -gt 0 ] || releases=(bookworm trixie)
[ "$(id -u)" = 0 ] || { echo "skipped: bare systems take root"; exit 77; }
commit=$(git rev-parse HEAD 2>/dev/null) || { echo "skipped: a release is made of a git repository"; exit 77; }
if [ "$(cat build/dist.commit 2>/dev/null)" != "$commit" ]; then
  [ -z "$(git status --porcelain)" ] || { echo "skipped: a release is made of a clean checkout"; exit 77; }
  pythons=(python3)
  for python in python3.12 python3.13 "$HOME"/.pyenv/versions/3.1[2-9]*/bin/python3.1?; do
    command -v "$python" >/dev/null && { pythons+=("$python"); break; }
  done
  platforms/linux/release.sh --no-arm64 "${pythons[@]}"
  echo "$commit" >build/dist.commit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r build/dist examples "$work"
cp test/fuzz/corpus/onnx/conv.onnx "$work/your.onnx"

cat >"$work/all.sh" <<'END'
set -euo pipefail
(cd dist && sha256sum --quiet -c SHA256SUMS)
! command -v c++ cmake || { echo "this is no bare system"; exit 1; }
{ apt-get update -q && apt-get install -y -q --no-install-recommends pipx; } >apt.log 2>&1 ||
  { tail -n 5 apt.log; exit 77; }
export PATH=$PATH:/root/.local/bin

# works HOW [without_device_check]: the README's commands with the tools on PATH.
works() {
  local folder tool
  hash -r
  folder=$(mktemp -d)
  for tool in blob_diff device_check device_info model_bisect model_check model_convert model_info \
      model_reduce model_run stage_diff; do
    [ "$tool${2:-}" != device_checkwithout_device_check ] || continue
    "$tool" --version >/dev/null
  done
  model_check -m examples/digits/digits.tnnproto -i examples/digits/images/digit_3.png -n 120 -s 0.0078125 --quiet
  model_check -m your.onnx --quiet
  DUMP_OUTPUT_BLOB=1 DUMP_INPUT_BLOB=1 DUMP_BLOB_DIR=$folder/dump model_check -m your.onnx -d X86 --quiet
  model_check -m your.onnx --subject "$folder/dump" --quiet
  model_convert your.onnx -o "$folder/copy" --quiet
  model_run -m "$folder/copy.tnnproto" -d X86 --quiet
  device_info >"$folder/devices"
  grep -q '^X86  *present' "$folder/devices"
  rm -rf "$folder"
  echo "install_test: $1 works on $(. /etc/os-release && echo "$PRETTY_NAME")"
}

tar -xzf dist/plumb-*-linux-x86_64-static.tar.gz
(PATH=$(echo "$PWD"/plumb-*-static):$PATH && works "the static archive" without_device_check)
tar -xzf dist/plumb-*-linux-x86_64.tar.gz
(PATH=$(echo "$PWD"/plumb-*/bin):$PATH && works "the archive")
tar -tzf "$(find dist -regex '.*/plumb-[0-9.]+\.tar\.gz')" >listed
grep -q '/platforms/linux/run.sh$' listed
apt-get install -y -q ./dist/plumb_*_amd64.deb >apt.log 2>&1 || { tail -n 5 apt.log; exit 1; }
works "the .deb"
for file in share/man/man1/model_check.1 lib/pkgconfig/plumb.pc include/plumb_c.h lib/libplumb.so; do
  [ -f "/usr/$file" ] || { echo "the .deb has no $file"; exit 1; }
done
apt-get remove -y -q plumb >apt.log 2>&1
[ ! -e /usr/bin/model_check ] || { echo "the .deb leaves its tools"; exit 1; }
minor=$(python3 -c 'import sys; print(sys.version_info[1])')
wheel=$(ls dist/plumbnn-*-cp3"$minor"-*.whl 2>/dev/null || { [ "$minor" -lt 12 ] || ls dist/plumbnn-*-abi3-*.whl; }) ||
  { echo "install_test: no wheel for Python 3.$minor was made here"; exit 0; }
pipx install "./$wheel" >pipx.log 2>&1 || { cat pipx.log; exit 1; }
works "the wheel"
plumb-golden --version >/dev/null
END
for release in "${releases[@]}"; do
  test/release/bare.sh "$release" "$work" bash all.sh
done
