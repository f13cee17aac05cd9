/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/plan/share.h"

/* Whether HX_DEVICES and HX_OFFLOAD allow the CPU a part. */
static bool leaves_cpu(const hx__config *config) {
  const bool named = (config->device_words & (HX__DEV_CPU | HX__DEV_ALL)) != 0 || (config->device_indices & 1u);
  return named && config->offload != HX__OFFLOAD_MANDATORY;
}

double hx__share_of(const hx__config *config, const hx__work *work) {
  if (config->offload == HX__OFFLOAD_DISABLED || work->needs == 0) return 0.0;
  if (!leaves_cpu(config)) return 1.0;
  if (work->gpu_share >= 0.0f) return (double)work->gpu_share;
  double sum = 0.0;
  for (uint32_t i = 0; i < config->splits; i++) sum += (double)config->split[i];
  return config->splits ? sum : HX__SHARE_AUTO;
}

/* A device's part in HX_SPLIT's list. */
static double listed_part(const hx__config *config, const hx__plan_device *device) {
  return device->ordinal < config->splits ? (double)config->split[device->ordinal] : 0.0;
}

/* Each device's part of the devices' share: from HX_SPLIT's list, otherwise by measured rates, otherwise equal. They
 * sum to one. */
static void part_devices(const hx__config *config, const hx__plan *plan, double part[HX_MAX_DEVICES]) {
  double sum = 0.0;
  bool known = true;
  for (size_t i = 0; i < plan->devices; i++) known = known && plan->device[i].rate > 0.0;
  for (size_t i = 0; i < plan->devices; i++) {
    part[i] = config->splits > 1 ? listed_part(config, &plan->device[i]) : known ? plan->device[i].rate : 1.0;
    sum += part[i];
  }
  for (size_t i = 0; i < plan->devices; i++) part[i] = sum > 0.0 ? part[i] / sum : 1.0 / (double)plan->devices;
}

/* The share by HX_SPLIT with a part for each device: the part of a missing device goes to the CPU. */
static double share_of_present(const hx__plan_snapshot *s, const hx__plan *plan) {
  if (s->config->splits < 2 || s->work->gpu_share >= 0.0f || !leaves_cpu(s->config)) return s->share;
  double share = 0.0;
  for (size_t i = 0; i < plan->devices; i++) share += listed_part(s->config, &plan->device[i]);
  return share;
}

void hx__cut_by_share(const hx__plan_snapshot *s, hx__plan *plan) {
  double part[HX_MAX_DEVICES], before = 0.0;
  const double share = share_of_present(s, plan);
  const size_t slices = s->work->slices;
  const size_t theirs = plan->devices ? hx__share_slices(s->work, share) : 0, cpu = slices - theirs;
  plan->policy = NULL;
  plan->cpu_works = share != 1.0;
  plan->cpu_fixed = (hx__chunk){0, cpu};
  plan->wait_for_device = true;
  part_devices(s->config, plan, part);
  size_t first = cpu, kept = 0;
  for (size_t i = 0; i < plan->devices; i++) {
    before += part[i];
    const double exact = before * (double)theirs + 0.5;
    const size_t end = i + 1 == plan->devices || exact >= (double)theirs ? slices : cpu + (size_t)exact;
    if (end <= first) continue;
    plan->device[kept] = plan->device[i];
    plan->device[kept++].fixed = (hx__chunk){first, end - first};
    first = end;
  }
  plan->devices = kept;
}

void hx__share_by_rates(hx__plan *plan) {
  double sum = plan->cpu_works ? plan->cpu_rate : 0.0;
  bool known = !plan->cpu_works || plan->cpu_rate > 0.0;
  for (size_t i = 0; i < plan->devices; i++) {
    sum += plan->device[i].rate;
    known = known && plan->device[i].rate > 0.0;
  }
  const double equal = 1.0 / (double)(plan->devices + plan->cpu_works);
  for (size_t i = 0; i < plan->devices; i++) plan->device[i].share = known ? plan->device[i].rate / sum : equal;
}
