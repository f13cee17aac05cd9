#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# merge_archives.sh OUT ARCHIVE...: one archive of the objects of several. Other files among the arguments are passed
# over.
set -eu
out=$1
shift
{
  echo "create $out"
  for archive in "$@"; do
    case $archive in *.a | *.lo) echo "addlib $archive" ;; esac
  done
  echo save
  echo end
} | ar -M
ranlib "$out"
