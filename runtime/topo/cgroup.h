/* SPDX-License-Identifier: Apache-2.0
 * How much CPU time the control groups of this process allow. */
#ifndef HX_TOPO_CGROUP_H
#define HX_TOPO_CGROUP_H

/* The CPU quota (1.5 means 150 ms per 100 ms), the least of this group and all groups above it, for cgroup v1 and v2; 0
 * if there is none. root: "" or a folder that holds copies of /proc and of the cgroup file systems. */
double hx__cgroup_cpus(const char *root);

#endif
