#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command on a bare Debian: a minimal root (debootstrap) in which nothing is installed, with a copy of a folder.
#
#   test/release/bare.sh RELEASE FOLDER COMMAND [ARGUMENT ...]      bookworm or trixie; runs in the copy of FOLDER
#
# The unpacked system is kept as $PLUMB_BARE_CACHE/fresh-RELEASE/base.tar (/var/tmp). Exit code: the command's; 77 where
# there can be no such root: not root, no debootstrap, no mirror.
set -euo pipefail
[ $# -ge 3 ] || { sed -n '3,9s/^# \{0,1\}//p' "$0"; exit 2; }
release=$1 folder=$2
shift 2
base=${PLUMB_BARE_CACHE:-/var/tmp}/fresh-$release/base.tar
unable() {
  echo "skipped: no bare Debian here ($1)"
  exit 77
}
[ "$(id -u)" = 0 ] || unable "it takes root"
if [ ! -f "$base" ]; then
  command -v debootstrap >/dev/null || unable "apt-get install debootstrap"
  new=$(mktemp -d)
  mirror=$(sed -n 's/^URIs: *//p; s/^deb \([^[][^ ]*\).*/\1/p' /etc/apt/sources.list.d/*.sources /etc/apt/sources.list \
    2>/dev/null | head -n 1)
  debootstrap --variant=minbase --include=ca-certificates "$release" "$new" "$mirror" >"$new.log" 2>&1 ||
    { tail -n 5 "$new.log"; rm -rf "$new"; unable "debootstrap failed (above)"; }
  : >"$new/etc/apt/sources.list"
  cp /etc/apt/sources.list.d/*.sources "$new/etc/apt/sources.list.d/" 2>/dev/null ||
    cp /etc/apt/sources.list "$new/etc/apt/"
  sed -i "s/\bbookworm\b/$release/g; s/\bbookworm-/$release-/g" "$new"/etc/apt/sources.list \
    "$new"/etc/apt/sources.list.d/* 2>/dev/null || true
  cp /etc/apt/apt.conf.d/99* "$new/etc/apt/apt.conf.d/" 2>/dev/null || true
  mkdir -p "${base%/*}"
  tar -C "$new" -cf "$base.part" . && mv "$base.part" "$base"
  rm -rf "$new" "$new.log"
fi

root=$(mktemp -d)
gone() {
  for mount in proc dev/shm dev; do ! mountpoint -q "$root/$mount" || umount -l "$root/$mount"; done
  rm -rf --one-file-system "$root"
}
trap gone EXIT
tar -C "$root" -xf "$base"
mkdir -p "$root/root/there"
cp -r "$folder/." "$root/root/there/"
# The way to the network is this machine's.
for file in /etc/resolv.conf /etc/hosts /etc/pip.conf; do [ ! -f "$file" ] || cp "$file" "$root$file"; done
cp -r /etc/ssl/certs/. "$root/etc/ssl/certs/" 2>/dev/null || true
mount --bind /dev "$root/dev" || unable "nothing can be mounted"
[ ! -d /dev/shm ] || mount --bind /dev/shm "$root/dev/shm"
mount -t proc proc "$root/proc"
network=()
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY PIP_INDEX_URL PIP_CERT SSL_CERT_FILE; do
  [ -z "${!name:-}" ] || network+=("$name=${!name}")
done
env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb \
  PIP_DEFAULT_TIMEOUT=180 DEBIAN_FRONTEND=noninteractive ${network[@]+"${network[@]}"} \
  chroot "$root" bash -c 'cd /root/there && exec "$@"' bare "$@"
