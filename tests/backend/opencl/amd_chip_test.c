/* SPDX-License-Identifier: Apache-2.0
 * Which AMD devices are APUs, which are RDNA, and for which Mesa computes fma in software, by the names that drivers
 * give them. */
#include "runtime/backend/opencl/amd_chip.h"
#include "tests/check.h"

enum { INSTRUCTION = HX__FMA_INSTRUCTION, ON_REQUEST = HX__FMA_ON_REQUEST, SOFTWARE = HX__FMA_SOFTWARE };

static const struct {
  const char *name;
  bool known, integrated, rdna;
  int fma;
} devices[] = {
    /* rusticl on radeonsi: product, driver, chip */
    {"AMD Radeon Graphics (radeonsi, renoir, LLVM 15.0.6, DRM 3.49, 6.1.0)", true, true, false, ON_REQUEST},
    {"AMD Radeon Graphics (radeonsi, renoir, ACO, DRM 3.61, 6.12.48)", true, true, false, ON_REQUEST},
    {"AMD Radeon Vega 10 Graphics (radeonsi, raven, LLVM 19.1.7, DRM 3.57)", true, true, false, ON_REQUEST},
    {"AMD Radeon(TM) Vega 3 Graphics (raven2, LLVM 15.0.6)", true, true, false, ON_REQUEST},
    {"AMD Custom GPU 0405 (radeonsi, vangogh, LLVM 15.0.6)", true, true, true, INSTRUCTION},
    {"AMD Radeon 680M (radeonsi, rembrandt, LLVM 15.0.6, DRM 3.49)", true, true, true, INSTRUCTION},
    {"AMD Radeon 610M (radeonsi, raphael_mendocino, LLVM 19.1.7)", true, true, true, INSTRUCTION},
    {"AMD Radeon 780M (radeonsi, gfx1103_r1, LLVM 19.1.7)", true, true, true, INSTRUCTION},
    {"AMD Radeon 780M (radeonsi, phoenix, LLVM 19.1.7)", true, true, true, INSTRUCTION},
    {"AMD Radeon 890M Graphics (radeonsi, gfx1150, LLVM 19.1.7)", true, true, true, INSTRUCTION},
    {"AMD Radeon R5 Graphics (radeonsi, stoney, LLVM 15.0.6)", true, true, false, SOFTWARE},
    {"AMD Radeon RX 580 (radeonsi, polaris10, LLVM 19.1.7)", true, false, false, SOFTWARE},
    {"AMD Radeon RX Vega (radeonsi, vega10, LLVM 15.0.6)", true, false, false, ON_REQUEST},
    {"AMD Radeon RX 5700 XT (radeonsi, navi10, LLVM 15.0.6)", true, false, true, ON_REQUEST},
    {"AMD Instinct MI100 (radeonsi, mi100, LLVM 19.1.7)", true, false, false, ON_REQUEST},
    {"AMD Radeon R9 290 (hawaii, LLVM 15.0.6)", true, false, false, SOFTWARE},
    {"AMD Radeon RX 5500 (radeonsi, navi14, ACO)", true, false, true, ON_REQUEST},
    {"AMD Radeon RX 6800 (radeonsi, navi21, LLVM 15.0.6)", true, false, true, INSTRUCTION},
    {"AMD Radeon RX 7900 XTX (radeonsi, navi31, ACO)", true, false, true, INSTRUCTION},
    /* AMD's own drivers: the target */
    {"gfx902:xnack+", true, true, false, INSTRUCTION},
    {"gfx90c:xnack-", true, true, false, INSTRUCTION},
    {"gfx1035", true, true, true, INSTRUCTION},
    {"gfx1036", true, true, true, INSTRUCTION},
    {"gfx1151", true, true, true, INSTRUCTION},
    {"gfx90a:sramecc+:xnack-", true, false, false, INSTRUCTION},
    {"gfx906:sramecc-:xnack-", true, false, false, INSTRUCTION},
    {"gfx908:sramecc+:xnack-", true, false, false, INSTRUCTION},
    {"gfx940:sramecc+:xnack-", true, false, false, INSTRUCTION},
    {"gfx950:sramecc+:xnack-", true, false, false, INSTRUCTION},
    {"gfx942:sramecc+:xnack-", true, false, false, INSTRUCTION}, /* MI300A and MI300X: the driver knows which */
    {"gfx1030", true, false, true, INSTRUCTION},
    {"gfx1201", true, false, true, INSTRUCTION},
    /* nothing to go by */
    {"AMD Radeon Graphics", false, false, false, INSTRUCTION},
    {"", false, false, false, INSTRUCTION},
    {"raven-like", true, true, false, ON_REQUEST}, /* a word is a word */
    {"ravenous", false, false, false, INSTRUCTION},
    {"a name without an end aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaraven", false,
     false, false, INSTRUCTION},
};

int main(void) {
  for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
    const hx__amd_chip chip = hx__amd_chip_of(devices[i].name);
    CHECK(chip.known == devices[i].known, "%s", devices[i].name);
    CHECK(chip.integrated == devices[i].integrated, "%s", devices[i].name);
    CHECK(chip.rdna == devices[i].rdna, "%s", devices[i].name);
    CHECK((int)chip.mesa_fma == devices[i].fma, "%s", devices[i].name);
  }
  return checks_end("amd_chip_test");
}
