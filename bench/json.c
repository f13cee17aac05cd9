/* SPDX-License-Identifier: Apache-2.0
 * The JSON document: system, devices, rows, sweeps, verdict. Members are added, never renamed; README.md lists them. */
#include "bench/peers.h"
#include "bench/system.h"
#include "bench/text.h"

void bench_json_end(FILE *f) { fprintf(f, ", \"interrupted\": %s}\n", bench_stopped() ? "true" : "false"); }

static void write_device(FILE *f, const hx_device_info *device, size_t index) {
  fprintf(f, "{\"index\": %zu, ", index);
  bench_json_member(f, "name", device->name);
  bench_json_member(f, "vendor", device->vendor);
  bench_json_member(f, "driver", device->driver);
  bench_json_member(f, "kind", bench_kind_name(device->kind));
  bench_json_member(f, "state", bench_state_name(device->state));
  bench_json_member(f, "memory", device->memory);
  fprintf(f, "\"compute_units\": %u, \"memory_bytes\": %llu, \"why\": ", device->compute_units,
          (unsigned long long)device->memory_bytes);
  bench_json_string(f, device->why);
  fputs("}", f);
}

static void write_row(FILE *f, const bench_session *session, const bench_row *row) {
  fputs("{", f);
  bench_json_member(f, "op", row->op);
  bench_json_member(f, "type", row->type);
  if (row->m) {
    fprintf(f, "\"m\": %zu, \"n\": %zu, \"k\": %zu, ", row->m, row->n, row->k);
    if (row->trans_a || row->trans_b)
      fprintf(f, "\"trans_a\": %s, \"trans_b\": %s, ", row->trans_a ? "true" : "false",
              row->trans_b ? "true" : "false");
  } else {
    fprintf(f, "\"n\": %zu, ", row->n);
  }
  bench_json_member(f, "mode", row->mode);
  fputs("\"devices\": [", f);
  bool first = true;
  for (size_t i = 0; i < session->device_count; i++) {
    if (!(row->devices & 1u << i)) continue;
    if (!first) fputs(", ", f);
    bench_json_string(f, session->device[i].name);
    first = false;
  }
  fputs("], \"asked_share\": ", f);
  if (row->asked_share < 0) {
    fputs("null, ", f);
  } else {
    bench_json_number(f, (double)row->asked_share);
    fputs(", ", f);
  }
  bench_json_member_number(f, "median_s", row->median_s);
  bench_json_member_number(f, "min_s", row->min_s);
  bench_json_member_number(f, "max_s", row->max_s);
  fprintf(f, "\"reps\": %zu, ", row->reps);
  bench_json_member_number(f, "rate", row->rate);
  bench_json_member(f, "unit", row->unit);
  bench_json_member_number(f, "ceiling", row->ceiling);
  bench_json_member_number(f, "gpu_share", row->gpu_share);
  bench_json_member_number(f, "joules", row->joules);
  fprintf(f, "\"bytes_copied\": %llu, \"recovered\": %u, \"verified\": %s, \"bits\": \"%016llx\"}",
          (unsigned long long)row->bytes_copied, row->recovered, row->verified ? "true" : "false",
          (unsigned long long)row->bits);
}

static void write_sweep(FILE *f, const bench_results *results, const bench_sweep *sweep) {
  const bench_row *row = &results->rows[sweep->first_row];
  fputs("{", f);
  bench_json_member(f, "op", row->op);
  bench_json_member(f, "type", row->type);
  if (row->m) {
    fprintf(f, "\"m\": %zu, \"n\": %zu, \"k\": %zu, ", row->m, row->n, row->k);
  } else {
    fprintf(f, "\"n\": %zu, ", row->n);
  }
  fprintf(f, "\"first_row\": %zu, \"rows\": %zu, \"rounds\": %zu, ", sweep->first_row, sweep->row_count, sweep->rounds);
  bench_json_member_number(f, "best_split", (double)sweep->best_split);
  bench_json_member_number(f, "best_s", sweep->best_s);
  bench_json_member_number(f, "own_s", sweep->own_s);
  bench_json_member_number(f, "own_share", sweep->own_share);
  bench_json_member_number(f, "eta_quartile_1", sweep->eta_low);
  bench_json_member_number(f, "eta_quartile_3", sweep->eta_high);
  fputs("\"eta\": ", f);
  bench_json_number(f, sweep->eta);
  fputs("}", f);
}

static void write_versus(FILE *f, const bench_session *session, const bench_versus *versus) {
  fprintf(f, "{\"row\": %zu, ", versus->row);
  bench_json_member(f, "peer", session->options->vs[versus->peer].peer->name);
  bench_json_member(f, "core", versus->core);
  fprintf(f, "\"best\": %s, \"runs\": %u, ", versus->best ? "true" : "false", versus->runs);
  bench_json_member_number(f, "median_s", versus->median_s);
  bench_json_member_number(f, "rate", versus->rate);
  bench_json_member_number(f, "low", versus->low);
  bench_json_member_number(f, "high", versus->high);
  fputs("\"ratio\": ", f);
  bench_json_number(f, versus->ratio);
  fputs("}", f);
}

void bench_write_json(FILE *f, const bench_session *session, const bench_results *results) {
  fputs("{\"schema\": 1, \"program\": \"hx-bench\", ", f);
  bench_json_member(f, "command", session->options->command);
  fputs("\n  \"system\": ", f);
  bench_system_json(f, session);
  fputs(",\n  \"devices\": [", f);
  for (size_t i = 0; i < session->device_count; i++) {
    fputs(i ? ",\n    " : "\n    ", f);
    write_device(f, &session->device[i], i);
  }
  fputs("],\n  \"rows\": [", f);
  for (size_t i = 0; i < results->row_count; i++) {
    fputs(i ? ",\n    " : "\n    ", f);
    write_row(f, session, &results->rows[i]);
  }
  fputs("],\n  \"sweeps\": [", f);
  for (size_t i = 0; i < results->sweep_count; i++) {
    fputs(i ? ",\n    " : "\n    ", f);
    write_sweep(f, results, &results->sweeps[i]);
  }
  fputs("],\n  \"versus\": [", f);
  for (size_t i = 0; i < results->versus_count; i++) {
    fputs(i ? ",\n    " : "\n    ", f);
    write_versus(f, session, &results->versus[i]);
  }
  fprintf(f, "],\n  \"failed\": %s, \"verdict\": ", results->failed ? "true" : "false");
  bench_json_string(f, results->verdict);
  bench_json_end(f);
}
