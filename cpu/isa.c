/* SPDX-License-Identifier: Apache-2.0
 * Selects the variant of the CPU kernels. */
#include "cpu/isa.h"

#define VARIANT_CASE(which, table, present) \
  case which:                               \
    return (present) ? &table : NULL;

static const hx__cpu_kernels *variant(hx__isa isa) {
  switch (isa) {
    HX__VARIANTS(VARIANT_CASE)
    default:
      return NULL;
  }
}

#if defined(__x86_64__)
#include <cpuid.h>
#include <string.h>

/* The cores on which AVX-512 is faster. On cores with full 512-bit units it doubles the speed of products (measured on
 * Zen 5). Zen 4 runs 512 bits in two halves: products gain a few percent, because the register tile loads half as much
 * for each multiplication, but memory is read 3-8 % slower, so reductions use 64 bytes only from the near caches. The
 * Intel rows are by the vendor's description, not measured. Of cores without a row, those with AVX512-FP16 use AVX-512:
 * they came after the cores with one 512-bit multiplier (Intel's clients) and those that run it in halves, and one of
 * them was measured, 1.3 to 1.6 times as fast in products. All others use AVX2. */
typedef struct wide_core {
  char vendor[13];
  unsigned family, model_first, model_last;
  const hx__cpu_kernels *kernels;
} wide_core;

static const wide_core wide_cores[] = {
    {"AuthenticAMD", 0x19, 0x10, 0x1f, &hx__cpu_avx512_halves}, /* Zen 4: EPYC 9004 */
    {"AuthenticAMD", 0x19, 0x60, 0x7f, &hx__cpu_avx512_halves}, /* Zen 4: Ryzen 7000, 8000 */
    {"AuthenticAMD", 0x19, 0xa0, 0xaf, &hx__cpu_avx512_halves}, /* Zen 4c: EPYC 97x4, 8004 */
    {"AuthenticAMD", 0x1a, 0x00, 0x1f, &hx__cpu_avx512},        /* Zen 5, Zen 5c: EPYC 9005 */
    {"AuthenticAMD", 0x1a, 0x40, 0x4f, &hx__cpu_avx512},        /* Zen 5: Ryzen 9000 */
    {"GenuineIntel", 0x06, 0x55, 0x55, &hx__cpu_avx512},        /* Skylake-SP, Cascade Lake, Cooper Lake */
    {"GenuineIntel", 0x06, 0x6a, 0x6c, &hx__cpu_avx512},        /* Ice Lake-SP, Ice Lake-D */
    {"GenuineIntel", 0x06, 0x8f, 0x8f, &hx__cpu_avx512},        /* Sapphire Rapids */
    {"GenuineIntel", 0x06, 0xad, 0xae, &hx__cpu_avx512},        /* Granite Rapids */
    {"GenuineIntel", 0x06, 0xcf, 0xcf, &hx__cpu_avx512},        /* Emerald Rapids */
};

/* Reads the vendor; "" if it is unknown. */
static void vendor_of(char vendor[13]) {
  unsigned most, ebx, ecx, edx;
  memset(vendor, 0, 13);
  if (!__get_cpuid(0, &most, &ebx, &ecx, &edx)) return;
  memcpy(vendor, &ebx, 4), memcpy(vendor + 4, &edx, 4), memcpy(vendor + 8, &ecx, 4);
}

/* The kernels of this core's row, or NULL. */
static const hx__cpu_kernels *wide_kernels(void) {
  unsigned eax;
  char vendor[13];
  if (!__get_cpuid(1, &eax, &(unsigned){0}, &(unsigned){0}, &(unsigned){0})) return NULL;
  vendor_of(vendor);
  unsigned base = eax >> 8 & 15, family = base == 15 ? base + (eax >> 20 & 255) : base;
  unsigned model = (eax >> 4 & 15) | (eax >> 12 & 0xf0); /* family 6 and families from 15 on have extended models */
  for (size_t i = 0; i < sizeof wide_cores / sizeof wide_cores[0]; i++) {
    const wide_core *w = &wide_cores[i];
    if (!strcmp(w->vendor, vendor) && w->family == family && w->model_first <= model && model <= w->model_last)
      return w->kernels;
  }
  return NULL;
}

static bool is_intel(void) {
  char vendor[13];
  vendor_of(vendor);
  return !strcmp(vendor, "GenuineIntel");
}

bool hx__cpu_has_vnni(hx__isa isa) {
  unsigned eax, ebx, ecx, edx;
  if (isa == HX__ISA_AVX512) return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ecx >> 11 & 1);
  return isa == HX__ISA_AVX2 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax >> 4 & 1);
}

/* The kernels for this core instead of k. */
static const hx__cpu_kernels *for_ports(const hx__cpu_kernels *k) {
  if (k == &hx__cpu_avx2 && is_intel() && hx__cpu_has_vnni(HX__ISA_AVX2)) return &hx__cpu_avx2_vnni;
  if (k == &hx__cpu_avx512 && is_intel() && hx__cpu_has_vnni(HX__ISA_AVX512)) return &hx__cpu_avx512_vnni;
  return k;
}

static bool has_fp16(void) {
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (edx >> 23 & 1);
}

static const hx__cpu_kernels *best_variant(void) {
  const hx__cpu_kernels *k = variant(HX__ISA_AVX512) ? wide_kernels() : NULL;
  if (!k && has_fp16()) k = variant(HX__ISA_AVX512);
  if (!k) k = variant(HX__ISA_AVX2);
  return k ? k : variant(HX__ISA_SSE2);
}

/* Looks once, because cpuid leaves a virtual machine, which takes microseconds. */
bool hx__cpu_prefetches(void) {
  static _Atomic signed char known; /* 0: not yet; 1: prefetches; -1: does not */
  if (!known) {
    char vendor[13];
    vendor_of(vendor);
    known = strcmp(vendor, "AuthenticAMD") ? -1 : 1;
  }
  return known > 0;
}
#else
static const hx__cpu_kernels *for_ports(const hx__cpu_kernels *k) { return k; }
static const hx__cpu_kernels *best_variant(void) { return variant(HX__ISA_NEON); }
bool hx__cpu_prefetches(void) { return false; }
#endif

const hx__cpu_kernels *hx__cpu_kernels_for(hx__isa isa) {
  return for_ports(isa == HX__ISA_AUTO ? best_variant() : variant(isa));
}
