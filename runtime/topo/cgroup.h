/* SPDX-License-Identifier: Apache-2.0
 * How much CPU time the control groups of this process leave it. */
#ifndef HX_TOPO_CGROUP_H
#define HX_TOPO_CGROUP_H

/* The quota in CPUs (1.5: 150 ms each 100 ms), the least of this group's and of all above it, cgroup v1 and v2;
 * 0 without one. root: "" or where a copy of /proc and of the cgroup file systems lies. */
double hx__cgroup_cpus(const char *root);

#endif
