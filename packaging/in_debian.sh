#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# in_debian.sh SUITE cmake        builds and tests hx with CMake in a bare Debian SUITE (bookworm, trixie), and installs it
# in_debian.sh SUITE debs FOLDER  installs the packages of ./hx deb there, builds README's example, runs Python and the BLAS
# Run by maintainers before a release, as root, from a checkout; needs debootstrap. The Debian stays in
# ${TMPDIR:-/tmp}/hx-SUITE for the next time. MIRROR, if set, is where packages are fetched from.
set -eu
suite=$1 what=$2
tree=$(cd "$(dirname "$0")/.." && pwd)
root=${TMPDIR:-/tmp}/hx-$suite

unmount() { for folder in dev sys proc; do umount -lR "$root/$folder" 2>/dev/null || true; done; }
trap unmount EXIT
if [ ! -e "$root/.complete" ]; then
  rm -rf "$root"
  # shellcheck disable=SC2086 # no MIRROR, no argument
  debootstrap --variant=minbase "$suite" "$root" ${MIRROR:-}
  touch "$root/.complete"
fi
cp /etc/resolv.conf /etc/hosts "$root/etc/"
cp /etc/apt/apt.conf.d/99* "$root/etc/apt/apt.conf.d/" 2>/dev/null || true # how this machine reaches the mirror
for folder in proc sys dev; do
  mount --rbind "/$folder" "$root/$folder"
  mount --make-rslave "$root/$folder"
done
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive HX_DEVICES=cpu "$@"; }

rm -rf "$root/hx"
mkdir "$root/hx"
case $what in
  cmake)
    git -C "$tree" ls-files -z | (cd "$tree" && xargs -0 cp --parents -t "$root/hx")
    # shellcheck disable=SC2016 # expanded inside
    inside sh -e -c '
      cd /hx
      apt-get update -q && apt-get install -q -y --no-install-recommends gcc libc6-dev cmake make pkgconf libhwloc-dev opencl-headers
      cmake -S . -B /hx/built
      cmake --build /hx/built --parallel "$(nproc)"
      ctest --test-dir /hx/built --output-on-failure
      BUILT=/hx/built sh tests/api/install_test.sh'
    ;;
  debs)
    cp "$3"/*.deb "$root/hx"
    # shellcheck disable=SC2016 # no command
    sed -n '/^```c$/,/^```$/p' "$tree/README.md" | sed '/^```/d' >"$root/hx/example.c"
    cat >"$root/hx/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.16)
project(example LANGUAGES C)
find_package(hx REQUIRED)
add_executable(example example.c)
target_link_libraries(example hx::hx)
CMAKE
    # shellcheck disable=SC2016 # expanded inside
    inside sh -e -c '
      cd /hx
      apt-get update -q && apt-get install -q -y --no-install-recommends ./*.deb gcc libc6-dev cmake make pkg-config
      cc example.c $(pkg-config --cflags --libs hx) && ./a.out
      cmake -B built && cmake --build built && built/example
      python3 -c "import hx, numpy; print(hx.__file__, hx.sum(numpy.ones(1000, numpy.float32)))"
      LD_PRELOAD=libhx_blas.so HX_LOG=info python3 -c "import numpy; a = numpy.ones((300, 300), numpy.float32); print((a @ a)[0, 0])"
      hx-bench info
      dpkg -L libhx0 libhx-dev hx-bench | grep -v /usr/share/doc/hx/'
    ;;
  *) echo "in_debian.sh: cmake or debs, not $what" >&2; exit 2 ;;
esac
