#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fetch.sh FOLDER: fetches the drivers that are used in tests only and are in no package of Debian 12 into FOLDER,
# each once. A driver that cannot be fetched is named with the reason, and the tests run without it. This is never for
# users: Intel's runtime is proprietary (its licence comes with it), and PoCL 6 is taken from the next Debian.
#   intel   Intel's CPU runtime: sub-groups, unified shared memory, system SVM
#   pocl6   PoCL 6 with its own dynamic loader: sub-groups, unified shared memory, system SVM
#   mesa    stubs of the kernel's part of Mesa's drivers for Intel and AMD GPUs (mesa.sh says how to use them), and
#           rusticl of the next Debian, with its own dynamic loader
#   mpi4py  no driver: Python's MPI over Open MPI and over MPICH; Debian's works over Open MPI alone
set -eu
umask 022
here=$(dirname "$(readlink -f "$0")")
mkdir -p "$1"
folder=$(cd "$1" && pwd)

intel_packages='intel-opencl-rt==2026.2.0 intel-cmplr-lib-rt==2026.2.0 tbb==2023.2.0 tcmlib==1.6.0'
intel_files='libintelocl.so libcommon_clang.so.* cl.cfg clbltfn*.rtl cllibrary.rtl cllibrary*.o libimf.so libintlc.so.5
  libirng.so libsvml.so libocl_svml_*.so libtbb.so.12 libtbbmalloc.so.2'
next_suite=trixie
pocl6_packages='pocl-opencl-icd ocl-icd-libopencl1'
mesa_packages='mesa-opencl-icd ocl-icd-libopencl1'
mpi4py_packages='mpi4py==4.1.2'
mesa_tools='mako==1.4.3 meson==1.3.2 packaging==26.4 pyyaml==6.0.4'

# The wheels have 833 MB, half of it copies under other names: only the needed files are kept.
fetch_intel() {
  python3 -m venv "$work/venv" || return 1
  # shellcheck disable=SC2086 # a list of words
  "$work/venv/bin/pip" install -q --disable-pip-version-check --no-cache-dir $intel_packages || return 1
  for pattern in $intel_files; do
    # shellcheck disable=SC2086 # the pattern has to expand
    set -- "$work"/venv/lib/$pattern
    [ -e "$1" ] || { echo "$pattern is not in the packages"; return 1; }
    for file in "$@"; do
      ln "$(readlink -f "$file")" "$result/${file##*/}" || return 1
    done
  done
}

fetch_mpi4py() {
  python3 -m venv "$work/venv" || return 1
  "$work/venv/bin/pip" install -q --disable-pip-version-check --no-cache-dir --target "$result" "$mpi4py_packages"
}

# apt with separate lists and a separate status file, for the suite after this Debian: nothing is installed.
next_apt() {
  apt-get -q -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::Etc::preferencesparts=/dev/null -o "Dir::State=$work" -o "Dir::State::lists=$work/lists" \
    -o "Dir::State::status=$work/status" -o "Dir::Cache=$work" -o APT::Sandbox::User= -o APT::Update::Error-Mode=any "$@"
}

# next_lists KIND...: the lists of packages (deb) and of sources (deb-src) of that suite.
next_lists() {
  set -f # the address of a suite is not a pattern
  # shellcheck disable=SC2016 # apt expands $(SITE)
  site=$(apt-get indextargets --format '$(SITE)' 'Identifier: Packages' 2>/dev/null | head -n 1)
  set +f
  [ -n "$site" ] || { echo 'apt knows no mirror'; return 1; }
  mkdir -p "$work/lists/partial" "$work/archives/partial"
  : >"$work/status"
  for kind in "$@"; do
    echo "$kind [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site $next_suite main"
  done >"$work/sources.list"
  next_apt update
}

# next_root PACKAGE...: unpacks the packages and what they need, and writes the name of their dynamic loader. Sets lib.
next_root() {
  next_apt install -y -d --no-install-recommends "$@" || return 1
  for package in "$work"/archives/*.deb; do
    dpkg -x "$package" "$result" || return 1
  done
  lib=$(echo "$result"/usr/lib/*-linux-gnu)
  loader=$(cd "$lib" && echo ld-linux-*.so.?)
  [ -e "$lib/$loader" ] || { echo 'no dynamic loader among the packages'; return 1; }
  echo "$loader" >"$result/loader"
}

# next_icd DRIVER LIBRARY: the file by which the ICD loader finds the library, where it will be.
next_icd() {
  library=$(echo "$lib/$2".so.?)
  echo "$folder/$1/usr/lib/${lib##*/}/${library##*/}" >"$result/$2.icd"
}

fetch_pocl6() {
  next_lists deb || return 1
  # shellcheck disable=SC2086 # a list of words
  next_root $pocl6_packages || return 1
  next_icd pocl6 libpocl
}

# shellcheck source=tests/drivers/mesa.sh
. "$here/mesa.sh"

# fetch NAME: fetches a driver once, completely or not at all. The files of one that is there are read once, because
# hx gives a driver 10 s to load, and a disk from which nothing was read yet can take longer.
fetch() {
  if [ -e "$folder/$1/ready" ]; then
    find "$folder/$1" -type f -exec cat {} + >/dev/null
    echo "hx: driver $1: there"
    return 0
  fi
  work=$(mktemp -d "$folder/.fetch.XXXXXX")
  result=$work/result
  mkdir "$result"
  echo "hx: driver $1: fetching"
  if ("fetch_$1") >"$work/log" 2>&1; then
    touch "$result/ready"
    rm -rf "${folder:?}/$1"
    mv "$result" "$folder/$1"
    echo "hx: driver $1: fetched"
  else
    echo "hx: driver $1: not available here, its tests are left out: $(grep -v '^$' "$work/log" | tail -n 1)"
  fi
  rm -rf "$work"
}

case $(uname -m) in
  x86_64)
    fetch intel
    fetch pocl6
    fetch mesa
    fetch mpi4py
    ;;
  *) echo "hx: the drivers for tests only are fetched on x86-64 alone" ;;
esac
