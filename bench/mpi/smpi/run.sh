#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh SCALAPACK products|sums: products and sums over 1 to 1024 simulated ranks, by libhx_mpi as it is, by ScaLAPACK's
# psgemm and by MPI_Allreduce, in SimGrid's SMPI; prints the tables of docs/measurements/mpi-scaling.tsv. For one row:
# run.sh SCALAPACK product SCALING PANEL hx|psgemm P Q N BLOCK. SCALAPACK is a folder with the source of ScaLAPACK 2.2.
# Needs Debian's libsimgrid-dev 3.32, gfortran and libblas-dev. No product or sum is computed: hx_simulated.c and
# blas_simulated.c take their time. The code that sends and receives is the real one.
set -eu
scalapack=$(readlink -f "$1")
shift
cd "$(dirname "$0")/../../.."
here=bench/mpi/smpi
scratch=$(mktemp -d -p /tmp)
trap 'rm -rf "$scratch"' EXIT

# What libhx_mpi and BLACS receive is counted (count.c), and what SMPI lacks is replaced (ibcast.c).
counted="-include bench/mpi/smpi/count.h -DMPI_Recv=counted_recv -DMPI_Irecv=counted_irecv -DMPI_Bcast=counted_bcast"
replaced="-DMPI_Ibcast=simulated_ibcast -DMPI_Waitall=simulated_waitall -DMPI_Testall=simulated_testall -DMPI_Topo_test=simulated_topo_test"

# compile PREFIX OPTIONS FILES: each file to an object of its name.
compile() {
  prefix=$1 options=$2
  shift 2
  for file in "$@"; do
    name=$(basename "$file")
    # shellcheck disable=SC2086 # a list of words
    smpicc $options -iquote . -c "$file" -o "$scratch/$prefix${name%.c}.o"
  done
}

