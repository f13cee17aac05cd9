#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# env.sh PROGRAM ARGS...: runs a test with its own home folder and caches. What compilers of drivers made of a kernel is
# in the folder TEST_KERNELS, if that is set (./hx does), for all tests: compiling takes most of the time of many tests.
set -eu
HOME=${TEST_TMPDIR:-$(mktemp -d)}/home
export HOME
unset XDG_CACHE_HOME XDG_CONFIG_HOME
kernels=${TEST_KERNELS:-$HOME}
export POCL_CACHE_DIR="$kernels/pocl" MESA_SHADER_CACHE_DIR="$kernels/mesa" # without its folder PoCL has no device
mkdir -p "$POCL_CACHE_DIR" "$MESA_SHADER_CACHE_DIR"
# For builds with a sanitizer (.bazelrc); other builds do not read these.
rules=$PWD/tests/sanitizers
# use_sigaltstack=0: LLVM, in drivers, replaces the sanitizer's alternate stack by its own.
export ASAN_OPTIONS="use_sigaltstack=0:detect_stack_use_after_return=1:strict_string_checks=1:allocator_may_return_null=1"
ASAN_OPTIONS="$ASAN_OPTIONS:quarantine_size_mb=8"
export LSAN_OPTIONS="suppressions=$rules/leaks.txt:print_suppressions=0"
export UBSAN_OPTIONS=print_stacktrace=1
# die_after_fork=0: a forked child may start threads, about which nothing is reported.
# atexit_sleep_ms: how long other threads may continue to race at the end of each process; the default is a second.
# report_thread_leaks=0: exit may be called between the start of a thread and pthread_detach.
# ignore_noninstrumented_modules would also hide races of hx itself in memcpy, snprintf and similar functions.
# Archer, which only understands numbers, warns on standard error unless this is on.
export TSAN_OPTIONS="suppressions=$rules/races.txt:allocator_may_return_null=1"
TSAN_OPTIONS="$TSAN_OPTIONS:die_after_fork=0:atexit_sleep_ms=50:report_thread_leaks=0"
TSAN_OPTIONS="$TSAN_OPTIONS:ignore_noninstrumented_modules=1:ignore_noninstrumented_modules=no"
exec "$@"
