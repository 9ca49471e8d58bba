#!/usr/bin/env bash
# The README's two commands on a Debian with nothing installed: a root made by debootstrap (minimal variant) with a clone
# of the last commit and, where there is one, ../shared. As root; the packages come from where this machine has its own.
#
#   tools/bare_root.sh           # ./dev demo, then ./dev test
#   tools/bare_root.sh demo      # one of them
#
# The root is a new folder under build/, removed at the end. Exit code 77: no such root can be made here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly suite=bookworm
commands=("$@")
(( $# > 0 )) || commands=(demo test)

skip() {
  printf 'bare_root: skipped: %s\n' "$*" >&2
  exit 77
}

(( EUID == 0 )) || skip "needs the rights of root"
command -v debootstrap >/dev/null || skip "debootstrap is not installed (apt-packages.txt, [bare])"
# shellcheck disable=SC2016 # apt's own names
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' "Codename: $suite" 'Component: main' | head -n 1)
[[ -n $mirror ]] || skip "apt knows no mirror of Debian $suite"

mkdir -p build
root=$(mktemp -d "$PWD/build/bare.XXXXXX")
readonly root

leave() {
  local folder
  for folder in tree/shared dev/pts proc; do
    if mountpoint -q "$root/$folder"; then umount "$root/$folder"; fi
  done
  rm -rf --one-file-system "$root"
}
trap leave EXIT

printf 'bare_root: a minimal root of %s\n' "$suite"
if ! debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" "$mirror" >"$root/debootstrap.log" 2>&1; then
  tail -n 5 "$root/debootstrap.log" >&2
  skip "debootstrap failed"
fi
# How this machine reaches its mirror: sources and certificates, no packages.
rm -f "$root/etc/apt/sources.list"
cp -a /etc/apt/apt.conf.d /etc/apt/sources.list.d "$root/etc/apt/"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"

mkdir -p "$root/tree"
git clone -q --no-local . "$root/tree/ridgeline"
if [[ -d ../shared ]]; then
  mkdir "$root/tree/shared"
  mount --bind -o ro "$(realpath ../shared)" "$root/tree/shared"
fi
mount -t proc proc "$root/proc"
mkdir -p "$root/dev/pts"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"

for command in "${commands[@]}"; do
  start=$SECONDS
  chroot "$root" /usr/bin/env -i HOME=/ PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    bash -c 'cd /tree/ridgeline && exec ./dev "$0"' "$command"
  printf 'bare_root: ./dev %s: %d s\n' "$command" $((SECONDS - start))
done
