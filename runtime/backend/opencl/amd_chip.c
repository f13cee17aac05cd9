/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/backend/opencl/amd_chip.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

/* Chips that are part of a CPU: by Mesa's name (src/amd/common/amd_family.h) and by LLVM's target (the table of
 * processors in "User Guide for AMDGPU Backend", the rows marked APU). A target that is both an APU and a card, such as
 * gfx942, is left to the driver. */
static const struct {
  const char *chip;
  bool rdna;
} apus[] = {
    {"kaveri", false},
    {"gfx700", false}, /* A10-7000 series */
    {"kabini", false},
    {"mullins", false}, /* A4, E1 */
    {"gfx703", false},  /* the two */
    {"carrizo", false},
    {"gfx801", false}, /* A12, FX-8800P */
    {"stoney", false},
    {"gfx810", false}, /* A9, A6 */
    {"raven", false},
    {"gfx902", false}, /* Ryzen 2000, 3000 */
    {"raven2", false},
    {"gfx909", false}, /* Athlon 200, 3000 */
    {"renoir", false},
    {"gfx90c", false}, /* Ryzen 4000, 5000 */
    {"gfx1013", true}, /* BC-250 */
    {"vangogh", true},
    {"gfx1033", true}, /* Steam Deck */
    {"rembrandt", true},
    {"gfx1035", true}, /* Ryzen 6000, 7035 */
    {"raphael_mendocino", true},
    {"gfx1036", true}, /* Ryzen 7000 for desktops, 7020 */
    {"phoenix", true},
    {"phoenix2", true}, /* Ryzen 7040, 8040 */
    {"gfx1103", true},
    {"gfx1103_r1", true},
    {"gfx1103_r2", true},
    {"gfx1150", true},
    {"gfx1151", true},
    {"gfx1152", true},
    {"gfx1153", true}, /* Ryzen AI */
};

/* How the names of RDNA chips begin, cards included. */
static const char *const rdna_prefixes[] = {"gfx10", "gfx11", "gfx12", "navi", NULL};
/* How the names of others begin, or the whole name. CDNA is among them: its wavefronts have 64 items. */
static const char *const gcn_prefixes[] = {"gfx6",  "gfx7",   "gfx8",    "gfx9",    "vega",     "polaris",   "tonga",
                                           "fiji",  "mi100",  "mi200",   "hawaii",  "tahiti",   "pitcairn",  "verde",
                                           "oland", "hainan", "bonaire", "iceland", "arcturus", "aldebaran", NULL};

/* Chips for which Mesa's radeonsi lowers fma to software (lower_ffma32 in si_get.c, the same in versions 22.3
 * and 25.0): all before GFX10.3, by the beginnings of Mesa's names (amd_family.h). Its option brings the instruction
 * back from GFX9 on; before, that would be a quarter of the rate. */
static const char *const fma_on_request[] = {"vega10",   "vega12",    "vega20", "raven",  "renoir", "mi100", "mi200",
                                             "arcturus", "aldebaran", "navi10", "navi12", "navi14", NULL};
static const char *const fma_in_software[] = {"tahiti",  "pitcairn", "verde",   "oland",   "hainan", "bonaire",
                                              "kaveri",  "kabini",   "mullins", "hawaii",  "tonga",  "iceland",
                                              "carrizo", "fiji",     "stoney",  "polaris", "vegam",  NULL};

static bool begins_with_any(const char *word, const char *const *prefixes) {
  for (; *prefixes; prefixes++)
    if (strncmp(word, *prefixes, strlen(*prefixes)) == 0) return true;
  return false;
}

static hx__mesa_fma mesa_fma_of(const char *word) {
  return begins_with_any(word, fma_on_request)    ? HX__FMA_ON_REQUEST
         : begins_with_any(word, fma_in_software) ? HX__FMA_SOFTWARE
                                                  : HX__FMA_INSTRUCTION;
}

static hx__amd_chip chip_of_word(const char *word) {
  const hx__mesa_fma fma = mesa_fma_of(word);
  for (size_t i = 0; i < sizeof apus / sizeof apus[0]; i++)
    if (strcmp(word, apus[i].chip) == 0) return (hx__amd_chip){true, true, apus[i].rdna, fma};
  if (begins_with_any(word, rdna_prefixes)) return (hx__amd_chip){true, false, true, fma};
  if (begins_with_any(word, gcn_prefixes)) return (hx__amd_chip){true, false, false, fma};
  return (hx__amd_chip){.known = false};
}

hx__amd_chip hx__amd_chip_of(const char *device_name) {
  char word[64];
  hx__amd_chip best = {.known = false};
  for (const char *at = device_name; *at;) {
    size_t length = 0;
    for (; isalnum((unsigned char)*at) || *at == '_'; at++)
      if (length < sizeof word - 1) word[length++] = (char)tolower((unsigned char)*at);
    word[length] = '\0';
    const hx__amd_chip chip = chip_of_word(word);
    /* "AMD Radeon RX Vega 11 (raven, ...)": the APU's name is the more exact one, and so is "vega10" after "Vega". */
    if (chip.known && (!best.known || chip.integrated || chip.mesa_fma != HX__FMA_INSTRUCTION)) best = chip;
    if (*at) at++;
  }
  return best;
}
