/* SPDX-License-Identifier: Apache-2.0
 * k-means clustering (Lloyd, IEEE Transactions on Information Theory 28, 1982) by two matrix products per step:
 * distances from X C^T, and sums of the members of each cluster from W^T X, where W says which row is in which cluster.
 * Every run, on every machine, prints the same digits.
 *
 * usage: kmeans FILE.csv [COPIES]    COPIES: the rows of the file, repeated, for a larger problem
 *
 * data/iris.csv: 150 flowers of three species, R. A. Fisher, The use of multiple measurements in taxonomic problems,
 * Annals of Eugenics 7, 1936 (in the public domain). */
#include <hx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEATURES = 4, CLUSTERS = 3, MOST_ROWS = 10000, MOST_STEPS = 100, NAME = 32 };

typedef struct data {
  size_t rows, file_rows;
  float *x;                   /* rows x FEATURES */
  char name[MOST_ROWS][NAME]; /* the species, of each row of the file */
} data;

typedef struct clusters {
  float centre[CLUSTERS][FEATURES], sum[CLUSTERS][FEATURES];
  float *dot;       /* rows x CLUSTERS: X C^T */
  float *member;    /* rows x CLUSTERS: 1 if the row is in the cluster, else 0 */
  float *deviation; /* rows x FEATURES: from the centre of the row's cluster */
  unsigned *nearest;
  size_t size[CLUSTERS];
  double seconds, gpu_seconds; /* of products; those parts of them that GPUs did */
} clusters;

static void fail(const char *what) {
  fprintf(stderr, "kmeans: %s\n", what);
  exit(1);
}

static void *allocate(hx_context *hx, size_t bytes) {
  void *const p = hx_alloc(hx, bytes);
  if (!p) fail(hx_error_detail());
  return p;
}

static void read_file(const char *path, float row[MOST_ROWS][FEATURES], data *d) {
  char line[256];
  FILE *const file = fopen(path, "r");
  if (!file || !fgets(line, sizeof line, file)) fail("the file cannot be read"); /* the first line is the head */
  while (d->file_rows < MOST_ROWS && fgets(line, sizeof line, file)) {
    float *const r = row[d->file_rows];
    if (sscanf(line, "%f,%f,%f,%f,%31[^\n]", &r[0], &r[1], &r[2], &r[3], d->name[d->file_rows]) == 5) d->file_rows++;
  }
  fclose(file);
  if (d->file_rows < CLUSTERS) fail("too few rows");
}

static void multiply(hx_context *hx, clusters *c, const hx_task *task) {
  hx_report report;
  if (hx_offload(hx, task, &report) != HX_OK) fail(hx_error_detail());
  c->seconds += report.seconds;
  c->gpu_seconds += report.seconds * report.gpu_share;
}

static float reduce(hx_context *hx, hx_op op, const float *x, size_t n) {
  hx_value value;
  const hx_task task = hx_reduce(op, HX_F32, x, n, &value);
  if (hx_offload(hx, &task, NULL) != HX_OK) fail(hx_error_detail());
  return value.f32;
}

/* Puts each row into the cluster of its nearest centre: |x - c|^2 = |x|^2 - 2 x.c + |c|^2, of which |x|^2 is the same
 * for all centres. Returns how many rows have changed their cluster. */
static size_t assign(hx_context *hx, const data *d, clusters *c) {
  hx_task task = hx_matmul(d->rows, CLUSTERS, FEATURES, d->x, c->centre[0], c->dot);
  task.matmul.trans_b = true;
  multiply(hx, c, &task);
  float length[CLUSTERS];
  for (int k = 0; k < CLUSTERS; k++) length[k] = reduce(hx, HX_SUM_SQUARES, c->centre[k], FEATURES);
  size_t changed = 0;
  memset(c->size, 0, sizeof c->size);
  for (size_t i = 0; i < d->rows; i++) {
    unsigned best = 0;
    float least = 0;
    for (unsigned k = 0; k < CLUSTERS; k++) {
      const float distance = length[k] - 2 * c->dot[i * CLUSTERS + k];
      if (k == 0 || distance < least) best = k, least = distance;
    }
    for (unsigned k = 0; k < CLUSTERS; k++) c->member[i * CLUSTERS + k] = k == best;
    changed += c->nearest[i] != best;
    c->nearest[i] = best;
    c->size[best]++;
  }
  return changed;
}

