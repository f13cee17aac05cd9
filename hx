#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The commands of the repository; ./hx help lists them.
set -eu

# Lists of Debian packages, by purpose.
packages_build='bazel-bootstrap gcc libc6-dev ocl-icd-opencl-dev opencl-headers libhwloc-dev pocl-opencl-icd'
packages_isa='intel-opencl-icd clang-15 libclc-15' # Intel's package holds ocloc
packages_wheel="$packages_build python3-dev python3-pip python3-setuptools python3-wheel"
packages_test="$packages_wheel $packages_isa g++ clang mesa-opencl-icd oclgrind pkg-config procps valgrind"
packages_test="$packages_test abigail-tools cmake make" # of the files that are installed
packages_test="$packages_test libblas-test python3-numpy gfortran" # tests of the BLAS
packages_test="$packages_test chromium mandoc" # of the pages of hx-bench report, and of manual pages
packages_test="$packages_test python3-hypothesis" # tests of the Python package
packages_mpi='libmpich-dev libopenmpi-dev mpich openmpi-bin'
packages_fetch='python3-venv g++ pkg-config ninja-build bison flex libdrm-dev libpciaccess-dev libexpat1-dev zlib1g-dev'
packages_site='mkdocs'
packages_lint="$packages_build $packages_site cmake make clang-format-14 clang-tidy-14 codespell cppcheck shellcheck"
packages_lint="$packages_lint black mypy pyflakes3 python3-numpy" # of the Python package
packages_clang="$packages_build clang-14"
packages_sanitize="$packages_test clang-14 libclang-rt-14-dev libomp-14-dev llvm-14" # llvm-14 names lines in reports
packages_deb='debhelper dpkg-dev cmake dh-python libhwloc-dev lintian opencl-headers pkg-config python3-dev python3-pip
  python3-setuptools python3-wheel'
packages_coverage="$packages_test gcovr"
packages_fuzz="$packages_clang libclang-rt-14-dev libomp-14-dev llvm-14"

usage() {
  cat <<'USAGE'
usage: ./hx COMMAND
  bench [ARGS]            build hx and run hx-bench with ARGS (none: CPU, GPU and both)
  info                    list devices and drivers, and what is missing to use more of them
  test [--all-drivers] [BAZEL TEST ARGS]
                          run every test; --all-drivers: also on drivers that are downloaded for it, and on ranks of
                          Open MPI and MPICH
  faults [--all] [ARGS]   let one OpenCL call of a process fail, in every way: a tenth of the cells, or all
  soak [--minutes N]      compare random tasks, with faults, with the definition (or --seconds N)
  sanitize [--quick] [asan|tsan|msan]...
                          run the tests under sanitizers (none named: all three), except those in
                          tests/sanitizers/left_out.txt; --quick: without slow ones; asan includes leaks and undefined
                          behaviour
  coverage [BAZEL TEST ARGS]
                          run the tests without a driver and with PoCL; lines and branches of runtime/ that they execute
  fuzz [--seconds N] [TARGET...]
                          run fuzz targets for N seconds each (10); failing inputs are kept and named
  warnings                build everything with gcc and clang and warnings as errors; run a few tests of clang's build
  isa intel|amd|nvidia|mesa
                          compile every device kernel for all GPUs of a vendor, or for GPUs of both by Mesa's drivers:
                          fails on a spill; an emulator executes AMD's machine code, and fails if a result differs
                          from the scalar definition
  isa model               what the machine code of products allows at most on GPUs of AMD and Intel, as a table
  isa addressing          what compilers make of indices, pointers and local arrays, as a table
  build                   build everything
  compdb                  write compile_commands.json for clangd, editors and clang-tidy
  install [--prefix DIR] [--libdir DIR]
                          header, libraries, BLAS, hx-bench, pages and files for pkg-config and CMake into DIR (/usr/local);
                          --libdir: the folder for libraries in it (lib)
  uninstall [--prefix DIR] [--libdir DIR]
                          remove what install puts there
  deb [DIR]               make Debian packages in DIR (the current folder)
  wheel [DIR]             make the Python package, with libhx.so in it, as a wheel in DIR (dist)
  site [DIR]              make a web site of all pages, with a search, in DIR (hx-site)
  lint [CHECK...]         all checks of sources and pages, or some of format, syntax, licence, length, blanks, layers,
                          builds, shell, spelling, links, site, python, results, cppcheck and tidy
  help                    this
As root each command first installs the Debian packages that it needs; otherwise it names those that are missing.
USAGE
}

