/* SPDX-License-Identifier: Apache-2.0
 * The scheduler in virtual time: how close it comes to the best fixed split on steady machines and on machines that
 * change; that every slice is delivered once whatever fails; that implausible numbers do no harm.
 *     sim_test [--table] [--schedules N] */
#include <math.h>

#include "runtime/sched/progress.h"
#include "runtime/sched/policy.h"
#include "tests/check.h"
#include "sim/floors.h"

enum { SEEDS = 20, MORE_SEEDS = 400, TASKS = 3 };

static const double task_ns[TASKS] = {0.3e6, 2e6, 20e6}, latencies_ns[] = {8e3, 40e3, 150e3},
                    ratios[] = {0.3, 1.0, 1.5, 6.0, 10.0};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

typedef struct cell {
  double sum, worst;
  unsigned count;
} cell;

static void add_efficiency(cell *c, double eta) {
  if (c->count == 0 || eta < c->worst) c->worst = eta;
  c->sum += eta;
  c->count++;
}

static void print_cells(const char *name, const cell *cells) {
  printf(" %8s %.3f/%.3f", name, cells->sum / cells->count, cells->worst);
}

static double mean_eta(const sim_machine *m, size_t slices, double oracle, sim_belief belief, unsigned seeds) {
  double sum = 0.0;
  for (uint64_t seed = 1; seed <= seeds; seed++) sum += sim_eta(m, slices, oracle, belief, seed * 1000003u);
  return sum / seeds;
}

/* If a mean is below its bound, it is measured again with more seeds: in some cells a call ends in one of two ways that
 * differ by a quarter, so that the mean of twenty calls may be off by 0.02. */
static void run_cell(const sim_machine *m, double ns, const double floor_of[SIM_BELIEFS], cell beliefs[SIM_BELIEFS],
                     cell peers[]) {
  const size_t slices = sim_slices_for(m, ns);
  double share[SIM_DEVICES];
  const double oracle = sim_oracle(m, slices, share);
  const sim_guess guess = sim_guess_of(m, 1.0);
  for (unsigned b = 0; b < SIM_BELIEFS; b++) {
    const double eta = mean_eta(m, slices, oracle, (sim_belief)b, SEEDS);
    add_efficiency(&beliefs[b], eta < floor_of[b] ? mean_eta(m, slices, oracle, (sim_belief)b, MORE_SEEDS) : eta);
  }
  for (unsigned p = 0; peers && p < sim_peer_count; p++) {
    double sum = 0.0;
    uint64_t random = 77;
    for (unsigned i = 0; i < SEEDS; i++) sum += oracle / sim_peers[p].call(m, slices, guess.rate, &random);
    add_efficiency(&peers[p], sum / SEEDS);
  }
}

static void check_scenario(const sim_scenario *s, unsigned task, sim_belief b, const cell *c) {
  const floors *const f = &least[s->kind][b];
  const double mean = c->sum / c->count, ms = task_ns[task] * 1e-6;
  CHECK(mean >= f->mean[task - 1], "%s, %.1f ms, %s: mean eta %.3f", s->name, ms, sim_belief_names[b], mean);
  CHECK(c->worst >= f->worst[task - 1], "%s, %.1f ms, %s: eta of a cell %.3f", s->name, ms, sim_belief_names[b],
        c->worst);
}

static void add_cell(cell *to, const cell *c) {
  if (to->count == 0 || c->worst < to->worst) to->worst = c->worst;
  to->sum += c->sum;
  to->count += c->count;
}

