#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh [--uninstall] TREE BUILT PREFIX [LIBDIR]: installs the files for users of hx from a checkout and its build,
# or removes what it would install. LIBDIR: the folder for libraries, in PREFIX (lib). DESTDIR is supported for
# packagers. ./hx install and the installation by CMake both run this script.
set -eu
removing=
if [ "$1" = --uninstall ]; then
  removing=yes
  shift
fi
tree=$(cd "$1" && pwd) built=$2 prefix=$3 libdir=${4:-lib}
case $prefix in
  /?*) prefix=${prefix%/} ;;
  *) echo "hx: the prefix has to be an absolute path, not '$prefix'" >&2; exit 2 ;;
esac
libdir=${libdir#"$prefix/"} libdir=${libdir%/}
case /$libdir/ in
  //* | */../* | */./*) echo "hx: the folder for libraries has to be a folder in $prefix, not '${4:-}'" >&2; exit 2 ;;
esac
root=${DESTDIR:-}$prefix lib=${DESTDIR:-}$prefix/$libdir

number=$(sed -n 's/^#define HX_VERSION_NUMBER \([0-9]*\).*/\1/p' "$tree/runtime/hx.h")
major=$((number / 10000))
version=$major.$((number / 100 % 100)).$((number % 100))
soname=libhx.so.$major

# make FILE COMMAND...: lets the command make FILE, which is new, so that a running program keeps the old one.
make() {
  target=$1
  shift
  if [ "$removing" ]; then
    if [ ! -e "$target" ] && [ ! -L "$target" ]; then return; fi
    echo "hx: removed $target"
    rm -f "$target"
    return
  fi
  mkdir -p "${target%/*}"
  rm -f "$target"
  "$@"
  echo "hx: $target"
}

put() { make "$3" install -m "$1" "$2" "$3"; } # put MODE FROM TO
link() { make "$2" ln -s "$1" "$2"; }           # link TARGET NAME

text() { # text FROM TO SED-ARGUMENTS...: a text file, edited
  from=$1 to=$2
  shift 2
  make "$to" edit "$from" "$to" "$@"
}

edit() {
  from=$1 to=$2
  shift 2
  sed "$@" "$from" >"$to"
  chmod 644 "$to"
}

# needed LIBRARY: what it is linked with, as options of a linker; the compiler adds the C library itself.
needed() {
  LC_ALL=C objdump -p "$1" | sed -n 's/^ *NEEDED *lib\(.*\)\.so.*/-l\1/p' | grep -v -x -e -lc | tr '\n' ' ' | sed 's/ $//'
}

# reached FILE...: these files of the tree, and those that pages among them link to.
reached() {
  seen=
  while [ $# -gt 0 ]; do
    page=$1
    shift
    case " $seen " in *" $page "*) continue ;; esac
    [ -f "$tree/$page" ] || continue
    seen="$seen $page"
    case $page in
      *.md)
        # shellcheck disable=SC2013 # no link has a blank
        for target in $(sed 's/](/\n](/g; s/src\(set\)*="/\n&/g' "$tree/$page" |
          sed -n -e 's/^](\([^):#]*\)[)#].*/\1/p' -e 's/^src\(set\)*="\([^":#]*\)".*/\2/p'); do
          set -- "$@" "$(realpath -m -s --relative-to="$tree" "$tree/$(dirname "$page")/$target")"
        done
        ;;
    esac
  done
  # shellcheck disable=SC2086 # a list of files
  printf '%s\n' $seen
}

[ "$removing" ] || libraries=$(needed "$built/runtime/$soname")
up=$(echo "$libdir" | sed 's|[^/][^/]*|..|g')
case $prefix in
  /usr) pc_prefix=/usr ;; # pkg-config knows the folders of the system by name and leaves their options out
  *) pc_prefix="\${pcfiledir}/../$up" ;;