/* Moves each centre to the mean of its members. */
static void move(hx_context *hx, const data *d, clusters *c) {
  hx_task task = hx_matmul(CLUSTERS, FEATURES, d->rows, c->member, d->x, c->sum[0]);
  task.matmul.trans_a = true;
  multiply(hx, c, &task);
  for (int k = 0; k < CLUSTERS; k++)
    for (int f = 0; f < FEATURES && c->size[k]; f++) c->centre[k][f] = c->sum[k][f] / (float)c->size[k];
}

/* Rows of the species that is most frequent in their cluster. */
static size_t print_clusters(const data *d, const clusters *c) {
  size_t agree = 0;
  for (unsigned k = 0; k < CLUSTERS; k++) {
    size_t most = 0;
    const char *species = "nothing";
    for (size_t i = 0; i < d->file_rows; i++) {
      size_t count = 0;
      for (size_t j = 0; j < d->rows; j++)
        count += c->nearest[j] == k && strcmp(d->name[j % d->file_rows], d->name[i]) == 0;
      if (count > most) most = count, species = d->name[i];
      while (i + 1 < d->file_rows && strcmp(d->name[i + 1], d->name[i]) == 0) i++;
    }
    printf("cluster %u: %zu rows around (%.4f %.4f %.4f %.4f), most of them %s\n", k, c->size[k], c->centre[k][0],
           c->centre[k][1], c->centre[k][2], c->centre[k][3], species);
    agree += most;
  }
  return agree;
}

int main(int argc, char **argv) {
  static float row[MOST_ROWS][FEATURES];
  static data d;
  static clusters c;
  const size_t copies = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  if (argc < 2 || copies < 1) fail("usage: kmeans FILE.csv [COPIES]");
  read_file(argv[1], row, &d);
  d.rows = d.file_rows * copies;

  hx_context *hx;
  if (hx_open(&hx, NULL) != HX_OK) fail(hx_error_detail());
  d.x = allocate(hx, d.rows * FEATURES * sizeof *d.x);
  c.dot = allocate(hx, d.rows * CLUSTERS * sizeof *c.dot);
  c.member = allocate(hx, d.rows * CLUSTERS * sizeof *c.member);
  c.deviation = allocate(hx, d.rows * FEATURES * sizeof *c.deviation);
  c.nearest = allocate(hx, d.rows * sizeof *c.nearest);
  for (size_t i = 0; i < d.rows; i++) memcpy(&d.x[i * FEATURES], row[i % d.file_rows], sizeof row[0]);
  for (size_t i = 0; i < d.rows; i++) c.nearest[i] = CLUSTERS; /* none */
  for (size_t k = 0; k < CLUSTERS; k++) memcpy(c.centre[k], row[k * d.file_rows / CLUSTERS], sizeof row[0]);

  int steps = 0;
  while (assign(hx, &d, &c) && steps < MOST_STEPS) {
    move(hx, &d, &c);
    steps++;
  }
  for (size_t i = 0; i < d.rows * FEATURES; i++)
    c.deviation[i] = d.x[i] - c.centre[c.nearest[i / FEATURES]][i % FEATURES];
  const float inertia = reduce(hx, HX_SUM_SQUARES, c.deviation, d.rows * FEATURES);
  printf("%zu rows, %d steps, sum of squared distances %.9g\n", d.rows, steps, (double)inertia);
  const size_t agree = print_clusters(&d, &c);
  printf("%zu of %zu rows are in the cluster of their species\n", agree, d.rows);
  fprintf(stderr, "products: %.3f ms, %.0f %% of them on GPUs\n", 1e3 * c.seconds,
          c.seconds > 0 ? 100 * c.gpu_seconds / c.seconds : 0.0);
  hx_close(hx);
}
