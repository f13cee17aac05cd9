# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154,SC2164 # variables and functions are those of ./hx, which reads this file under set -e
# The commands of ./hx that make or remove installed files.

# folders COMMAND ARGS...: sets prefix and libdir.
folders() {
  what=$1 prefix=/usr/local libdir=lib
  shift
  while [ $# -gt 0 ]; do
    case $1 in
      --*=*) option=${1%%=*} value=${1#*=} ;;
      *)
        option=$1 value=${2:-}
        [ $# -lt 2 ] || shift
        ;;
    esac
    shift
    case $option in
      --prefix) prefix=$value ;;
      --libdir) libdir=$value ;;
      *) die "$what: unknown argument $option; accepted: --prefix DIR, --libdir DIR" ;;
    esac
    [ -n "$value" ] || die "$option needs a folder"
  done
  case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
}

run_install() {
  folders install "$@"
  need "$packages_build"
  build //runtime:libhx.so.0 //runtime:libhx.a //bench:hx-bench //blas:all
  sh "$root/runtime/install.sh" "$root" "$bin" "$prefix" "$libdir"
}

run_uninstall() {
  folders uninstall "$@"
  sh "$root/runtime/install.sh" --uninstall "$root" - "$prefix" "$libdir"
}

# deb [DIR]: from the files that Git knows, in a folder of its own. The version is that of hx.h.
run_deb() {
  [ $# -le 1 ] || die "deb: at most one folder"
  git -C "$root" rev-parse 2>/dev/null || die "deb: $root is no checkout of Git, which lists the files of hx"
  out=${1:-$PWD}
  mkdir -p "$out"
  out=$(cd "$out" && pwd)
  need "$packages_deb"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  mkdir "$work/hx"
  cd "$root"
  git ls-files -z | xargs -0 cp --parents -t "$work/hx"
  cp -r packaging/debian "$work/hx/debian"
  cd "$work/hx"
  number=$(sed -n 's/^#define HX_VERSION_NUMBER \([0-9]*\).*/\1/p' runtime/hx.h)
  version=$((number / 10000)).$((number / 100 % 100)).$((number % 100))
  sed -e "s/@VERSION@/$version/" -e "s/@DATE@/$(git -C "$root" log -1 --format=%cD)/" packaging/debian/changelog >debian/changelog
  dpkg-buildpackage --no-sign --jobs="$(nproc)" --build=binary || die "the packages could not be built"
  mv "$work"/*.deb "$work"/*.changes "$work"/*.buildinfo "$out"
  lintian --fail-on error,warning "$out/hx_${version}_$(dpkg --print-architecture).changes"
}
