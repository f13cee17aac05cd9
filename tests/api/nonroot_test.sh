#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nonroot_test.sh BITS_TEST: the conformance test as a user without privileges (thread priorities, cache folders).
set -eu
program=$(readlink -f "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$program" "$folder/bits_test"
mkdir "$folder/home"
chmod 755 "$folder" "$folder/bits_test"
drop=
if [ "$(id -u)" -eq 0 ]; then
  chown -R 65534:65534 "$folder/home"
  drop='setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --'
fi
cd "$folder"
# shellcheck disable=SC2086 # a command line
env -i PATH="$PATH" HOME="$folder/home" TEST_TMPDIR="$folder/home" POCL_CACHE_DIR="$folder/home/pocl" \
  OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd POCL_MAX_PTHREAD_COUNT=1 \
  $drop ./bits_test --devices pocl --cases 200 --seed 77
