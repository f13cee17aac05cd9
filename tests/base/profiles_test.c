/* SPDX-License-Identifier: Apache-2.0
 * profiles_test LAPTOPS.TSV: every figure of the simulated machines stands in that file, with its source and the same
 * value, and the file has no others. */
#include "runtime/base/profiles.h"
#include "tests/check.h"

typedef struct figure {
  const char *profile, *name;
  double value;
  unsigned rows; /* in the file */
} figure;

enum { MOST = 64 };
static figure figures[MOST];
static size_t count;

static void expect(const char *profile, const char *name, double value) {
  if (count < MOST) figures[count++] = (figure){profile, name, value, 0};
}

static void list_figures(void) {
  expect("all", "dram_one", HX__PROFILE_DRAM_ONE);
  expect("all", "dram_both", HX__PROFILE_DRAM_BOTH);
  expect("all", "cpu_corun", HX__PROFILE_CPU_CORUN);
  expect("all", "gpu_corun", HX__PROFILE_GPU_CORUN);
  for (size_t i = 0; i < hx__profile_count; i++) {
    const hx__profile *const p = &hx__profiles[i];
    expect(p->name, "cores", p->cores);
    expect(p->name, "cpu_gflops", p->cpu_gflops);
    expect(p->name, "gpu_gflops", p->gpu_gflops);
    expect(p->name, "cpu_part", p->cpu_part);
    expect(p->name, "gpu_part", p->gpu_part);
    expect(p->name, "dram_gbs", p->dram_gbs);
    if (p->cards) expect(p->name, "cards", p->cards);
    if (p->cards) expect(p->name, "link_gbs", p->link_gbs);
    expect(p->name, "launch_us", p->launch_us);
    expect(p->name, "idle_us", p->idle_us);
    expect(p->name, "sum_build_ms", p->sum_build_ms);
    expect(p->name, "product_build_ms", p->product_build_ms);
  }
}

static bool is_kind(const char *word) {
  return strcmp(word, "published") == 0 || strcmp(word, "measured") == 0 || strcmp(word, "assumed") == 0;
}

static void read_row(char *line) {
  char *rest = line, *field[5] = {NULL};
  for (size_t i = 0; i < 5; i++) field[i] = strsep(&rest, "\t");
  CHECK(field[4] && *field[4] && !rest, "five fields: %s", line);
  if (!field[4]) return;
  CHECK(is_kind(field[3]), "%s %s: %s", field[0], field[1], field[3]);
  bool known = false;
  for (size_t i = 0; i < count; i++) {
    if (strcmp(figures[i].profile, field[0]) != 0 || strcmp(figures[i].name, field[1]) != 0) continue;
    known = true;
    figures[i].rows++;
    const double difference = strtod(field[2], NULL) - figures[i].value;
    CHECK(difference < 1e-9 && difference > -1e-9, "%s %s: %s, hx has %g", field[0], field[1], field[2],
          figures[i].value);
  }
  CHECK(known, "hx has no %s %s", field[0], field[1]);
}

int main(int argc, char **argv) {
  char line[1024];
  FILE *const f = argc == 2 ? fopen(argv[1], "r") : NULL;
  if (!f) return fputs("profiles_test LAPTOPS.TSV\n", stderr), 2;
  list_figures();
  bool in_table = false;
  while (fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = '\0';
    if (in_table) read_row(line);
    in_table = in_table || strncmp(line, "profile\t", 8) == 0;
  }
  fclose(f);
  for (size_t i = 0; i < count; i++)
    CHECK(figures[i].rows == 1, "%s %s: %u rows", figures[i].profile, figures[i].name, figures[i].rows);
  return checks_end("profiles_test");
}
