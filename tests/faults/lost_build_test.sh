#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lost_build_test.sh fault_matrix libfault_layer.so libdress_layer.so: a device that is lost when the program of a user
# kernel is made or built, or before with a code that means a shortage, gets no call later, although the codes of these
# calls do not say that it is gone. Cells of the fault matrix.
set -u
failed=0
for cell in clCreateProgramWithBinary:1:lost:svm-fine:gpu:ready:-36 \
  clBuildProgram:1:lost:copy:gpu:ready:-36 clSVMAlloc:2:lost:svm-fine:gpu:ready:-5; do
  sh tests/driver.sh pocl "$1" --fault "$2" --dress "$3" --cell "$cell:maps" | tee "$TEST_TMPDIR/out"
  grep -q '1 faults injected, 1 cases, 1 all right' "$TEST_TMPDIR/out" || failed=$((failed + 1))
done
[ $failed = 0 ] || echo "FAILED: $failed cells"
exit $failed
