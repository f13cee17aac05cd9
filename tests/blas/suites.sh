#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# suites.sh LIBHX_BLAS LIBHX [FOLDER]: the test suites of NumPy and SciPy for BLAS and LAPACK, and a program each for Octave
# and R, on the BLAS of this system and with libhx_blas.so preloaded. By hand: it takes a quarter of an hour on an idle
# machine. Debian's python3-numpy, python3-scipy, python3-pytest, python3-hypothesis, octave and r-base-core, which all
# load libblas.so.3. Logs are left in FOLDER. Prints one line per suite and setting, and the tests that fail in one setting only.
set -eu
preload=$(readlink -f "$1") hx=$(dirname "$(readlink -f "$2")") out=${3:-$(mktemp -d)}
mkdir -p "$out"
cd "$out"
export HX_CACHE_DIR="$out/hx" POCL_MAX_PTHREAD_COUNT=1

# The settings: a name, then the variables.
settings() {
  cat <<'ROWS'
plain
default LD_PRELOAD=@
every LD_PRELOAD=@ HXBLAS_MIN=0 HX_DEVICES=cpu
half LD_PRELOAD=@ OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd HX_DEVICES=cpu,pocl HX_SPLIT=0.5
ROWS
}

# suite NAME COMMAND...: runs it in every setting; the last line of its output is its summary.
suite() {
  suite=$1
  shift
  settings | while read -r setting variables; do
    status=0
    variables=$(echo "$variables" | sed "s|@|$preload|")
    # shellcheck disable=SC2086 # a list of words
    env "LD_LIBRARY_PATH=$hx" $variables "$@" >"$suite.$setting" 2>"$suite.$setting.err" || status=$?
    echo "$suite $setting: status $status, $(tail -n 1 "$suite.$setting")"
    grep -E '^(FAILED|ERROR) ' "$suite.$setting" | sed 's/ - .*//' | sort >"$suite.$setting.failed" || true
    diff "$suite.plain.failed" "$suite.$setting.failed" || true
  done
}

python='/usr/bin/python3 -m pytest -q -p no:cacheprovider --pyargs'
# shellcheck disable=SC2086 # a command line
suite numpy.linalg $python numpy.linalg
# shellcheck disable=SC2086
suite numpy.products $python numpy.core.tests.test_multiarray -k 'Dot or MatMul or Matmul or vdot or Inner or CBLAS'
# shellcheck disable=SC2086
suite scipy.linalg.blas $python scipy.linalg.tests.test_blas scipy.linalg.tests.test_fblas \
  scipy.linalg.tests.test_cython_blas
# shellcheck disable=SC2086
suite scipy.linalg $python scipy.linalg

cat >program.m <<'SOURCE'
rand("seed", 1);
a = single(rand(300, 200) - 0.5); b = single(rand(200, 250) - 0.5); x = single(rand(200, 1) - 0.5);
wide = double(a) * double(b);
assert(double(a * b), wide, 1e-4);
assert(double(a' * a), double(a)' * double(a), 1e-4);
assert(double(a * x), double(a) * double(x), 1e-4);
assert(double(x' * x), double(x)' * double(x), 1e-4);
s = a' * a + 200 * eye(200, "single");
assert(norm(s * (s \ b) - b) < 1e-3);
[q, r] = qr(a); assert(norm(q * r - a) < 1e-4);
[u, d, v] = svd(a); assert(norm(u * d * v' - a) < 1e-3);
assert(norm(chol(s)' * chol(s) - s) < 1e-2);
m = rand(200); assert(norm(m * inv(m) - eye(200)) < 1e-8);
printf("octave %s: products, solve, qr, svd, chol, inv\n", version());
SOURCE
suite octave octave-cli --quiet --no-window-system program.m

cat >program.R <<'SOURCE'
set.seed(1)
a <- matrix(runif(300 * 200) - 0.5, 300); b <- matrix(runif(200 * 250) - 0.5, 200)
plain <- sapply(1:250, function(j) rowSums(a * rep(b[, j], each = 300)))
stopifnot(max(abs(a %*% b - plain)) < 1e-10)
s <- crossprod(a) + 200 * diag(200)
stopifnot(max(abs(s %*% solve(s, b) - b)) < 1e-8)
d <- svd(a); stopifnot(max(abs(d$u %*% diag(d$d) %*% t(d$v) - a)) < 1e-8)
stopifnot(max(abs(crossprod(chol(s)) - s)) < 1e-8)
q <- qr(a, LAPACK = TRUE); stopifnot(max(abs(qr.Q(q) %*% qr.R(q) - a[, q$pivot])) < 1e-8)
fit <- lm.fit(a, a %*% rep(1, 200)); stopifnot(max(abs(fit$coefficients - 1)) < 1e-8)
cat(R.version.string, ": products, solve, svd, chol, qr, lm\n", sep = "")
SOURCE
suite R R --vanilla --slave -f program.R
