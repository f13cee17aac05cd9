#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes a C file that holds the named source files as NUL-terminated char arrays: embed.sh a.cl b.cl > sources.c gives
# hx__cl_a and hx__cl_b. Single characters instead of string literals, because a C compiler need only accept literals of
# 4095 characters; and instead of numbers, because 255 does not fit in a char that is signed.
set -eu

echo '/* Made by kernels/embed.sh. */'
for file in "$@"; do
  [ -r "$file" ] || { echo "embed.sh: cannot read $file" >&2; exit 1; }
  name=$(basename "$file")
  name=${name%.*}
  printf 'extern const char hx__cl_%s[];\nconst char hx__cl_%s[] = {\n' "$name" "$name"
  od -An -v -to1 "$file" | sed -e "s/[0-7][0-7]*/'\\\\&',/g" -e 's/  *//g'
  echo '0};'
done