static void matrix(bool table) {
  cell all[TASKS][SIM_BELIEFS] = {{{0}}};
  for (unsigned s = 0; s < sim_scenario_count; s++) {
    if (table) printf("%s\n", sim_scenarios[s].name);
    for (unsigned t = 0; t < TASKS; t++) {
      cell beliefs[SIM_BELIEFS] = {{0}}, peers[16] = {{0}};
      double floor_of[SIM_BELIEFS] = {0};
      for (unsigned b = 0; t && b < SIM_BELIEFS; b++)
        floor_of[b] = fmax(least[sim_scenarios[s].kind][b].worst[t - 1], WORST);
      for (size_t l = 0; l < COUNT(latencies_ns); l++)
        for (size_t r = 0; r < COUNT(ratios); r++) {
          sim_machine m = sim_plain(ratios[r], latencies_ns[l]);
          if (sim_scenarios[s].change) sim_scenarios[s].change(&m, task_ns[t]);
          run_cell(&m, task_ns[t], floor_of, beliefs, table ? peers : NULL);
        }
      if (table) printf("  %5.1f ms:", task_ns[t] * 1e-6);
      for (unsigned b = 0; table && b < SIM_BELIEFS; b++) print_cells(sim_belief_names[b], &beliefs[b]);
      if (table) printf("\n            ");
      for (unsigned p = 0; table && p < sim_peer_count; p++) print_cells(sim_peers[p].name, &peers[p]);
      if (table) printf("\n");
      for (unsigned b = 0; b < SIM_BELIEFS; b++) {
        add_cell(&all[t][b], &beliefs[b]);
        if (t) check_scenario(&sim_scenarios[s], t, (sim_belief)b, &beliefs[b]);
      }
    }
  }
  for (unsigned t = 0; t < TASKS; t++) {
    printf("  eta, %.1f ms:", task_ns[t] * 1e-6);
    for (unsigned b = 0; b < SIM_BELIEFS; b++) {
      const cell *const c = &all[t][b];
      print_cells(sim_belief_names[b], c);
      if (t == 0) continue;
      const double mean = c->sum / c->count, bar = b == SIM_LEARNED ? RIGHT : WRONG;
      CHECK(mean >= bar, "%.1f ms, %s: mean eta %.3f", task_ns[t] * 1e-6, sim_belief_names[b], mean);
      CHECK(c->worst >= WORST, "%.1f ms, %s: eta of a cell %.3f", task_ns[t] * 1e-6, sim_belief_names[b], c->worst);
    }
    printf("\n");
  }
}

static double random_over_decades(uint64_t *random, double least, double most) {
  return exp(log(least) + sim_uniform(random) * (log(most) - log(least)));
}

/* Numbers that no caller should ever pass. */
static double random_odd(uint64_t *random) {
  static const double values[] = {0.0, -1.0, INFINITY, -INFINITY, NAN, 1e300, 1e-300, 5e-324, 1.0};
  return values[(size_t)(sim_uniform(random) * COUNT(values))];
}

static sim_machine any_machine(uint64_t *random) {
  sim_machine m = {.devices = 1 + (unsigned)(sim_uniform(random) * SIM_DEVICES)};
  m.cpu =
      (sim_unit){.rate = random_over_decades(random, 1e-6, 1e-2), .threads = 1 + (unsigned)(sim_uniform(random) * 4)};
  m.cpu.slow = (unsigned)(sim_uniform(random) * m.cpu.threads);
  if (sim_uniform(random) < 0.3) m.cpu.bytes = 1.0, m.dram = m.cpu.rate;
  for (unsigned d = 0; d < m.devices; d++) {
    sim_unit *const u = &m.device[d];
    *u = (sim_unit){.rate = random_over_decades(random, 1e-7, 1e-1),
                    .latency_ns = random_over_decades(random, 1.0, 1e6),
                    .bytes = m.cpu.bytes};
    u->idle_ns = random_over_decades(random, 1.0, 1e6);
    u->noise = sim_uniform(random) * 0.5;
    u->grain = 1 + (size_t)(sim_uniform(random) * 20);
    if (sim_uniform(random) < 0.3) u->elbow = random_over_decades(random, 1.0, 100.0);
    if (sim_uniform(random) < 0.3) u->fail_at = 1 + (unsigned)(sim_uniform(random) * 4);
    if (sim_uniform(random) < 0.2) u->hang_at = 1 + (unsigned)(sim_uniform(random) * 4);
    if (sim_uniform(random) < 0.2) u->rate = 0.0;
    if (sim_uniform(random) < 0.3) {
      u->steps = 1;
      u->step[0] = (sim_step){random_over_decades(random, 1e3, 1e8),
                              sim_uniform(random) < 0.3 ? 0.0 : random_over_decades(random, 0.01, 10.0)};
    }
  }
  return m;
}

