# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # read by isa.sh, which sets work; a row has more fields than each vendor reads
# Intel and AMD GPUs, by Mesa's drivers over their stubs (tests/drivers/mesa.sh): for isa.sh. The kernels are launched
# once by ISA_LAUNCH (launch.c), because rusticl compiles then. TEST_DRIVERS is the folder of fetched drivers. A target
# is a platform of the stub and the version of Mesa: 22.3 is the installed one, 25.0 the fetched one.

# Version 22.3 does not know the newer GPUs, and has no OpenCL for AMD's.
wanted='skl-22.3 mesa-intel s
icl-22.3 mesa-intel
tgl-22.3 mesa-intel s
adl-22.3 mesa-intel
rpl-22.3 mesa-intel
dg2-22.3 mesa-intel
skl-25.0 mesa-intel
icl-25.0 mesa-intel
tgl-25.0 mesa-intel
adl-25.0 mesa-intel
rpl-25.0 mesa-intel
dg2-25.0 mesa-intel s
mtl-25.0 mesa-intel
lnl-25.0 mesa-intel s
raven-25.0 mesa-gcn s
renoir-25.0 mesa-gcn
vangogh-25.0 mesa-rdna s
raphael_mendocino-25.0 mesa-rdna
gfx1150-25.0 mesa-rdna s'

compiler() {
  stubs=${TEST_DRIVERS:-}/mesa
  [ -e "$stubs/ready" ] || { echo "isa mesa: Mesa's stubs are not there ($stubs); ./hx isa mesa fetches them"; return 1; }
}

targets() {
  installed=/etc/OpenCL/vendors/rusticl.icd
  if [ -e "$installed" ]; then echo "$wanted"; else
    echo "isa mesa: there is no $installed (Debian: mesa-opencl-icd): without 22.3" >&2
    echo "$wanted" | grep -v -e -22.3
  fi
}

# launch CLASS TARGET SOURCE OPTIONS: what the driver prints about each kernel. On raven and renoir hx takes products
# only with that option of radeonsi.
launch() {
  case $1 in mesa-intel) driver=iris ;; *) driver=radeonsi ;; esac
  INTEL_DEBUG=cs AMD_DEBUG=cs,asm,stats radeonsi_force_use_fma32=true \
    sh "$here/../drivers/over_stub.sh" "$driver" "${2#*-}" "${2%-*}" "$ISA_LAUNCH" "$3" "$4"
}

# From what Mesa prints: registers, lanes, and the verdict. Of the sizes of a kernel that Mesa tries, one that spills is
# printed only if it is used. AMD's scalar registers that spill go to lanes of a vector register, not to memory, and are
# not counted. Intel GPUs have 128 registers a thread; radeonsi does not print the size of a wavefront.
figures() {
  awk '
    /SIMD[0-9]+ shader: .* spills:fills/ {
      shaders++; registers = 128
      match($0, /SIMD[0-9]+/); width = substr($0, RSTART + 4, RLENGTH - 4) + 0
      if (width > lanes) lanes = width
      match($0, /[0-9]+:[0-9]+ spills:fills/); split(substr($0, RSTART, RLENGTH), part, /[: ]/)
      spills += part[1]; fills += part[2]
    }
    $1 == "scratch:" && $2 + 0 > scratch { scratch = $2 + 0 }
    $1 == "VGPRS:" { shaders++; if ($2 + 0 > registers) registers = $2 + 0 }
    $1 == "Spilled" && $2 == "VGPRs:" { spills += $3 }
    $1 == "Scratch:" && $2 + 0 > scratch { scratch = $2 + 0 }
    $1 == "error:" && error == "" { error = $0; gsub(/\|/, " ", error) }
    END {
      verdict = "ok"
      if (error != "") verdict = error
      else if (!shaders) verdict = "Mesa printed no statistics"
      else if (spills || scratch)
        verdict = "it spills " spills + 0 ":" fills + 0 ", and has " scratch + 0 " bytes of scratch memory"
      print verdict "|" registers + 0 "|" lanes + 0
    }'
}

job() {
  compiler
  echo "$1" | while IFS='|' read -r folder row what file lanes registers options targets; do
    for target in $targets; do
      echo "$row|$what|$target|$(launch "${folder##*/}" "$target" "$folder/$file" "$options" 2>&1 | figures)"
    done
  done
}
