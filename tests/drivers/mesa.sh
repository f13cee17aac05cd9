# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154 # read by fetch.sh, which sets the variables
# Mesa's drivers for GPUs that the machine does not have, for fetch.sh. A stub (Mesa's drm-shim), loaded by LD_PRELOAD,
# answers for the kernel: the real driver starts for the GPU that a variable names and compiles for it; launches do
# nothing. No Debian package has the stubs, so they are built from Mesa's source. The stubs of 25.0 serve the installed
# rusticl (22.3) as well. That one has no OpenCL for AMD GPUs. over_stub.sh runs a program over them.
#   intel_stub.so   INTEL_STUB_GPU_PLATFORM=tgl RUSTICL_ENABLE=iris: skl, icl, tgl, adl, rpl, dg2, mtl, lnl and others
#   amd_stub.so     AMDGPU_GPU_ID=renoir RUSTICL_ENABLE=radeonsi: raven, renoir, vangogh, gfx1150 and others
#   libRusticlOpenCL.icd  rusticl 25.0; a program that uses it is started by the dynamic loader named in the file loader

# Mesa's own build of the Intel stub: everything else is switched off, and only the stub's parts are compiled.
mesa_options='-Dtools=drm-shim,intel -Dgallium-drivers= -Dvulkan-drivers= -Dplatforms= -Dglx=disabled -Degl=disabled
  -Dgbm=disabled -Dgles1=disabled -Dgles2=disabled -Dopengl=false -Dllvm=disabled -Dshared-glapi=disabled
  -Dvalgrind=disabled -Dlibunwind=disabled -Dbuildtype=release -Dshader-cache=disabled -Dzstd=disabled'

# Mesa builds the AMD stub only as a part of radeonsi, which needs a newer libdrm than Debian 12 has.
mesa_amd_stub() {
  cc -O2 -shared -fPIC -fvisibility=hidden -D_GNU_SOURCE -DHAVE_PTHREAD -DHAVE_STRUCT_TIMESPEC -I "$source/include" \
    -I "$source/src" -I "$source/src/amd" -I "$source/src/amd/common" -I "$source/src/drm-shim" -I /usr/include/libdrm \
    "$source/src/amd/drm-shim/amdgpu_noop_drm_shim.c" "$source/src/amd/drm-shim/amdgpu_devices.c" \
    "$built/src/drm-shim/libdrm_shim.a" "$built/src/util/libmesa_util.a" "$built"/src/util/libmesa_util_*.a \
    "$built/src/util/blake3/libblake3.a" "$built/src/c11/impl/libmesa_util_c11.a" -lz -lm -o "$result/amd_stub.so"
}

mesa_stubs() {
  source=$work/source built=$work/built
  (cd "$work" && next_apt source --download-only mesa) || return 1
  mkdir "$source"
  tar -xf "$work"/mesa_*.orig.tar.?z -C "$source" --strip-components=1 || return 1
  python3 -m venv "$work/venv" || return 1
  # shellcheck disable=SC2086 # a list of words
  "$work/venv/bin/pip" install -q --disable-pip-version-check --no-cache-dir $mesa_tools || return 1
  PATH=$work/venv/bin:$PATH
  # shellcheck disable=SC2086 # a list of options
  meson setup "$built" "$source" $mesa_options || return 1
  ninja -C "$built" src/intel/tools/libintel_noop_drm_shim.so src/drm-shim/libdrm_shim.a || return 1
  cp "$built/src/intel/tools/libintel_noop_drm_shim.so" "$result/intel_stub.so" || return 1
  mesa_amd_stub
}

fetch_mesa() {
  next_lists deb deb-src || return 1
  mesa_stubs || return 1
  # shellcheck disable=SC2086 # a list of words
  next_root $mesa_packages || return 1
  ln -s llvm-19/lib "$result/usr/lib/lib" # where Mesa looks for clang's headers if libclang is not in /usr
  next_icd mesa libRusticlOpenCL
}