/* Whatever the estimates are and whatever fails, hangs or stalls, every slice is computed once. */
static void exactly_once(unsigned long schedules) {
  enum { MOST = 300 };
  static hx__model model = HX__MODEL_INIT;
  static unsigned char seen[MOST];
  uint64_t random = 20260101;
  sim_hx hx = {.model = &model};
  unsigned long recovered = 0, redone = 0, launches = 0;
  for (unsigned long i = 0; i < schedules; i++) {
    const sim_machine m = any_machine(&random);
    const size_t slices = 1 + (size_t)(sim_uniform(&random) * (MOST - 1));
    sim_guess guess = sim_guess_of(&m, random_over_decades(&random, 0.1, 10.0));
    for (unsigned d = 0; d <= m.devices; d++)
      if (sim_uniform(&random) < 0.1) guess.rate[d < m.devices ? d : SIM_DEVICES] = random_odd(&random);
    hx.now_s += (uint64_t)random_over_decades(&random, 1.0, 1e5);
    hx.idle = (unsigned)(sim_uniform(&random) * 16.0);
    memset(seen, 0, slices);
    sim_hx_call(&hx, &m, slices, &guess, &random, seen);
    size_t wrong = 0;
    for (size_t s = 0; s < slices; s++) wrong += seen[s] != 1;
    CHECK(wrong == 0 && !hx.result.stuck, "schedule %lu: %zu of %zu slices not once%s", i, wrong, slices,
          hx.result.stuck ? ", and it never ends" : "");
    if (wrong) break;
    recovered += hx.result.recovered;
    redone += hx.result.redone;
    launches += hx.result.launches;
  }
  printf("  %lu schedules, %lu launches, %lu chunks recovered, %lu done twice: every slice once\n", schedules, launches,
         recovered, redone);
  CHECK(schedules < 1000 || recovered > schedules / 100, "hardly anything failed");
  CHECK(schedules < 1000 || redone > schedules / 100, "hardly anything was late");
}

/* A CPU of one thread that was expected to compute 1 slice per nanosecond and computes half of that. A chunk in
 * progress neither hides the slower rate nor exaggerates it, until the chunk itself is late. */
static void in_progress(void) {
  const hx__progress cpu = {.rate = 1.0, .sigma = 0.1};
  const double believed = hx__progress_cpu_rate(&cpu, (hx__cpu_observation){5e6, 1e7, 0.0}, 1e7);
  CHECK(believed > 0.5 && believed < 0.65, "%g slices a nanosecond after 10 ms at 0.5", believed);
  for (double since = 0.0; since < 4e6; since += 1e5) {
    const double rate = hx__progress_cpu_rate(&cpu, (hx__cpu_observation){5e6, 1e7, 2e6}, 1e7 + since);
    CHECK(fabs(rate / believed - 1.0) < 1e-9, "%g, then %g with a chunk of 4 ms that began %g ms ago", believed, rate,
          since * 1e-6);
  }
  const double late = hx__progress_cpu_rate(&cpu, (hx__cpu_observation){5e6, 1e7, 2e6}, 3e7);
  CHECK(late < 0.75 * believed, "%g although a chunk of 4 ms takes 20", late);
  CHECK(hx__progress_cpu_rate(&cpu, (hx__cpu_observation){0.0, 0.0, 2e6}, 1e6) == 1.0,
        "a rate was learned although nothing was done");
}

/* Near the end of a run a device does not get a chunk that would gain next to nothing. */
static void no_tiny_last_chunks(void) {
  hx__view v = {.total = 1000000, .grain = 1, .most = 1000000, .rate = 1.0, .sigma = 0.1, .launch_ns = 1.0};
  v.ready_ns = 900.0;
  v.launches = 3;
  v.others = 1;
  v.other[0] = (hx__participant){1.0, 0.0};
  v.left = 2000;
  CHECK(hx__policy_adaptive(&v) == 0, "a launch that saves 0.6 us of 0.5 ms");
  v.left = 20000;
  CHECK(hx__policy_adaptive(&v) > 8000, "no launch although it saves 9.5 us");
}

static double random_any(uint64_t *random) {
  return sim_uniform(random) < 0.3 ? random_odd(random) : random_over_decades(random, 1e-9, 1e9);
}

/* Pure functions return usable values for any numbers. */
static void any_numbers(void) {
  uint64_t random = 5;
  for (int i = 0; i < 300000; i++) {
    hx__view v = {.total = 1 + (size_t)random_over_decades(&random, 1.0, 1e9),
                  .grain = 1 + (size_t)random_over_decades(&random, 1.0, 1e4)};
    v.left = (size_t)(sim_uniform(&random) * (double)v.total);
    v.most = 1 + (size_t)random_over_decades(&random, 1.0, 1e9);
    v.rate = random_any(&random);
    v.sigma = random_any(&random);
    v.in_flight = random_any(&random);
    v.ready_ns = random_any(&random);
    v.launch_ns = random_any(&random);
    v.store_ns = random_any(&random);
    v.others = (unsigned)(sim_uniform(&random) * HX_MAX_DEVICES);
    for (unsigned p = 0; p < v.others; p++) v.other[p] = (hx__participant){random_any(&random), random_any(&random)};
    const size_t n = hx__policy_adaptive(&v);
    CHECK(n <= v.left && n <= v.most, "a chunk of %zu of %zu", n, v.left);
    hx__cpu_chunk_view g = {.left = v.left, .grain = v.grain, .least = 1, .most = v.most, .rate = random_any(&random)};
    g.threads = (unsigned)(sim_uniform(&random) * 64);
    g.others = v.others < HX_MAX_DEVICES ? v.others : HX_MAX_DEVICES;
    memcpy(g.other, v.other, g.others * sizeof *g.other);
    const size_t c = hx__cpu_chunk_size(&g);
    CHECK(c <= g.left && (c > 0) == (g.left > 0), "a CPU chunk of %zu of %zu", c, g.left);
    /* another participant never makes the run end later */
    const double end = hx__finish_ns((double)v.left, v.other, v.others);
    if (v.left && v.others)
      CHECK(!(end > hx__finish_ns((double)v.left, v.other, v.others - 1) * 1.000001 + 1e-3),
            "the run ends later with one more participant: %g after %g", end,
            hx__finish_ns((double)v.left, v.other, v.others - 1));
  }
}

