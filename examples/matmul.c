/* SPDX-License-Identifier: Apache-2.0
 * Products of parts of larger matrices, of transposed ones, and of matrices that are stored by columns. */
#include <hx.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 2, N = 3, K = 4, WIDE = 10 };

static void run(hx_context *hx, const hx_task *task) {
  if (hx_offload(hx, task, NULL) == HX_OK) return;
  fprintf(stderr, "%s\n", hx_error_detail());
  exit(1);
}

static void print(const char *what, const float *c, size_t ldc) {
  printf("%s:\n", what);
  for (int i = 0; i < M; i++) printf("  %g %g %g\n", c[i * ldc], c[i * ldc + 1], c[i * ldc + 2]);
}

int main(void) {
  hx_context *hx;
  if (hx_open(&hx, NULL) != HX_OK) return fprintf(stderr, "%s\n", hx_error_detail()), 1;
  float a[M * WIDE], b[K * N], b_transposed[N * K], c[M * WIDE], by_columns[N * M];
  for (int i = 0; i < M * WIDE; i++) a[i] = (float)i, c[i] = 100;
  for (int p = 0; p < K; p++)
    for (int j = 0; j < N; j++) b[p * N + j] = b_transposed[j * K + p] = (float)(p + j);

  /* A is the left part of rows that are WIDE elements long, and so is C. */
  hx_task task = hx_matmul(M, N, K, a, b, c);
  task.matmul.lda = task.matmul.ldc = WIDE;
  run(hx, &task);
  print("C = A B", c, WIDE);

  /* The same B, stored as its transpose. C = 2 A B + C. */
  task.matmul.b = b_transposed;
  task.matmul.trans_b = true;
  task.matmul.alpha = 2;
  task.matmul.beta = 1;
  run(hx, &task);
  print("C = 2 A B + C", c, WIDE);

  /* A program that stores matrices by columns (Fortran, BLAS, Julia, R, Eigen) swaps A and B, and M and N: memory that
   * holds X by columns holds the transpose of X by rows, and (A B)^T = B^T A^T. Here A^T is K x M, B^T is N x K. */
  float at[K * M];
  for (int i = 0; i < M; i++)
    for (int p = 0; p < K; p++) at[p * M + i] = a[i * WIDE + p];
  task = hx_matmul(N, M, K, b_transposed, at, by_columns);
  run(hx, &task);
  printf("A B by columns:\n ");
  for (int e = 0; e < N * M; e++) printf(" %g", by_columns[e]);
  puts("");
  hx_close(hx);
}