die() {
  echo "hx: $*" >&2
  exit 2
}

# The folder of the checkout, also if this is called through a link.
self=$(readlink -f "$0")
root=${self%/*}
[ -f "$root/WORKSPACE" ] || die "$root has no WORKSPACE: run hx from its checkout"
case $root in *[[:space:]]*) die "Bazel does not work in a folder whose path has blanks: $root" ;; esac

# need LIST: installs the missing Debian packages of LIST, or names them and exits.
need() {
  command -v dpkg-query >/dev/null || return 0 # not Debian: nothing can be checked
  missing=
  for package in $1; do
    case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
      installed) ;;
      *) missing="$missing $package" ;;
    esac
  done
  [ -n "$missing" ] || return 0
  line="apt-get install --no-install-recommends$missing"
  if [ "$(id -u)" -ne 0 ]; then
    echo "hx: packages are missing; as root:" >&2
    echo "$line"
    exit 3
  fi
  echo "hx: $line" >&2
  export DEBIAN_FRONTEND=noninteractive
  # shellcheck disable=SC2086 # a list of words
  if ! apt_lists || ! apt-get install -q -y --no-install-recommends $missing >&2; then
    echo "hx: trying again with fresh package lists" >&2
    apt-get update -q >&2 && apt-get install -q -y --no-install-recommends $missing >&2 || die "could not run: $line"
  fi
}

# Downloads apt's package lists if there are none.
apt_lists() {
  for list in /var/lib/apt/lists/*_Packages*; do
    [ -e "$list" ] && return 0
  done
  echo "hx: apt-get update" >&2
  apt-get update -q >&2
}

# Bazel's output is under the home folder, or for a user without one under TMPDIR.
run_bazel() {
  command -v bazel >/dev/null || die "there is no bazel; docs/INSTALL.md says how to build hx with CMake"
  cd "$root"
  if [ -n "${HOME:-}" ] && [ -w "$HOME" ]; then
    bazel "$@"
  else
    bazel "--output_user_root=${TMPDIR:-/tmp}/hx-bazel-$(id -u)" "$@"
  fi
}

# build TARGET...: prints little unless it fails; on a terminal how many actions of how many are done. Sets $bin to the
# folder of the results.
build() {
  echo "hx: building (a first build takes some minutes)" >&2
  progress=--noshow_progress
  if [ -t 2 ]; then progress=--show_progress; fi
  run_bazel build --ui_event_filters=-info --show_result=0 "$progress" "$@" >&2 || die "the build failed"
  bin=$(run_bazel info bazel-bin 2>/dev/null)
}

# Queries Bazel instead of recording a build (bear), so nothing needs to be built. Compilers that run in Bazel's sandbox
# cannot be recorded, nor results that come from its cache.
compdb() {
  need "$packages_build"
  run_bazel aquery --output=jsonproto 'mnemonic("CppCompile", //...)' 2>/dev/null >"$1.actions" ||
    die "bazel aquery failed; ./hx build says why"
  python3 "$root/tools/compdb.py" "$root" <"$1.actions" >"$1" && rm -f "$1.actions"
}

bench() {
  need "$packages_build"
  here=$PWD
  build //bench:hx-bench
  cd "$here" # file names among the arguments are the caller's
  exec "$bin/bench/hx-bench" "$@"
}

caches=${XDG_CACHE_HOME:-${HOME:-${TMPDIR:-/tmp}}/.cache}
export TEST_KERNELS="$caches/hx-kernels" # tests/env.sh

# Fetches the drivers that are for tests only. Sets $drivers to where they are.
fetch_drivers() {
  [ "$(id -u)" -ne 0 ] || need "$packages_fetch $packages_mpi" # without them tests are left out, with a reason
  drivers=$caches/hx-drivers
  sh "$root/tests/drivers/fetch.sh" "$drivers"
}

run_tests() {
  drivers=
  if [ "${1:-}" = --all-drivers ]; then
    shift
    fetch_drivers
  fi
  need "$packages_test"
  filters=
  for driver in intel pocl6 mesa; do
    [ -n "$drivers" ] && [ -e "$drivers/$driver/ready" ] || filters="$filters,-driver-$driver"
  done
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  status=0
  # //... comes last: the caller's arguments may be options or, after --, targets to leave out (-//tests:name).
  { run_bazel test --keep_going "--test_tag_filters=${filters#,}" "--test_env=TEST_DRIVERS=$drivers" \
    "--test_env=TEST_KERNELS=$TEST_KERNELS" "$@" //... 2>&1 ||
    echo "hx: bazel test: status $?"; } | tee "$log"
  count_tests "$log"
}

# count_tests LOG: prints the last line of a command that runs tests. False if one failed.
count_tests() {
  passed=$(grep -c -E '^//[^ ]+ .*(PASSED|FLAKY)' "$1") || true
  failed=$(grep -c -E '^//[^ ]+ .*(FAILED|TIMEOUT|NO STATUS)' "$1") || true
  # A build that failed before any test began is a failure, too.
  if [ "$failed" -eq 0 ] && grep -q '^hx: bazel test: status' "$1"; then failed=1; fi
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
}

# with_pocl PROGRAM ARGS...: runs it on PoCL with a cache of its own; the last line counts it.
with_pocl() {
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  status=0
  TEST_TMPDIR=$scratch HX_CACHE_DIR=$scratch/hx POCL_CACHE_DIR=$TEST_KERNELS/pocl \
    sh "$root/tests/driver.sh" pocl "$@" || status=$?
  if [ "$status" -eq 0 ]; then echo "1 passed, 0 failed"; else echo "0 passed, 1 failed"; fi
  return "$status"
}

# The commit is the seed, so that every commit draws another tenth of the cells.
faults() {
  need "$packages_build"
  build //tests/faults:fault_matrix //tests:libfault_layer.so //tests:libdress_layer.so
  seed=$(git -C "$root" rev-parse HEAD 2>/dev/null) || seed=hx
  with_pocl "$bin/tests/faults/fault_matrix" --fault "$bin/tests/libfault_layer.so" \
    --dress "$bin/tests/libdress_layer.so" --seed "$seed" "$@"
}

soak() {
  need "$packages_build"
  build //tests/soak:soak //tests:libfault_layer.so
  with_pocl "$bin/tests/soak/soak" --fault "$bin/tests/libfault_layer.so" "$@"
}

# sanitize_targets CONFIG: prints the targets to run, and those to leave out with a minus. $quick: "-quick" or nothing.
sanitize_targets() {
  if [ "$1" = msan ]; then # only targets that call no library but libc, because no other is instrumented
    for target in settings devices sim cache model topo task options text; do echo "//tests/fuzz:${target}_replay"; done
    return
  fi
  echo //tests:all //tests/soak:all
  [ "$1" = tsan ] || echo //tests/fuzz:all
  left_out "$1" "$1$quick"
}

# left_out CONFIG CONFIG: prints the tests that either leaves out, with a minus, and the reasons on standard error.
left_out() {
  while read -r configs test reason; do
    case ",$configs," in
      *,"$1",* | *,"$2",*)
        echo "-//tests:$test"
        echo "hx: $1: left out: $test: $reason" >&2
        ;;
    esac
  done <"$root/tests/sanitizers/left_out.txt"
}

# Instrumented builds are tested with PoCL and without a driver. Oclgrind is an interpreter, which is too slow.
slow_drivers=-driver-oclgrind,-driver-rusticl,-driver-intel,-driver-pocl6,-driver-mesa,-driver-all

sanitize() {
  need "$packages_sanitize"
  quick=
  if [ "${1:-}" = --quick ]; then
    quick=-quick
    shift
  fi
  [ $# -gt 0 ] || set -- asan tsan msan
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  for config in "$@"; do
    case $config in asan | tsan | msan) ;; *) die "sanitize: unknown sanitizer $config; accepted: asan tsan msan" ;; esac
    targets=$(sanitize_targets "$config")
    # shellcheck disable=SC2086 # a list of words
    { run_bazel test --config="$config" --keep_going --build_tests_only "--test_tag_filters=$slow_drivers" \
      "--test_env=TEST_KERNELS=$TEST_KERNELS" -- $targets 2>&1 ||
      echo "hx: bazel test: status $?"; } | tee -a "$log"
  done
  count_tests "$log"
}

# Programs add their counts to .gcda files. GCOV_PREFIX puts these beside the .gcno files that the compiler wrote; without
# it they would be in each test's sandbox, because Bazel compiles in /proc/self/cwd (three words of a path).
coverage() {
  need "$packages_coverage"
  log=$(mktemp)
  trap 'rm -f "$log" "$log.csv"' EXIT
  execroot=$(run_bazel info --config=coverage execution_root 2>/dev/null) || die "coverage: bazel info failed"
  objects=$(run_bazel info --config=coverage bazel-bin 2>/dev/null)/runtime/_objs
  [ ! -d "$objects" ] || find "$objects" -name '*.gcda' -delete
  # shellcheck disable=SC2046 # a list of words
  { run_bazel test --config=coverage --keep_going --build_tests_only "--test_tag_filters=$slow_drivers" \
    "--test_env=GCOV_PREFIX=$execroot" --test_env=GCOV_PREFIX_STRIP=3 "--test_env=TEST_KERNELS=$TEST_KERNELS" "$@" -- //tests:all $(left_out coverage coverage) \
    2>&1 || echo "hx: bazel test: status $?"; } | tee "$log"
  (cd "$execroot" && gcovr --root . --filter '.*/runtime/' --csv "$log.csv" "$objects") || die "coverage: gcovr failed"
  status=0
  count_tests "$log" || status=1
  awk -f "$root/tools/coverage.awk" "$log.csv"
  return "$status"
}