/* No chunk is expected to take longer than 100 ms, and a device that has got its last chunk gets no more. */
static void chunks_are_bounded(void) {
  uint64_t random = 6;
  for (int i = 0; i < 100000; i++) {
    hx__view v = {.total = 1u << 30,
                  .left = 1u << 30,
                  .most = SIZE_MAX,
                  .grain = 1,
                  .rate = random_over_decades(&random, 1e-4, 1e2)};
    v.sigma = sim_uniform(&random);
    v.ready_ns = v.launch_ns = random_over_decades(&random, 1.0, 1e7);
    v.others = 1;
    v.other[0] = (hx__participant){random_over_decades(&random, 1e-4, 1e2), 0.0};
    const double n = (double)hx__policy_adaptive(&v);
    CHECK(n <= v.rate * HX__LONGEST_NS + 1.0, "a chunk of %.3f ms", n / v.rate * 1e-6);
    size_t was = SIZE_MAX; /* a device that gets nothing gets nothing later either, when less is left */
    for (v.left = 1u << 20; v.left; v.left /= 2) {
      const size_t take = hx__policy_adaptive(&v);
      CHECK(!(was == 0 && take), "%zu slices after the device had got its last chunk", take);
      was = take;
    }
  }
}

/* A device that is slow in its first call after one of the CPU (threads of the pool still spin, buffers are cold) and
 * twice as fast as the CPU in the calls after that: a single call of it shows nothing, two consecutive calls do. */
static void slow_first_call(void) {
  static hx__model model;
  memset(&model, 0, sizeof model);
  pthread_mutex_init(&model.lock, NULL);
  sim_hx hx = {.model = &model, .now_s = 1000, .copies = true};
  uint64_t random = 5;
  sim_machine awake = sim_plain(2.0, 40e3), asleep = sim_plain(0.4, 40e3);
  awake.device[0].corun = asleep.device[0].corun = 0.2;
  const size_t slices = sim_slices_for(&awake, 5e6);
  const sim_guess guess = sim_guess_of(&awake, 1.0);
  const double alone = (double)slices / awake.device[0].rate;
  double last = 9.0;
  for (unsigned i = 0; i < 40; i++) {
    const double ns =
        sim_hx_call(&hx, i && hx.result.cpu_slices == 0 ? &awake : &asleep, slices, &guess, &random, NULL);
    if (hx.decision.choice == hx.decision.best) last = ns / alone;
  }
  printf("  a device that wakes up in its second call: at last %.3f x its time\n", last);
  CHECK(last < 1.1, "at last %.3f x its time", last);
}

/* A wrong model is corrected by further calls. corun: the fraction of their rates that participants have in company; 0:
 * all of it. */
static void wrong_model_is_corrected(double from, double to, double corun, unsigned calls, double most) {
  static hx__model model;
  memset(&model, 0, sizeof model);
  pthread_mutex_init(&model.lock, NULL);
  sim_hx hx = {.model = &model, .now_s = 1000};
  uint64_t random = 9;
  sim_machine was = sim_plain(from, 40e3), is = sim_plain(to, 40e3);
  was.cpu.corun = was.device[0].corun = is.cpu.corun = is.device[0].corun = corun;
  const size_t slices = sim_slices_for(&is, 5e6);
  double share[SIM_DEVICES], sum = 0.0, last = 1.0;
  sim_hx_warm(&hx, &was, slices, 200, &random);
  const double oracle = sim_oracle(&is, slices, share);
  const sim_guess guess = sim_guess_of(&was, 1.0);
  for (unsigned i = 0; i < calls; i++) {
    const double ns = sim_hx_call(&hx, &is, slices, &guess, &random, NULL);
    sum += ns / oracle;
    if (hx.decision.choice == hx.decision.best)
      last += 0.1 * (ns / oracle - last); /* without calls that only check another choice */
  }
  printf("  device at %g of the CPU, then at %g: %.3f x the best over %u calls, at last %.3f\n", from, to, sum / calls,
         calls, last);
  CHECK(last < 1.10, "not corrected: %.3f", last);
  CHECK(sum / calls < most, "corrected too slowly: %.3f", sum / calls);
}

