#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lint.sh TREE [CHECK...]: what can be said of the sources without running them; all checks, or those named. clang-tidy
# and cppcheck need compile_commands.json (./hx compdb). Last line: `N passed, N failed` checks.
set -eu
cd "$1"
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
longest=400
passed=0 failed=0

# Sources, whether committed or not; never what is built.
find . \( -name .git -o -name .hx -o -name hx-site -o -name 'bazel-*' \) -prune -o -type f -print |
  sed 's|^\./||' | sort >"$scratch/all"
grep -E '\.[ch]$' "$scratch/all" >"$scratch/c"
while IFS= read -r file; do
  case $file in
    *.sh) echo "$file" ;;
    *) if head -n 1 "$file" | grep -aq '^#!/bin/sh'; then echo "$file"; fi ;;
  esac
done <"$scratch/all" >"$scratch/sh"
grep -E '\.([chs]|cl|cc|sh|bzl|bazel|py|cmake\.in)$|(^|/)(BUILD|WORKSPACE|CMakeLists\.txt|hx|run|bazel)$' "$scratch/all" >"$scratch/sources"

format() {
  tool=$(command -v clang-format-14 || command -v clang-format) || { echo "no clang-format"; return 1; }
  xargs "$tool" --dry-run --Werror <"$scratch/c" 2>&1 | grep -E 'error:|warning:' | head -n 40
  xargs "$tool" --dry-run --Werror <"$scratch/c" >/dev/null 2>&1
}

syntax() {
  while IFS= read -r file; do sh -n "$file" || return 1; done <"$scratch/sh"
  bash -n .ci/run || return 1
  grep '\.py$' "$scratch/all" | xargs python3 -c 'import sys
for name in sys.argv[1:]: compile(open(name, encoding="utf-8").read(), name, "exec")'
}

licence() {
  while IFS= read -r file; do
    head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || echo "$file: no SPDX line in its head"
  done <"$scratch/sources" >"$scratch/out"
  cat "$scratch/out"
  [ ! -s "$scratch/out" ]
}

length() {
  while IFS= read -r file; do
    lines=$(wc -l <"$file")
    [ "$lines" -le "$longest" ] || echo "$file: $lines lines, at most $longest"
  done <"$scratch/sources" >"$scratch/out"
  cat "$scratch/out"
  [ ! -s "$scratch/out" ]
}

blanks() {
  xargs grep -n -E "[[:space:]]+$|$(printf '^ *\t')" <"$scratch/sources" | head -n 20 >"$scratch/out" || true
  cat "$scratch/out"
  [ ! -s "$scratch/out" ]
}

# The same files and options in both builds. Needs compile_commands.json.
builds() {
  [ -e compile_commands.json ] || { echo "no compile_commands.json: ./hx compdb"; return 1; }
  mpi=OFF
  ! grep -q '"mpi/[a-z]*\.c"' compile_commands.json || mpi=ON # Bazel has found an MPI
  cmake -S . -B "$scratch/cmake" -DHX_MPI=$mpi -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >"$scratch/out" 2>&1 || { cat "$scratch/out"; return 1; }
  python3 tools/compare_builds.py compile_commands.json "$scratch/cmake/compile_commands.json"
}

layers() { sh tests/layers_test.sh .; }

shell() { xargs shellcheck .ci/run <"$scratch/sh"; }

# Text in plain words: sources, pages and messages, but no fuzzing input and no licence.
spelling() {
  grep -v -E '^(LICENSE|compile_commands\.json|tests/fuzz/corpus/.*)$' "$scratch/all" >"$scratch/text"
  xargs codespell --ignore-words=tools/lint/words.txt <"$scratch/text"
}

# Relative links of pages.
links() { grep '\.md$' "$scratch/all" | xargs python3 tools/links.py; }

# The web site, of which mkdocs and a check of its own refuse broken links, too.
site() { python3 tools/site/build.py "$scratch/site"; }

# The Python package, its tests and what makes pages; the options are in pyproject.toml.
python() {
  set -- setup.py python tests/python examples/python tools/site tools/api_pages.py
  black --check --quiet "$@" || { echo "black would reformat a file"; return 1; }
  pyflakes3 "$@" && MYPYPATH=python mypy --no-error-summary python/hx tests/python/typed.py
}

# What owners of machines have sent.
results() {
  set -- results/*.json
  sent=
  for file in "$@"; do [ "$file" = results/schema.json ] || sent="$sent $file"; done
  # shellcheck disable=SC2086 # a list of files
  python3 results/check.py results/schema.json $sent
}

# What is shipped. Tests break rules on purpose.
shipped='^(runtime|cpu|kernels|reference|sim|bench|python|blas|mpi)/'

# One file a process: version 14 of the analyzer loses its model of va_start after the first file.
tidy() {
  [ -e compile_commands.json ] || { echo "no compile_commands.json: ./hx compdb"; return 1; }
  sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' compile_commands.json | grep -E "$shipped.*\.c$" >"$scratch/tidy"
  # shellcheck disable=SC2016 # expanded by the inner shell
  xargs -P "$(nproc)" -n 1 sh -c 'clang-tidy-14 -p . --quiet "$1" || { echo "$1: error: clang-tidy ended with $?"; exit 1; }' \
    tidy <"$scratch/tidy" >"$scratch/found" 2>"$scratch/errors" && return
  grep -E '(warning|error):' "$scratch/found" "$scratch/errors" -h | sort -u
  return 1
}

# Without the compilation database, whose -iquote cppcheck 2.10 does not know: it would miss most headers.
cppcheck() {
  grep -E "$shipped.*\.c$" "$scratch/all" >"$scratch/cppcheck"
  command cppcheck --file-list="$scratch/cppcheck" -I . -D_GNU_SOURCE -DCL_TARGET_OPENCL_VERSION=300 -D__x86_64__ -D__linux__ \
    --std=c11 --platform=unix64 --enable=warning,performance,portability --suppressions-list=tools/lint/cppcheck.txt \
    --inline-suppr --error-exitcode=1 --quiet -j "$(nproc)"
}

checks='format syntax licence length blanks layers builds shell spelling links site python results cppcheck tidy'
# shellcheck disable=SC2086 # a list of words
[ $# -gt 0 ] || set -- $checks
for check in "$@"; do
  case " $checks " in
    *" $check "*) ;;
    *) echo "lint: there is no check $check; there are $checks" && exit 2 ;;
  esac
done
for check in "$@"; do
  begun=$(date +%s)
  if "$check"; then
    echo "lint: $check: ok, $(($(date +%s) - begun)) s"
    passed=$((passed + 1))
  else
    echo "lint: $check: FAILED"
    failed=$((failed + 1))
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
