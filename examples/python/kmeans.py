# SPDX-License-Identifier: Apache-2.0
"""k-means clustering as in ../kmeans.c, on NumPy arrays: two products and two reductions per step by hx, the rest by
NumPy. It prints the same digits as the C program.

usage: kmeans.py FILE.csv [COPIES]    COPIES: the rows of the file, repeated, for a larger problem"""
import collections
import sys

import hx
import numpy as np

CLUSTERS, MOST_STEPS = 3, 100


def nearest_centre(x, centres):
    """The cluster of each row: |x - c|^2 = |x|^2 - 2 x.c + |c|^2, of which |x|^2 is the same for all centres."""
    distances = hx.sum_squares(centres, axis=1) - 2 * hx.matmul(x, centres.T)  # centres.T is not copied
    return distances.argmin(axis=1)


def means(x, nearest, centres):
    """The mean of the rows of each cluster; that of a cluster without rows stays as it is."""
    member = (nearest[:, None] == np.arange(CLUSTERS)).astype(np.float32)
    size = member.sum(axis=0)[:, None]
    return np.where(size > 0, hx.matmul(member.T, x) / np.maximum(size, 1), centres)


def main():
    with open(sys.argv[1], encoding="ascii") as file:
        rows = [line.strip().split(",") for line in file][1:]  # the first line is the head
    copies = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    values = np.array([row[:-1] for row in rows], np.float32)
    species = [row[-1] for row in rows] * copies
    x = hx.array(np.tile(values, (copies, 1)))  # in memory that devices can reach without a copy
    centres = values[[k * len(rows) // CLUSTERS for k in range(CLUSTERS)]]

    steps, nearest, before = 0, nearest_centre(x, centres), None
    while not np.array_equal(nearest, before) and steps < MOST_STEPS:
        centres = means(x, nearest, centres)
        before, nearest = nearest, nearest_centre(x, centres)
        steps += 1
    inertia = hx.sum_squares(x - centres[nearest])

    print(f"{len(x)} rows, {steps} steps, sum of squared distances {inertia:.9g}")
    agree = 0
    for k in range(CLUSTERS):
        members = [name for name, cluster in zip(species, nearest) if cluster == k]
        most, count = collections.Counter(members).most_common(1)[0]
        centre = " ".join(f"{value:.4f}" for value in centres[k])
        print(f"cluster {k}: {len(members)} rows around ({centre}), most of them {most}")
        agree += count
    print(f"{agree} of {len(x)} rows are in the cluster of their species")


if __name__ == "__main__":
    main()