/* Entries of a file that another program may have written. */
static void foreign_entries(void) {
  static hx__model model = HX__MODEL_INIT;
  uint64_t random = 11;
  unsigned taken = 0;
  for (int i = 0; i < 200000; i++) {
    hx__model_entry e;
    unsigned char *const bytes = (unsigned char *)&e;
    for (size_t b = 0; b < sizeof e; b++) bytes[b] = (unsigned char)(sim_uniform(&random) * 256.0);
    if (i & 1) { /* most values are plausible */
      e.date = (uint64_t)random_over_decades(&random, 1.0, 2000.0);
      e.samples = 1;
      e.outliers = 0;
      e.log_variance = 0.01;
      e.watts = i & 2 ? 20.0 : random_any(&random);
      e.joules = i & 4 ? 0.0 : random_any(&random);
      e.metered_ns = i & 8 ? 1e6 : random_any(&random);
      for (unsigned s = 0; s < HX__MODEL_STATES; s++) e.state[s] = random_any(&random);
      for (unsigned s = 0; s < HX__MODEL_STATES * HX__MODEL_STATES; s++) (&e.covariance[0][0])[s] = random_any(&random);
    }
    if (!hx__model_merge(&model, &e, 1000)) continue;
    taken++;
    const hx__estimate got = hx__model_estimate_exact(&model, &e.key, 1000);
    CHECK(got.ns_per_unit > 0.0 && isfinite(got.ns_per_unit) && isfinite(got.sigma) && got.latency_ns >= 0.0,
          "an entry gives %g ns a unit, sigma %g", got.ns_per_unit, got.sigma);
    hx__model_learn(
        &model, &e.key, &hx__prior_device,
        (hx__sample){.units = random_over_decades(&random, 1.0, 1e9), .ns = random_over_decades(&random, 1.0, 1e9)},
        1000);
    const hx__estimate then = hx__model_estimate_exact(&model, &e.key, 1000);
    hx__model_learn_power(&model, &e.key, random_any(&random), random_any(&random));
    const double watts = hx__model_estimate_exact(&model, &e.key, 1000).watts;
    CHECK(then.ns_per_unit > 0.0 && isfinite(then.ns_per_unit) && isfinite(then.sigma) && watts >= 0.0 && watts < 1e7,
          "then %g, sigma %g, %g W", then.ns_per_unit, then.sigma, watts);
  }
  CHECK(taken > 0, "no entry was accepted");
}

/* A chunk that should take 9 to 11 ns and has not ended counts once it has taken longer than that. */
static void not_ended(void) {
  const hx__estimate e = {.ns_per_unit = 1.0, .latency_ns = 1.0, .idle_ns = 2.0, .samples = 9};
  CHECK(hx__is_informative(&e, 8.0, false, 5.0, true) && hx__is_informative(&e, 8.0, false, 20.0, true),
        "a chunk that has ended gives no information");
  CHECK(!hx__is_informative(&e, 8.0, false, 8.9, false) && hx__is_informative(&e, 8.0, false, 9.1, false),
        "wrong for a chunk that has not ended");
  CHECK(!hx__is_informative(&e, 8.0, true, 10.9, false) && hx__is_informative(&e, 8.0, true, 11.1, false),
        "wrong for a device that was idle");
}

int main(int argc, char **argv) {
  unsigned long schedules = 1000000;
  bool table = false;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--table") == 0) table = true;
    if (strcmp(argv[i], "--schedules") == 0 && i + 1 < argc) schedules = strtoul(argv[++i], NULL, 10);
  }
  not_ended();
  foreign_entries();
  in_progress();
  no_tiny_last_chunks();
  any_numbers();
  chunks_are_bounded();
  exactly_once(schedules);
  slow_first_call();
  wrong_model_is_corrected(1.5, 0.15, 0.0, 40, 1.6);
  wrong_model_is_corrected(0.02, 3.0, 0.0, 2000, 1.60);
  wrong_model_is_corrected(3.0, 6.0, 0.0, 40, 1.10);
  wrong_model_is_corrected(6.0, 0.02, 0.5, 100, 2.5); /* the device works alone, and its chunks are given up */
  matrix(table);
  return checks_end("sim_test");
}
