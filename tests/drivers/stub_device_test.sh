#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# stub_device_test.sh OVER_STUB HX_BENCH: hx over Mesa's drivers for GPUs that are not there, which execute nothing: each is
# listed as what it is and refused at once, by one whole sentence that does not blame rounding, and every result is right.
set -u
unset HX_DEVICES HX_SPLIT HX_SIM HX_THREADS HX_OFFLOAD HX_MEMORY HX_SCHEDULE
over_stub=$(readlink -f "$1") bench=$(readlink -f "$2")
export HX_CACHE_DIR=off
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0

fail() {
  echo "FAILED: $driver $version $platform: $*"
  head -n 40 "$dir/out" "$dir/err"
  failed=$((failed + 1))
}

# What the document says of the only OpenCL device.
member() { python3 -c "import json; print(json.load(open('$dir/info.json', encoding='utf-8'))['devices'][1]['$1'])" 2>&1; }

while read -r driver version platform kind; do
  HX_LOG=debug timeout 100 sh "$over_stub" "$driver" "$version" "$platform" "$bench" info --devices all --json "$dir/info.json" \
    >"$dir/out" 2>"$dir/err" </dev/null
  status=$?
  [ $status = 3 ] || fail "info: status $status, not that of a GPU which cannot be used"
  [ "$(member kind)" = "$kind" ] || fail "it is listed as $(member kind), not $kind"
  case $(member state) in lost | refused) ;; *) fail "its state is $(member state)" ;; esac
  why=$(member why)
  tr -s ' \n' ' ' <"$dir/out" | grep -qF "$why" || fail "the table does not say: $why"
  case $why in
    *';'* | *round*) fail "more than one sentence, or one on rounding: $why" ;;
    'its first '*' ended without an error and wrote nothing') ;;
    *) fail "not the sentence that was expected: $why" ;;
  esac
  ms=$(sed -n 's/^hx: debug: .*: opened, or refused, in \([0-9]*\)\..*/\1/p' "$dir/err")
  # At once: before a kernel is compiled. How long it took is only shown: docs/measurements/stub-discovery.tsv has times.
  grep -q '^hx: debug: .*: build ' "$dir/err" && fail 'a kernel was compiled for it'
  [ -n "$ms" ] || fail 'the log has no time of the refusal'
  echo "$driver $version $platform: $kind, refused in $ms ms: $why"
  for call in 'reduce --op sum --type f32 --size 2^20' 'matmul --size 256'; do
    # shellcheck disable=SC2086 # a list of words
    timeout 100 sh "$over_stub" "$driver" "$version" "$platform" "$bench" $call --devices cpu,1 --reps 3 \
      >"$dir/out" 2>"$dir/err" </dev/null || fail "$call: status $?"
    tr -s ' \n' ' ' <"$dir/out" | grep -q 'Every result has the bits of the scalar definition' || fail "$call: a wrong result"
  done
done <<'LIST'
iris 22.3 skl igpu
iris 22.3 tgl igpu
iris 22.3 dg2 gpu
iris 25.0 tgl igpu
iris 25.0 lnl igpu
radeonsi 25.0 raven igpu
radeonsi 25.0 renoir igpu
radeonsi 25.0 gfx1150 igpu
LIST

[ $failed = 0 ] && echo 'stub_device_test: passed' && exit 0
exit 1
