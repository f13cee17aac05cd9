/* SPDX-License-Identifier: Apache-2.0
 * Holds the scalar definition (ref.c) and hx_offload on the CPU to the values of an independent program:
 *     golden_test [golden.txt]  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/data.h"
#include "reference/ref.h"
#include "runtime/base/operations.h"

static hx_context *context;
static unsigned differ;

static int index_of_name(const char *const *names, size_t count, const char *name) {
  for (size_t i = 1; i < count; i++)
    if (strcmp(names[i], name) == 0) return (int)i;
  return 0;
}

static void *allocate_or_exit(size_t bytes) {
  void *p = malloc(bytes ? bytes : 1);
  if (p == NULL) {
    fprintf(stderr, "no memory for %zu bytes\n", bytes);
    exit(1);
  }
  return p;
}

static void expect(const char *origin, const char *line, uint64_t want, uint64_t got) {
  if (want == got) return;
  differ++;
  printf("%s: %016llx instead of %016llx: %s", origin, (unsigned long long)got, (unsigned long long)want, line);
}

static bool offload(const char *line, const hx_task *task) {
  hx_status s = hx_offload(context, task, NULL);
  if (s == HX_OK) return true;
  differ++;
  printf("hx: %s (%s): %s", hx_status_string(s), hx_error_detail(), line);
  return false;
}

/* Data of a product: 1 + x * 2^-13, so that it stays in range. */
static void near_one(void *p, size_t n) {
  float *x = p;
  for (size_t i = 0; i < n; i++) x[i] = 1.0f + x[i] * 0x1p-13f;
}

static bool reduce_line(const char *line) {
  char op_name[16], type_name[8], kind_name[4];
  unsigned long long seed, n, want;
  if (sscanf(line, "reduce %15s %7s %3s %llu %llu -> %llx", op_name, type_name, kind_name, &seed, &n, &want) != 6)
    return false;
  hx_op op = (hx_op)index_of_name(hx__op_names, HX__OPS, op_name);
  hx_type type = (hx_type)index_of_name(hx__type_names, HX__TYPES, type_name);
  if (!op || !type) return false;
  data_kind kind = (data_kind)atoi(kind_name); /* "-": kind 0, u itself */
  uint32_t *x = allocate_or_exit(n * 4), *y = allocate_or_exit(n * 4);
  data_fill(type, kind, seed, x, n);
  data_fill(type, kind, seed + 1, y, n);
  if (op == HX_PROD && type == HX_F32) near_one(x, n);
  expect("ref", line, want, ref_reduce(op, type, x, y, n).u64);
  hx_value got;
  memset(&got, 0xa5, sizeof got);
  hx_task task = op == HX_DOT ? hx_dot(type, x, y, n, &got) : hx_reduce(op, type, x, n, &got);
  if (offload(line, &task)) expect("hx", line, want, got.u64);
  free(x);
  free(y);
  return true;
}

static uint64_t fnv_hash(const void *p, size_t bytes) {
  uint64_t h = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 0; i < bytes; i++) h = (h ^ ((const unsigned char *)p)[i]) * UINT64_C(0x100000001b3);
  return h;
}

static bool matmul_line(const char *line) {
  unsigned long long m, n, k, seed, hash;
  unsigned trans_a, trans_b, first, last;
  int kind;
  float alpha, beta;
  if (sscanf(line, "matmul %llu %llu %llu %u %u %f %f %d %llu -> %llx %x %x", &m, &n, &k, &trans_a, &trans_b, &alpha,
             &beta, &kind, &seed, &hash, &first, &last) != 12)
    return false;
  float *a = allocate_or_exit(m * k * 4), *b = allocate_or_exit(k * n * 4), *c = allocate_or_exit(m * n * 4);
  data_fill(HX_F32, (data_kind)kind, seed, a, m * k);
  data_fill(HX_F32, (data_kind)kind, seed + 1, b, k * n);
  hx_task task = hx_matmul(m, n, k, a, b, c);
  task.matmul.alpha = alpha;
  task.matmul.beta = beta;
  task.matmul.trans_a = trans_a;
  task.matmul.trans_b = trans_b;
  for (int by_hx = 0; by_hx < 2; by_hx++) {
    const char *origin = by_hx ? "hx" : "ref";
    data_fill(HX_F32, (data_kind)kind, seed + 2, c, m * n);
    if (!by_hx) {
      ref_matmul(&task.matmul);
    } else if (!offload(line, &task)) {
      continue;
    }
    expect(origin, line, hash, fnv_hash(c, m * n * 4));
    expect(origin, line, first, ref_bits(c[0]));
    expect(origin, line, last, ref_bits(c[m * n - 1]));
  }
  free(a);
  free(b);
  free(c);
  return true;
}

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "reference/golden.txt";
  FILE *f = fopen(path, "r");
  if (f == NULL) {
    fprintf(stderr, "golden_test: cannot read %s\n", path);
    return 1;
  }
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "cpu";
  if (hx_open(&context, &settings) != HX_OK) {
    fprintf(stderr, "golden_test: %s\n", hx_error_detail());
    return 1;
  }
  char line[512];
  unsigned values = 0;
  while (fgets(line, sizeof line, f)) {
    if (line[0] == '#' || line[0] == '\n') continue;
    if (!reduce_line(line) && !matmul_line(line)) {
      differ++;
      printf("not understood: %s", line);
    }
    values++;
  }
  fclose(f);
  hx_close(context);
  printf("golden_test: %u values, %u differ\n", values, differ);
  return differ || values == 0;
}