# Runs each target for some seconds, from its corpus and a seed that is printed.
fuzz() {
  seconds=10
  if [ "${1:-}" = --seconds ]; then
    [ $# -ge 2 ] || die "--seconds needs a number"
    seconds=$2
    shift 2
  fi
  case $seconds in '' | 0 | *[!0-9]*) die "fuzz: --seconds takes a number from 1 on, not '$seconds'" ;; esac
  need "$packages_fuzz"
  if [ $# -eq 0 ]; then
    for source in "$root"/tests/fuzz/*_fuzz.c; do
      source=${source##*/}
      set -- "$@" "${source%_fuzz.c}"
    done
  fi
  labels=
  for target in "$@"; do
    [ -e "$root/tests/fuzz/${target}_fuzz.c" ] || die "fuzz: there is no target $target (tests/fuzz/)"
    labels="$labels //tests/fuzz:${target}_fuzz"
  done
  # shellcheck disable=SC2086 # a list of words
  build --config=fuzz $labels
  bin=$(run_bazel info --config=fuzz bazel-bin 2>/dev/null)
  passed=0 failed=0
  for target in "$@"; do
    if fuzz_one "$target" "$seconds"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  done
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
}

# fuzz_one TARGET SECONDS: discards new inputs, but keeps one that fails in a folder that is printed.
fuzz_one() {
  seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
  work=$(mktemp -d)
  scratch=$(mktemp -d -p /dev/shm 2>/dev/null) || scratch=$work # targets that read files write them first
  mkdir "$work/corpus" "$work/found"
  echo "hx: fuzz: $1 for $2 s, seed $seed"
  # The target's own standard error is closed, because it would get millions of warnings.
  if TEST_TMPDIR=$scratch ASAN_OPTIONS=use_sigaltstack=0 \
    "$bin/tests/fuzz/${1}_fuzz" -max_total_time="$2" -seed="$seed" -max_len=4096 -timeout=20 -close_fd_mask=2 \
    -artifact_prefix="$work/found/" "$work/corpus" "$root/tests/fuzz/corpus/$1" >"$work/log" 2>&1; then
    tail -n 1 "$work/log"
    rm -rf "$work" "$scratch"
  else
    tail -n 60 "$work/log"
    echo "hx: fuzz: $1 FAILED; input and log are in $work"
    return 1
  fi
}

