#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# over_stub.sh DRIVER VERSION PLATFORM PROGRAM ARGS...: runs PROGRAM on Mesa's OpenCL driver for a GPU that the machine
# does not have, over the stub of the kernel's part (tests/drivers/mesa.sh): the driver compiles, and executes nothing.
# DRIVER: iris (Intel) or radeonsi (AMD); VERSION: 22.3, the installed rusticl, or 25.0, the fetched one; PLATFORM: tgl,
# renoir and others. TEST_DRIVERS is the folder of fetched drivers. For example:
#   TEST_DRIVERS=~/.cache/hx-drivers sh tests/drivers/over_stub.sh iris 25.0 tgl bazel-bin/bench/hx-bench info
set -eu
driver=$1 version=$2 platform=$3
shift 3
stubs=${TEST_DRIVERS:?}/mesa
export "RUSTICL_ENABLE=$driver" MESA_SHADER_CACHE_DISABLE=1 OCL_ICD_VENDORS=/etc/OpenCL/vendors/rusticl.icd
case $driver in
  iris) stub=intel_stub.so && export "INTEL_STUB_GPU_PLATFORM=$platform" ;;
  radeonsi) stub=amd_stub.so && export "AMDGPU_GPU_ID=$platform" ;;
esac
if [ "$version" = 25.0 ]; then
  OCL_ICD_VENDORS=$stubs/libRusticlOpenCL.icd
  lib=$(echo "$stubs"/usr/lib/*-linux-gnu)
  # The program is from this Debian and needs libraries that the packages of the next one do not bring.
  set -- "$lib/$(cat "$stubs/loader")" --library-path "$lib:/usr/lib/${lib##*/}" "$@"
fi
LD_PRELOAD=$stubs/$stub exec "$@"
