#!/bin/sh
# Builds the Debian package, unpacks it and looks whether the unpacked program works on its own.
# Run by .ci/run; needs dpkg-dev.
set -eu
root=$(dirname "$(readlink -f "$0")")/../..
cd "$root"
command -v dpkg-shlibdeps >/dev/null || { echo "needs dpkg-dev"; exit 77; }
./cordon --version >/dev/null

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cpack --config build/release/CPackConfig.cmake -B "$work" >"$work/cpack.log" 2>&1 || {
  cat "$work/cpack.log"
  exit 1
}
set -- "$work"/cordon_*.deb
dpkg-deb --extract "$1" "$work/tree"
dpkg-deb --control "$1" "$work/control"

fail() {
  echo "deb.sh: $1"
  exit 1
}
for file in usr/bin/cordon usr/libexec/cordon/cordon-launch usr/share/man/man1/cordon.1 \
  usr/share/bash-completion/completions/cordon usr/share/zsh/vendor-completions/_cordon \
  usr/share/fish/vendor_completions.d/cordon.fish usr/share/cordon/apparmor/cordon-launch \
  usr/share/doc/cordon/copyright; do
  [ -s "$work/tree/$file" ] || fail "$file is not in the package"
done
# Whatever is linked dynamically must be named; the C++ library must not be among it.
if readelf -d "$work/tree/usr/bin/cordon" | grep -q NEEDED; then
  grep -q '^Depends: .*libc6' "$work/control/control" || fail "no dependency on libc6 was found"
fi
! grep -q '^Depends: .*libstdc' "$work/control/control" || fail "libstdc++ is not linked in"
for script in postinst postrm; do
  [ -x "$work/control/$script" ] || fail "$script is missing or not executable"
done
"$work/tree/usr/bin/cordon" --version | grep -q . || fail "cordon --version printed nothing"
(cd "$work" && tree/usr/bin/cordon run -- true) || fail "cordon run -- true failed from the package"
echo "deb.sh: $(basename "$1") is whole"