# Builds with two compilers and warnings as errors. Ordinary builds do not, because a user's compiler may warn of more.
warnings() {
  need "$packages_clang libomp-14-dev"
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  build --config=werror //...
  { run_bazel test --config=clang --config=werror --keep_going //tests:overlap_test //tests:decide_test \
    //tests:policy_alone_test //tests:status_test //tests:api_test //tests:golden_test //tests:config_test 2>&1 ||
    echo "hx: bazel test: status $?"; } | tee "$log"
  count_tests "$log"
}

isa() {
  need "$packages_isa"
  case ${1:-} in
    mesa)
      need "$packages_build mesa-opencl-icd"
      fetch_drivers
      build //tests/isa:isa_rows //tests/isa:isa_launch
      export TEST_DRIVERS="$drivers"
      sh "$root/tests/isa/isa.sh" mesa "$bin/tests/isa/isa_rows" --launch "$bin/tests/isa/isa_launch"
      ;;
    intel | amd | nvidia)
      need "$packages_build"
      build //tests/isa:isa_rows //tests/emulator:emulate
      set -- "$1" "$bin/tests/isa/isa_rows"
      [ "$1" != amd ] || set -- "$@" --execute "$bin/tests/emulator/emulate"
      sh "$root/tests/isa/isa.sh" "$@"
      ;;
    model)
      need "$packages_build"
      build //tests/isa:isa_rows //tests/emulator:profile
      sh "$root/tests/isa/model/model.sh" "$bin/tests/isa/isa_rows" "$bin/tests/emulator/profile"
      ;;
    addressing) sh "$root/tests/isa/isa.sh" addressing ;;
    *) die "isa: intel, amd, nvidia, mesa, model or addressing" ;;
  esac
}

command=${1:-help}
[ $# -eq 0 ] || shift
case $command in
  bench) bench "$@" ;;
  info) bench info "$@" ;;
  test) run_tests "$@" ;;
  build) need "$packages_build"; build "$@" //... ;;
  compdb) compdb "$root/compile_commands.json" ;;
  faults) faults "$@" ;;
  soak) soak "$@" ;;
  sanitize) sanitize "$@" ;;
  coverage) coverage "$@" ;;
  fuzz) fuzz "$@" ;;
  warnings) warnings ;;
  isa) isa "$@" ;;
  install | uninstall | deb) . "$root/packaging/commands.sh"; "run_$command" "$@" ;;
  wheel) need "$packages_wheel"; build //runtime:libhx.so.0; sh "$root/python/wheel.sh" "$bin" "${1:-$root/dist}" ;;
  site) need "$packages_site"; python3 "$root/tools/site/build.py" "${1:-$root/hx-site}" ;;
  lint) need "$packages_lint"; compdb "$root/compile_commands.json"; sh "$root/tools/lint.sh" "$root" "$@" ;;
  help | -h | --help) usage ;;
  *) usage >&2; die "unknown command $command" ;;
esac
