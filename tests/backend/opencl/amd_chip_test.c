/* SPDX-License-Identifier: Apache-2.0
 * Which AMD devices are APUs, and which are RDNA, by the names that drivers give them. */
#include "runtime/backend/opencl/amd_chip.h"
#include "tests/check.h"

static const struct {
  const char *name;
  bool known, integrated, rdna;
} devices[] = {
    /* rusticl on radeonsi: product, driver, chip */
    {"AMD Radeon Graphics (radeonsi, renoir, LLVM 15.0.6, DRM 3.49, 6.1.0)", true, true, false},
    {"AMD Radeon Graphics (radeonsi, renoir, ACO, DRM 3.61, 6.12.48)", true, true, false},
    {"AMD Radeon Vega 10 Graphics (radeonsi, raven, LLVM 19.1.7, DRM 3.57)", true, true, false},
    {"AMD Radeon(TM) Vega 3 Graphics (raven2, LLVM 15.0.6)", true, true, false},
    {"AMD Custom GPU 0405 (radeonsi, vangogh, LLVM 15.0.6)", true, true, true},
    {"AMD Radeon 680M (radeonsi, rembrandt, LLVM 15.0.6, DRM 3.49)", true, true, true},
    {"AMD Radeon 610M (radeonsi, raphael_mendocino, LLVM 19.1.7)", true, true, true},
    {"AMD Radeon 780M (radeonsi, gfx1103_r1, LLVM 19.1.7)", true, true, true},
    {"AMD Radeon 780M (radeonsi, phoenix, LLVM 19.1.7)", true, true, true},
    {"AMD Radeon 890M Graphics (radeonsi, gfx1150, LLVM 19.1.7)", true, true, true},
    {"AMD Radeon R5 Graphics (radeonsi, stoney, LLVM 15.0.6)", true, true, false},
    {"AMD Radeon RX 580 (radeonsi, polaris10, LLVM 19.1.7)", true, false, false},
    {"AMD Radeon RX Vega (radeonsi, vega10, LLVM 15.0.6)", true, false, false},
    {"AMD Radeon RX 5700 XT (radeonsi, navi10, LLVM 15.0.6)", true, false, true},
    {"AMD Radeon RX 6800 (radeonsi, navi21, LLVM 15.0.6)", true, false, true},
    {"AMD Radeon RX 7900 XTX (radeonsi, navi31, ACO)", true, false, true},
    /* AMD's own drivers: the target */
    {"gfx902:xnack+", true, true, false},
    {"gfx90c:xnack-", true, true, false},
    {"gfx1035", true, true, true},
    {"gfx1036", true, true, true},
    {"gfx1151", true, true, true},
    {"gfx90a:sramecc+:xnack-", true, false, false},
    {"gfx906:sramecc-:xnack-", true, false, false},
    {"gfx942:sramecc+:xnack-", true, false, false}, /* MI300A and MI300X: the driver knows which */
    {"gfx1030", true, false, true},
    {"gfx1201", true, false, true},
    /* nothing to go by */
    {"AMD Radeon Graphics", false, false, false},
    {"", false, false, false},
    {"raven-like", true, true, false}, /* a word is a word */
    {"ravenous", false, false, false},
    {"a name without an end aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaraven", false,
     false, false},
};

int main(void) {
  for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
    const hx__amd_chip chip = hx__amd_chip_of(devices[i].name);
    CHECK(chip.known == devices[i].known, "%s", devices[i].name);
    CHECK(chip.integrated == devices[i].integrated, "%s", devices[i].name);
    CHECK(chip.rdna == devices[i].rdna, "%s", devices[i].name);
  }
  return checks_end("amd_chip_test");
}