esac
set -- -e "s|@PREFIX@|$pc_prefix|" -e "s|@LIBDIR@|$libdir|" -e "s|@UP@|$up|" -e "s|@LIBRARIES@|${libraries:-}|" \
  -e "s|@SONAME@|$soname|" -e "s|@VERSION@|$version|" -e "s|@MAJOR@|$major|"

for header in hx hx_map; do put 644 "$tree/runtime/$header.h" "$root/include/$header.h"; done
put 755 "$built/runtime/$soname" "$lib/libhx.so.$version"
link "libhx.so.$version" "$lib/$soname"
link "$soname" "$lib/libhx.so"
put 644 "$built/runtime/libhx.a" "$lib/libhx.a"
text "$tree/runtime/hx.pc.in" "$lib/pkgconfig/hx.pc" "$@"
for file in hxConfig hxConfigVersion; do
  text "$tree/packaging/cmake/$file.cmake.in" "$lib/cmake/hx/$file.cmake" "$@"
done

# hx-bench, which a build by CMake may leave out.
if [ "$removing" ] || [ -e "$built/bench/hx-bench" ]; then
  put 755 "$built/bench/hx-bench" "$root/bin/hx-bench"
  for file in "$tree"/bench/shapes/*.txt; do
    put 644 "$file" "$root/share/hx/shapes/${file##*/}"
  done
fi

# The BLAS, by the name for LD_PRELOAD and, in a folder of its own, by those of a system's BLAS (docs/BLAS.md). A build by
# CMake may leave it out, too.
if [ "$removing" ] || [ -e "$built/blas/libhx_blas.so" ]; then
  put 755 "$built/blas/libhx_blas.so" "$lib/libhx_blas.so"
  for name in libblas.so.3 libcblas.so.3; do
    put 755 "$built/blas/$name" "$lib/hx-blas/$name"
  done
fi

# Manual pages, which name files as they are installed. Those of functions and types are made from the comments of the
# headers; without Python each is a link to the page of the library.
manual() {
  text "$1" "$root/share/man/man${1##*.}/${1##*/}" -e "s|bench/shapes|$prefix/share/hx/shapes|g" \
    -e "s|docs/\([A-Z_]*\.md\)|$prefix/share/doc/hx/docs/\1|g"
}
for page in "$tree"/docs/*.[1-7]; do manual "$page"; done
made=
if [ -z "$removing" ] && command -v python3 >/dev/null; then
  made=$(mktemp -d)
  trap 'rm -rf "$made"' EXIT
  python3 "$tree/tools/api_pages.py" "$tree/runtime/hx.h" "$tree/runtime/hx_map.h" "$made"
fi
# shellcheck disable=SC2013 # a line is a word
for name in $(sed -n -e 's/^HX_API .*\<\(hx_[a-z0-9_]*\)(.*/\1/p' \
  -e 's/^\(typedef \)\{0,1\}\(struct\|union\|enum\) \(hx_[a-z0-9_]*\) {.*/\3/p' "$tree/runtime/hx.h" "$tree/runtime/hx_map.h"); do
  page=$made/$name.3
  if [ -z "$made" ]; then link hx.3 "$root/share/man/man3/$name.3"
  elif [ -L "$page" ]; then link "$(readlink "$page")" "$root/share/man/man3/$name.3"
  else manual "$page"; fi
done

# README and what it leads to, in the folders that the links name.
for file in $(reached README.md CHANGELOG.md LICENSE); do
  case $file in
    runtime/hx.h | runtime/hx_map.h) link "../../../../include/${file##*/}" "$root/share/doc/hx/$file" ;;
    *) put 644 "$tree/$file" "$root/share/doc/hx/$file" ;;
  esac
done

[ -z "$removing" ] || for folder in "$lib/cmake/hx" "$lib/hx-blas" "$root/share/hx" "$root/share/doc/hx"; do
  [ ! -d "$folder" ] || find "$folder" -depth -type d -empty -delete
done
