/* SPDX-License-Identifier: Apache-2.0
 * The settings of a context, parsed once by hx_open from hx_settings and the environment (README, Environment). One
 * table (config.c) has a row for each: name, values, default, one line of help, parser. */
#ifndef HX_BASE_CONFIG_H
#define HX_BASE_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/hx.h"

/* X(name, word): the words of HX_DEVICES. GPU means a discrete GPU. ALL is the last row. */
#define HX__DEVICE_WORDS(X)   \
  X(CPU, "cpu")               \
  X(IGPU, "igpu")             \
  X(GPU, "gpu")               \
  X(INTEL, "intel")           \
  X(AMD, "amd")               \
  X(NVIDIA, "nvidia")         \
  X(POCL, "pocl")             \
  X(RUSTICL, "rusticl")       \
  X(OPENCL_CPU, "opencl-cpu") \
  X(SIM, "sim")               \
  X(ALL, "all")

/* The words as bits: HX__DEV_CPU is 1, HX__DEV_IGPU is 2, and so on. */
#define HX__DEVICE_NUMBER(name, word) HX__DEVICE_NUMBER_##name,
#define HX__DEVICE_BIT(name, word) HX__DEV_##name = 1u << HX__DEVICE_NUMBER_##name,
enum { HX__DEVICE_WORDS(HX__DEVICE_NUMBER) };
enum { HX__DEVICE_WORDS(HX__DEVICE_BIT) };

typedef enum hx__schedule {
  HX__SCHEDULE_ADAPTIVE,
  HX__SCHEDULE_STATIC,
  HX__SCHEDULE_DYNAMIC,
  HX__SCHEDULE_GUIDED
} hx__schedule;

/* Order of the words of HX_MEMORY; also of hx_device_info.memory. */
typedef enum hx__memory_mode {
  HX__MEMORY_AUTO,
  HX__MEMORY_SVM_SYSTEM,
  HX__MEMORY_SVM_FINE,
  HX__MEMORY_SVM_COARSE,
  HX__MEMORY_USM,
  HX__MEMORY_HOSTPTR,
  HX__MEMORY_COPY,
  HX__MEMORY_MODES
} hx__memory_mode;

typedef enum hx__objective { HX__OBJECTIVE_TIME, HX__OBJECTIVE_ENERGY, HX__OBJECTIVE_EDP } hx__objective;
typedef enum hx__offload_mode { HX__OFFLOAD_DEFAULT, HX__OFFLOAD_DISABLED, HX__OFFLOAD_MANDATORY } hx__offload_mode;

/* HX_ISA; AUTO: the measured rule of cpu/. */
typedef enum hx__isa { HX__ISA_AUTO, HX__ISA_SSE2, HX__ISA_AVX2, HX__ISA_AVX512, HX__ISA_NEON, HX__ISAS } hx__isa;

/* HX_SIM: what a simulated device does at its call number `at` (from 1) of one entry of the backend table. */
typedef enum hx__sim_entry {
  HX__SIM_NONE,
  HX__SIM_PREPARE,
  HX__SIM_OPEN,
  HX__SIM_BIND,
  HX__SIM_ENQUEUE,
  HX__SIM_WAIT,
  HX__SIM_ALLOC,
  HX__SIM_ENTRIES
} hx__sim_entry;

typedef struct hx__sim_profile {
  double rate;       /* units per second; default 1e9 */
  double products;   /* the same for matrix products; 0: like rate */
  double latency_us; /* of a launch; default 10 */
  hx__sim_entry fail_entry;
  uint64_t fail_at;
} hx__sim_profile;

#define HX__SIMS (HX_MAX_DEVICES - 2) /* leaves room for the CPU and one real device */

#define HX__TIMEOUT_AUTO UINT64_MAX       /* not set: by prediction */
#define HX__TIMEOUT_OFF (UINT64_MAX - 1u) /* "off" */
#define HX__PATH_BYTES 4096
#define HX__MOST_THREADS 4096u

typedef struct hx__config {
  uint32_t device_words;       /* HX__DEV_ bits */
  uint32_t device_indices;     /* bit i: index i was named (0..31) */
  uint32_t splits;             /* 0: auto; otherwise the number of used entries of split[] */
  float split[HX_MAX_DEVICES]; /* shares of the work; added as doubles they give at most 1 */
  hx__schedule schedule;
  uint64_t chunk;                  /* 0: derived */
  uint32_t threads;                /* 0: derived */
  uint32_t omp_threads;            /* the first number of OMP_NUM_THREADS; 0: not set */
  uint32_t tile_m, tile_n, tile_k; /* 0: by device */
  hx__memory_mode memory;
  uint64_t min_offload;           /* UINT64_MAX: learned */
  uint64_t timeout_ms;            /* or HX__TIMEOUT_ */
  char cache_dir[HX__PATH_BYTES]; /* "": off */
  hx__objective objective;
  char trace[HX__PATH_BYTES]; /* "": none */
  hx__isa isa;
  hx__offload_mode offload;
  uint32_t sims;
  hx__sim_profile sim[HX__SIMS];
  int log; /* hx__log_level */
} hx__config;

/* Parses the whole of value, which is not empty, into its members of *config. Returns false if the value is not
 * accepted; why, which is "" on entry, may then say what is wrong with it. */
#define HX__WHY_BYTES 128
typedef bool hx__config_parser(hx__config *config, const char *value, char why[HX__WHY_BYTES]);

/* Fills *config from the defaults, then from the environment (secure_getenv), then from *settings (NULL: none). Warns
 * of unknown HX_ variables, with the nearest known name, once in a process, at the log level that was just read; that
 * level becomes hx__log_threshold. In a secure process (environment.h) the environment is ignored, and there is neither
 * a cache nor a trace, even if *settings name one. An empty value counts as not set. On failure *config is unspecified
 * and the threshold is unchanged.
 * HX_INVALID_CONFIG: a value of the environment or of *settings is wrong. Detail: `NAME=VALUE: accepted: ...`
 * HX_INVALID_ARGUMENT: a reserved word is not zero. */
hx_status hx__config_read(hx__config *config, const hx_settings *settings);

/* One row of the table, for code that prints it (hx-bench env, the README test). */
typedef struct hx__config_row {
  const char *name;   /* "HX_DEVICES" */
  const char *values; /* what is accepted, one sentence fragment */
  const char *deflt;  /* the default, as README says it */
  const char *help;   /* one line */
  hx__config_parser *parse;
  size_t setting; /* offset of the member of hx_settings */
} hx__config_row;

const hx__config_row *hx__config_rows(size_t *count);

const char *hx__device_word(unsigned bit); /* of HX_DEVICES: 0 is "cpu" */
/* The words of a memory mode: "auto", "svm-system", ...; of an ISA: "auto", "sse2", ...; of an objective: "time", ...
 */
const char *hx__memory_mode_name(hx__memory_mode mode);
const char *hx__isa_name(hx__isa isa);
const char *hx__objective_name(hx__objective objective);

#endif
