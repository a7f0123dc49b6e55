#!/bin/sh
# Runs tests as the ordinary user cordon-test, from a copy of the tree that this user may read
# (a clone below /root is closed to it). Used by ctest; needs root.
#
#   as_user.sh copy  BUILD SOURCE   makes the user and the copy, notes its place in BUILD/as-user
#   as_user.sh run   BUILD PROG...  runs PROG, a path below BUILD or SOURCE, out of the copy
#   as_user.sh clean BUILD
set -eu
user=cordon-test
verb=$1 build=$2
shift 2

if [ "$(id -u)" -ne 0 ]; then
  echo "only root can run tests as another user"
  exit 77
fi

case $verb in
  copy)
    source=$1
    if ! getent passwd "$user" >/dev/null; then
      echo "creating the user $user"
      useradd --system --create-home --home-dir "/var/lib/$user" --shell /bin/sh "$user"
    fi
    copy=$(mktemp -d /var/tmp/cordon-as-user.XXXXXX)
    chmod 755 "$copy"
    mkdir "$copy/source" "$copy/build"
    printf '%s\n%s\n' "$copy" "$source" >"$build/as-user"
    (cd "$source" && tar -cf - --exclude=./build --exclude='./build-*' --exclude=./.git .) |
      tar -xf - --no-same-owner -C "$copy/source"
    for part in bin libexec tests; do
      if [ -d "$build/$part" ]; then cp -R "$build/$part" "$copy/build/"; fi
    done
    chmod -R a+rX "$copy"
    ;;
  run)
    { read -r copy && read -r source; } <"$build/as-user"
    program=$1
    shift
    case $program in
      "$build"/*) program=$copy/build/${program#"$build"/} ;;
      "$source"/*) program=$copy/source/${program#"$source"/} ;;
    esac
    cd "$copy/source"
    as_user="setpriv --reuid $user --regid $user --init-groups --"
    # Root's PATH without what lies in root's own home.
    # shellcheck disable=SC2016,SC2086
    path=$($as_user sh -c 'IFS=:; for d in $PATH; do [ -x "$d" ] && printf "%s:" "$d"; done; true')
    # shellcheck disable=SC2086
    exec env -i PATH="${path%:}" LANG="${LANG:-C.UTF-8}" HOME="/var/lib/$user" USER="$user" \
      LOGNAME="$user" SHELL=/bin/sh CORDON="$copy/build/bin/cordon" CORDON_SOURCE_DIR="$copy/source" \
      $as_user "$program" "$@"
    ;;
  clean)
    if [ -r "$build/as-user" ]; then
      { read -r copy && read -r source; } <"$build/as-user"
      case $copy in /var/tmp/cordon-as-user.*) rm -rf -- "$copy" ;; esac
      rm -f -- "$build/as-user"
    fi
    ;;
  *)
    echo "as_user.sh: no verb $verb" >&2
    exit 2
    ;;
esac
