/* SPDX-License-Identifier: Apache-2.0
 * For simulation only: what ScaLAPACK's psgemm calls besides its own code. sgemm computes nothing, and takes the time
 * of its operations at the rate of the simulated machine. */
#include <smpi/smpi.h>
#include <stdlib.h>

void sgemm_(const char *trans_a, const char *trans_b, const int *m, const int *n, const int *k);
void sgemm_(const char *trans_a, const char *trans_b, const int *m, const int *n, const int *k) {
  (void)trans_a, (void)trans_b;
  if (*m > 0 && *n > 0 && *k > 0) smpi_execute_flops_benched(2.0 * *m * *n * *k);
}

/* The lines of a panel, which ScaLAPACK leaves to those who install it; 32 as it is distributed. */
int pilaenv_(const int *context, const char *type);
int pilaenv_(const int *context, const char *type) {
  (void)context, (void)type;
  const char *const lines = getenv("PANEL");
  return lines ? atoi(lines) : 32;
}
