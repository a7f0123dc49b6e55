#!/bin/bash
# From nothing to a contained command on a clean Debian: makes a minimal tree with debootstrap,
# copies this clone into it and runs `./cordon run -- true` there, as root and as an ordinary user.
# Needs root, debootstrap, a package mirror and about 2 GB below TMPDIR.
#
#   tests/packaging/debian_tree.sh [--suite bookworm] [--tests] [--keep]
#
# --tests also runs ./test inside. The mirror is that of the machine's own apt configuration.
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)
suite=bookworm tests='' keep=''
while [ $# -gt 0 ]; do
  case $1 in
    --suite) suite=$2; shift ;;
    --tests) tests=yes ;;
    --keep) keep=yes ;;
    *) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2 ;;
  esac
  shift
done
[ "$(id -u)" -eq 0 ] || { echo "needs root"; exit 77; }
command -v debootstrap >/dev/null || { echo "needs debootstrap"; exit 77; }

# First plain archive that apt knows for a suite of Debian itself: not a security or vendor one.
mirror=$(apt-get indextargets --format '$(SITE) $(ORIGIN)' 'Created-By: Packages' 2>/dev/null |
  awk '$2 == "Debian" && $1 !~ /security/ { print $1; exit }')
[ -n "$mirror" ] || mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' |
  grep -v security | head -n 1)
[ -n "$mirror" ] || { echo "apt on this machine knows no archive"; exit 77; }

tree=$(mktemp -d)
cleanup() {
  # The mounts ended with the mount namespace that they were made in.
  if [ -n "$keep" ]; then echo "kept: $tree"; else rm -rf --one-file-system "$tree"; fi
}
trap cleanup EXIT
chmod 755 "$tree"
echo "== debootstrap $suite into $tree"
debootstrap --variant=minbase "$suite" "$tree" "$mirror" >"$tree.log" 2>&1 ||
  { tail -n 20 "$tree.log"; exit 1; }
rm -f "$tree.log"

# apt inside goes where apt outside goes: proxies and certificates of this machine.
apt-config dump | grep -E '^Acquire::(http|https)::' >"$tree/etc/apt/apt.conf.d/90host" || true
cp /etc/resolv.conf /etc/hosts "$tree/etc/" 2>/dev/null || true
if [ -d /usr/local/share/ca-certificates ] || [ -e /etc/ssl/certs/ca-certificates.crt ]; then
  mkdir -p "$tree/etc/ssl/certs"
  cp -L /etc/ssl/certs/ca-certificates.crt "$tree/etc/ssl/certs/" 2>/dev/null || true
fi
mkdir "$tree/clone"
tar -C "$root" --exclude=./build --exclude='./build-*' -cf - . | tar -C "$tree/clone" -xf -
chown -R 0:0 "$tree/clone"

# inside COMMAND: with the tree as root, /proc of its own, /sys and /dev of the machine; the mounts end
# with the command. pivot_root, since the kernel makes no user namespace for a process in a chroot.
inside() {
  # shellcheck disable=SC2016  # for the inner shell
  unshare --mount --pid --fork --kill-child bash -c '
    set -e
    tree=$1; shift
    mount --make-rprivate /
    mount --rbind "$tree" "$tree"
    mount -t proc proc "$tree/proc"
    mount --rbind /sys "$tree/sys"
    mount --rbind /dev "$tree/dev"
    cd "$tree"
    pivot_root . .
    umount -l .
    cd /
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 CI=true "$@"
  ' inside "$tree" "$@"
}

failed=0
check() { # check NAME COMMAND...
  local name=$1
  shift
  echo "== $name"
  if "$@"; then echo "ok: $name"; else echo "FAILED: $name"; failed=1; fi
}
mkdir "$tree/root/work"
check "first run as root" inside sh -c 'cd /root/work && /clone/cordon run -- true'
check "second run is quiet" inside sh -c \
  'cd /root/work && /clone/cordon run -- true >/tmp/out 2>&1 && ! [ -s /tmp/out ] || { cat /tmp/out; false; }'
check "exit code is the command's" inside sh -c \
  'cd /root/work && /clone/cordon run -- sh -c "exit 7"; [ $? -eq 7 ]'
inside useradd --create-home someone
check "run as an ordinary user" inside su someone -c 'cd && mkdir work && cd work && /clone/cordon run -- true'
check "a secret stays unread" inside su someone -c '
  cd && mkdir -p .ssh && echo secret >.ssh/id_ed25519 && cd work &&
  ! /clone/cordon run -- cat ../.ssh/id_ed25519 2>/dev/null'
if [ -n "$tests" ]; then
  check "./test" inside /clone/test
fi
exit "$failed"