build() {
  for file in mpi/*.c; do
    [ "$file" = mpi/memory.c ] || compile hx_ "-std=gnu11 -O2 -Iruntime $counted $replaced" "$file"
  done
  compile '' "-std=gnu11 -O2 -Iruntime -Impi" "$here"/*.c
  # BLACS begins its buffers with a header, which memory that ranks share would spoil.
  blacs="-w -O1 -DAdd_ -DSMPI_NO_OVERRIDE_MALLOC -I$scalapack/BLACS/SRC $counted"
  # shellcheck disable=SC2046 # names without spaces
  set -- $(find "$scalapack/BLACS/SRC" -name '*.c' ! -name '[cdz][grt]*2d_.c' ! -name 'BI_[cdz]*')
  compile f_ "$blacs" "$@"
  # shellcheck disable=SC2046
  set -- $(find "$scalapack/BLACS/SRC" -name '*.c' ! -name '[cdz][grt]*2d_.c' ! -name 'BI_*')
  compile c_ "$blacs -DCallFromC" "$@"
  compile p_ "-w -O1 -DAdd_ -I$scalapack/PBLAS/SRC" "$scalapack"/PBLAS/SRC/PTOOLS/*.c "$scalapack/PBLAS/SRC/psgemm_.c"
  for file in "$scalapack"/PBLAS/SRC/PTZBLAS/[si]*.f "$scalapack"/TOOLS/numroc.f "$scalapack"/TOOLS/ilcm.f; do
    name=$(basename "$file" .f)
    gfortran -w -O1 -fPIC -std=legacy -c "$file" -o "$scratch/p_$name.o"
  done
  ar rcs "$scratch/libpsgemm.a" "$scratch"/[fcp]_*.o
  rm -f "$scratch"/[fcp]_*.o
  smpicc "$scratch"/*.o "$scratch/libpsgemm.a" -o "$scratch/scale" -lm -lgfortran -lblas
  seq 0 1023 | sed 's/^/node-/' >"$scratch/hosts"
}

# Links carry their bandwidth, and a call of MPI that sends or receives takes 0.2 us. Collectives are binomial trees and
# recursive doubling: those of other selectors exchange messages of all ranks first in each communicator.
simulate() { # RANKS ARGUMENTS
  ranks=$1
  shift
  smpirun -platform "$here/cluster.xml" -hostfile "$scratch/hosts" -np "$ranks" --cfg=smpi/simulate-computation:no \
    --cfg=smpi/privatization:dlopen --cfg=smpi/shared-malloc:global --cfg=smpi/auto-shared-malloc-thresh:262144 \
    --cfg=network/model:SMPI --cfg=smpi/bw-factor:0:1 --cfg=smpi/lat-factor:0:1 --cfg=network/crosstraffic:no \
    --cfg=smpi/wtime:0 --cfg=smpi/test:0 --cfg=smpi/cpu-threshold:0 --cfg=smpi/os:0:2e-7:0 --cfg=smpi/ois:0:2e-7:0 \
    --cfg=smpi/or:0:2e-7:0 --cfg=smpi/coll-selector:default --cfg=smpi/bcast:binomial_tree --cfg=smpi/allreduce:rdb \
    --cfg=smpi/allgather:rdb --cfg=smpi/reduce:binomial --cfg=smpi/barrier:ompi_recursivedoubling \
    --log=root.thresh:warning "$scratch/scale" "$@" 2>/dev/null | grep "^$1"
}

# Adds to a row of the program: efficiency (1 TFLOP/s a rank), SUMMA's bound, and COSMA's for the memory of the matrices.
# The latter is 2x/sqrt(S) + S elements a rank, x = n^3 / ranks, with at most the memory x^(2/3) that it can use.
product() { # SCALING PANEL BY P Q N BLOCK
  kind=$1 panel=$2
  shift 2
  row=$(PANEL=$panel simulate $(($2 * $3)) "$@")
  echo "$kind	$panel	$row" | awk -F '\t' '{
    p = $4 * $5; n = $6; x = n * n * n / p; S = 3 * n * n / p; most = x ^ (2 / 3); if (S > most) S = most
    bound = 4 * n * n * ($4 + $5 - 2)
    printf "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t", $1, $3, $3 == "hx" ? "openmpi" : "binomial", p, $4, n, $7, $2
    printf "%s\t%.3f\t%s\t%.0f\t%s\t", $8, 2 * x / 1e12 / $8, $9, bound, bound ? sprintf("%.4f", $9 / bound) : ""
    printf "%s\t%.0f\n", $10, (p > 1) ? 4 * (2 * x / sqrt(S) + S) : 0 }'
}

# Strong scaling: n is 16384. Weak: 1024 rows of each matrix on a rank.
size() { # SCALING SIDE
  [ "$1" = strong ] && echo 16384 || echo $((1024 * $2))
}

products() {
  printf 'scaling\tby\tbroadcast\tranks\tP\tn\tblock\tpanel\tseconds\tefficiency\tbytes received\tbound\tratio\t'
  printf 'most by a rank\tCOSMA bound\n'
  for scaling in strong weak; do
    for side in 1 2 4 8 16 32; do
      n=$(size "$scaling" "$side")
      product "$scaling" 512 hx "$side" "$side" "$n" 512
      product "$scaling" 512 psgemm "$side" "$side" "$n" 512
    done
    n=$(size "$scaling" 8)
    product "$scaling" 512 hx 8 8 "$n" 64 # each rank has lines of each panel
    product "$scaling" 32 psgemm 8 8 "$n" 64
  done
}

sums() {
  printf 'scaling\tby\tranks\telements\tseconds\tmost bytes of elements by a rank\n'
  for scaling in strong weak; do
    for ranks in 1 4 16 64 256 1024; do
      for by in hx-sum allreduce; do
        n=$([ $scaling = strong ] && echo 10000000000 || echo "${ranks}00000000")
        printf '%s\t%s\n' "$scaling" "$(simulate "$ranks" "$by" "$ranks" 1 "$n" 0)"
      done
    done
  done
}

build
"$@"
