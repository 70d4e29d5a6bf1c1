#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What packages.sh says of a system, before anything is downloaded: distribution.sh <repository>
set -euo pipefail
source "$1/platforms/linux/packages.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# expect OS_RELEASE NAME SAID: what the file's text makes of distribution, and the text that say_distribution prints.
expect() {
  local name said
  printf '%b' "$1" >"$work/os-release"
  name=$(distribution "$work/os-release")
  said=$(say_distribution "$work/os-release" 2>&1)
  [ "$name" = "$2" ] || { echo "'$1' is called '$name', not '$2'."; failed=1; }
  case "$said" in
    $3) ;;
    *) echo "Of '$2' it says '$said', not '$3'."; failed=1 ;;
  esac
}

expect 'ID=debian\nVERSION_ID="12"\n' 'debian 12' ''
expect 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nVERSION_ID="13"\nID=debian\n' 'debian 13' ''
expect 'ID=debian\nVERSION_ID="11"\n' 'debian 11' 'Plumb is tried on Debian 12 and 13; this is debian 11: *'
expect 'ID=ubuntu\nVERSION_ID="24.04"\n' 'ubuntu 24.04' '*; this is ubuntu 24.04: packages *'
expect 'ID=arch\n' 'arch' '*; this is arch: *'
expect '' 'unknown' '*; this is unknown: *'
rm "$work/os-release"
[ "$(distribution "$work/os-release")" = unknown ] || { echo "A system without the file is not unknown."; failed=1; }
exit "$failed"
