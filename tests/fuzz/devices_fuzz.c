/* SPDX-License-Identifier: Apache-2.0
 * HX_DEVICES against a second reading of the same list, written without the parser's helpers. */
#include <strings.h>

#include "runtime/base/config_parse.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv) { return (void)argc, (void)argv, 0; }

/* The value of an index from 0 to 31, with leading zeros allowed; -1: it is no index. */
static int index_of(const char *item) {
  if (!*item || strspn(item, "0123456789") != strlen(item)) return -1;
  item += strspn(item, "0");
  return strlen(item) > 2 || atoi(item) > 31 ? -1 : atoi(item);
}

static bool expected_devices(char *list, uint32_t *words, uint32_t *indices) {
  *words = *indices = 0;
  for (char *item; (item = strsep(&list, ","));) {
    bool known = false;
    for (unsigned bit = 0; 1u << bit <= HX__DEV_ALL; bit++)
      if (strcasecmp(item, hx__device_word(bit)) == 0) *words |= 1u << bit, known = true;
    const int index = index_of(item);
    if (!known && index < 0) return false;
    if (index >= 0) *indices |= 1u << index;
  }
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static hx__config config;
  char why[HX__WHY_BYTES] = "";
  char *const text = fuzz_text(data, size), *const copy = fuzz_text(data, size);
  uint32_t words, indices;
  const bool accepted = hx__parse_devices(&config, text, why), wanted = expected_devices(copy, &words, &indices);
  FUZZ_CHECK(accepted == wanted, "'%s' is %s", text, accepted ? "accepted" : why);
  if (accepted)
    FUZZ_CHECK(config.device_words == words && config.device_indices == indices, "'%s': %x and %x, not %x and %x", text,
               config.device_words, config.device_indices, words, indices);
  FUZZ_CHECK(strlen(why) < sizeof why && accepted == !why[0], "why: %s", why);
  free(text);
  free(copy);
  return 0;
}
