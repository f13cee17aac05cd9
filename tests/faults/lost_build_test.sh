#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lost_build_test.sh fault_matrix libfault_layer.so libdress_layer.so: cells of the fault matrix in which a device is lost
# when the program of a user kernel is made or built, or shortly before, and the call that fails has a code that means a
# shortage of memory. hx has to notice the loss, so that no later call reaches the device.
set -u
failed=0
for cell in clCreateProgramWithBinary:1:lost:svm-fine:gpu:ready:-36 \
  clBuildProgram:1:lost:copy:gpu:ready:-36 clSVMAlloc:2:lost:svm-fine:gpu:ready:-5; do
  sh tests/driver.sh pocl "$1" --fault "$2" --dress "$3" --cell "$cell:maps" | tee "$TEST_TMPDIR/out"
  grep -q '1 faults injected, 1 cases, 1 all right' "$TEST_TMPDIR/out" || failed=$((failed + 1))
done
[ $failed = 0 ] || echo "FAILED: $failed cells"
exit $failed
