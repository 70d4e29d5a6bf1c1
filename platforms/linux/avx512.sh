#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs build/release on a CPU with AVX-512 that Bochs emulates, for machines that have none: a kernel, BusyBox and the
# programs in one image. A billion instructions take about a minute, so choose.
#
#   platforms/linux/avx512.sh                      the vector kernels' tests, some ten minutes
#   platforms/linux/avx512.sh TEST [FILTER] ...    these of build/release/test-bin, each with GoogleTest's filter ("*"
#                                                  for all of its cases)
#   platforms/linux/avx512.sh --check FOLDER [WORD ...]   model_check -d X86 with these words (--shape ...) on each
#                                                  FOLDER/NAME.onnx or .tnnproto, with FOLDER/NAME.npz as its inputs
#                                                  where that is there
#
# What the emulated machine wrote lies in build/avx512/serial.txt. Exit code: 0 when all passed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# Bochs 2.7 rounds some ties of f16 away from even, which no CPU does.
simd='-SimdConvertTest.RoundsLikeTheScalarCode'
models=
case "${1:-}" in
  -h | --help) sed -n '3,14s/^# \{0,1\}//p' platforms/linux/avx512.sh; exit 0 ;;
  --check)
    models=${2:-}
    ls "$models"/*.onnx >/dev/null 2>&1 || ls "$models"/*.tnnproto >/dev/null 2>&1 ||
      { echo "avx512.sh: --check needs a folder with .onnx or .tnnproto files, found '$models'." >&2; exit 2; }
    ;;
  -*) echo "avx512.sh: unknown option '$1'; it knows --check FOLDER and --help." >&2; exit 2 ;;
esac
source platforms/linux/build.sh
install_missing bochs bochs-term bochsbios vgabios isolinux syslinux-common xorriso busybox-static cpio
work=$PWD/build/avx512 image=$PWD/build/avx512/image
rm -rf "$image" "$work/iso" "$work/serial.txt" "$work/screen"
mkdir -p "$image"/{bin,proc,sys,dev,tmp,plumb} "$work"/{iso,kernel}

# Its kernel: Debian's, unpacked and not installed.
if ! ls "$work"/kernel/boot/vmlinuz-* >/dev/null 2>&1; then
  package=$(apt-cache depends linux-image-amd64 | grep -o 'linux-image-[0-9][^ ]*' | head -n 1)
  (cd "$work/kernel" && apt-get -q download "$package" >/dev/null && dpkg-deb -x "$package"_*.deb .)
fi
cp "$work"/kernel/boot/vmlinuz-* "$work/iso/vmlinuz"
cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 "$work/iso/"
cp "$(command -v busybox)" "$image/bin/busybox"

# programs PATH...: into the image, with the libraries that they load.
programs() {
  local program library
  for program in "$@"; do
    [ -x "$program" ] || { echo "avx512.sh: there is no $program; build it (platforms/linux/test.sh)." >&2; exit 2; }
    install -s "$program" "$image/plumb/"
    ldd "$program" | grep -oE '(^|[[:space:]])/[^ ]+' | while read -r library; do
      mkdir -p "$image/$(dirname "$library")"
      cp -L "$library" "$image/$library"
    done
  done
}
{
  echo '#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
exec >/dev/ttyS0 2>&1
cd /plumb
failed=0
run() { echo "== $*"; "$@" || failed=1; }'
  if [ -n "$models" ]; then
    echo 'run ./device_info'
    for model in "$models"/*.onnx "$models"/*.tnnproto; do
      [ -e "$model" ] || continue
      name=$(basename "${model%.*}") words="-m $(basename "$model") -d X86 --quiet ${*:3}"
      [ ! -e "$models/$name.npz" ] || words+=" -i $name.npz"
      cp "$models/$name".* "$image/plumb/"
      echo "run ./model_check $words"
    done
  elif [ $# -gt 0 ]; then
    while [ $# -gt 0 ]; do
      echo "run ./$1 --gtest_color=no --gtest_brief=1 '--gtest_filter=${2:-*}'"
      shift $(($# > 1 ? 2 : 1))
    done
  else
    echo "run ./simd_test --gtest_color=no --gtest_brief=1 '--gtest_filter=$simd'"
  fi
  echo 'echo "avx512.sh: $failed"
/bin/busybox sleep 1  # until the line is out
/bin/busybox poweroff -f'
} >"$image/init"
chmod +x "$image/init"
if [ -n "$models" ]; then
  programs build/release/bin/{device_info,model_check}
else
  for test in $(grep -o '^run \./[a-z0-9_]*' "$image/init" | sed 's,.*/,,' | sort -u); do
    programs "build/release/test-bin/$test"
  done
fi
(cd "$image" && find . | cpio -o -H newc 2>/dev/null) >"$work/iso/initrd"

# Bochs tells the kernel sizes of a saved state that do not agree; without xsaves and xsavec they do.
echo "default plumb
label plumb
 kernel vmlinuz
 append initrd=initrd console=ttyS0 quiet mitigations=off tsc=reliable clearcpuid=pku,xsaves,xsavec rdinit=/init" \
  >"$work/iso/isolinux.cfg"
xorriso -as mkisofs -quiet -o "$work/boot.iso" -b isolinux.bin -c boot.cat -no-emul-boot -boot-load-size 4 \
  -boot-info-table "$work/iso" 2>"$work/log"
echo "config_interface: textconfig
display_library: term
memory: guest=2048, host=2048
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
boot: cdrom
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=cdrom, path=$work/boot.iso, status=inserted
log: $work/bochs.log
panic: action=fatal
error: action=ignore
info: action=ignore
debug: action=ignore
com1: enabled=1, mode=file, dev=$work/serial.txt
cpu: model=corei7_skylake_x, count=1, ips=100000000, reset_on_triple_fault=0, ignore_bad_msrs=1
clock: sync=none, time0=local" >"$work/bochsrc"
echo c >"$work/debugger"  # Debian's Bochs has one, which waits for a word
echo "Starting the emulated machine; it writes to build/avx512/serial.txt."
TERM=xterm script -qfc "stty rows 50 cols 100; bochs -q -rc '$work/debugger' -f '$work/bochsrc'" "$work/screen" \
  >/dev/null 2>&1 </dev/null &
machine=$!
trap 'pkill -9 -f "$work/bochsrc" || true' EXIT
# Its screen is a terminal of its own, which somebody has to read.
for _ in $(seq 100); do
  screen=$(grep -ao 'connected to screen "[^"]*' "$work/screen" 2>/dev/null | cut -d'"' -f2) && break
  sleep 0.2
done
[ -n "${screen:-}" ] || { cat "$work/screen" "$work/bochs.log" >&2; echo "Bochs did not start (above)." >&2; exit 1; }
cat "$screen" >/dev/null 2>&1 &
wait $machine || true
grep -avE '^\[ |^Running main|clocksource' "$work/serial.txt"
if grep -aqE 'Running 0 tests|^\[==========\] 0 tests' "$work/serial.txt"; then
  echo "avx512.sh: a filter matches no test (above)." >&2
  exit 2
fi
grep -aq '^avx512.sh: 0' "$work/serial.txt" || { echo "Not all passed (above)." >&2; exit 1; }
