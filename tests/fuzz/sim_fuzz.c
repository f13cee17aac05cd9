/* SPDX-License-Identifier: Apache-2.0
 * HX_SIM: a list that is accepted gives devices that can be simulated, one for each piece of the list, and a list made
 * from the parsed values gives the same devices. */
#include <math.h>

#include "runtime/base/config_parse.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv) { return (void)argc, (void)argv, 0; }

static const char *const entries[HX__SIM_ENTRIES] = {"", "prepare", "open", "bind", "enqueue", "wait", "alloc"};

static void check_device(const hx__sim_profile *s) {
  FUZZ_CHECK(isfinite(s->rate) && s->rate >= 1 && isfinite(s->latency_us) && s->latency_us >= 0, "rate %g, latency %g",
             s->rate, s->latency_us);
  FUZZ_CHECK(isfinite(s->products) && s->products >= 0, "products %g", s->products);
  FUZZ_CHECK((unsigned)s->fail_entry < HX__SIM_ENTRIES && !s->fail_entry == !s->fail_at, "fails at %d, call %llu",
             (int)s->fail_entry, (unsigned long long)s->fail_at);
}

static void check_again(const hx__config *config) {
  static hx__config again;
  char list[HX__SIMS * 128] = "", why[HX__WHY_BYTES] = "";
  size_t at = 0;
  for (uint32_t i = 0; i < config->sims; i++) {
    const hx__sim_profile *const s = &config->sim[i];
    at += (size_t)snprintf(list + at, sizeof list - at, "%srate=%.17g,latency_us=%.17g", i ? ";" : "", s->rate,
                           s->latency_us);
    if (s->fail_entry)
      at += (size_t)snprintf(list + at, sizeof list - at, ",fail=%s@%llu", entries[s->fail_entry],
                             (unsigned long long)s->fail_at);
  }
  FUZZ_CHECK(hx__parse_sim(&again, list, why), "'%s': %s", list, why);
  FUZZ_CHECK(again.sims == config->sims, "%u devices, then %u", config->sims, again.sims);
  for (uint32_t i = 0; i < config->sims; i++)
    FUZZ_CHECK(again.sim[i].rate == config->sim[i].rate && again.sim[i].latency_us == config->sim[i].latency_us &&
                   again.sim[i].fail_entry == config->sim[i].fail_entry &&
                   again.sim[i].fail_at == config->sim[i].fail_at,
               "device %u of '%s'", i, list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static hx__config config;
  char why[HX__WHY_BYTES] = "";
  char *const text = fuzz_text(data, size);
  uint32_t pieces = 1;
  for (const char *p = text; *p; p++) pieces += *p == ';';
  if (hx__parse_sim(&config, text, why)) {
    FUZZ_CHECK(config.sims == pieces && config.sims <= HX__SIMS, "%u devices of '%s'", config.sims, text);
    for (uint32_t i = 0; i < config.sims; i++) check_device(&config.sim[i]);
    check_again(&config);
  } else {
    FUZZ_CHECK(why[0] && strlen(why) < sizeof why, "'%s' is refused without a reason", text);
  }
  free(text);
  return 0;
}
