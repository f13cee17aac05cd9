/* SPDX-License-Identifier: Apache-2.0
 * A library whose constructor calls a function of the program: CONSTRUCTOR_CALLS is the address of a pointer to it. */
#include <stdint.h>
#include <stdlib.h>

__attribute__((constructor)) static void call_program(void) {
  const char *const address = getenv("CONSTRUCTOR_CALLS");
  if (address) (*(void (**)(void))(uintptr_t)strtoull(address, NULL, 16))();
}
