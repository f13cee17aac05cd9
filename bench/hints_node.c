/* SPDX-License-Identifier: Apache-2.0
 * Why a driver cannot open a device node: it is not there, or its group is not this user's. */
#include "bench/hints.h"

static void hint_denied(const bench_machine *m, const bench_node *node, bench_hint_list *list) {
  char group[96];
  snprintf(group, sizeof group, *node->group ? "its group is %s (%u)" : "its group%s (%u) has no name here",
           node->group, node->group_id);
  if (m->container)
    bench_hint_detail(list, "%s is here, but this user may not open it: %s. Start the container with --group-add %u",
                      node->path, group, node->group_id);
  else if (node->group_id == 0)
    bench_hint_detail(
        list,
        "%s is here, but this user may not open it: %s, because the udev rule is missing that gives it to "
        "the group render",
        node->path, group);
  else if (node->member)
    bench_hint_detail(
        list,
        "%s is here, but this session may not open it: %s, which this user has joined since it began. Log "
        "in again",
        node->path, group);
  else if (*node->group)
    bench_hint_detail(list,
                      "%s is here, but this user may not open it: %s. usermod -aG %s USER as root, then log in again",
                      node->path, group, node->group);
  else
    bench_hint_detail(
        list,
        "%s is here, but this user may not open it: %s. groupadd -g %u render and usermod -aG render USER "
        "as root, then log in again",
        node->path, group, node->group_id);
}

void bench_hint_node(const bench_machine *m, bench_hint_list *list, const char *path, const char *option) {
  const bench_node *const node = *path ? bench_machine_node(m, path) : NULL;
  if (node && !node->openable)
    hint_denied(m, node, list);
  else if (!node && m->container)
    bench_hint_detail(list, "%s is not in this container: start it with %s", *path ? path : "its device node", option);
  else if (!node && *path)
    bench_hint_detail(list, "there is no %s: the kernel driver is not loaded, or not complete", path);
  else if (!node)
    bench_hint_detail(list, "there is no render node in /dev/dri for it");
}
