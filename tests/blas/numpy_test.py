#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NumPy on libhx_blas.so (numpy_test.sh preloads it): products and numpy.linalg in float32 and float64, beside the same in
long double or by their definition. Warnings are errors, so a floating-point exception flag that a call leaves set fails."""
import multiprocessing
import warnings

import numpy as np
from numpy.linalg import lapack_lite

warnings.simplefilter("error")
np.seterr(all="raise", under="ignore")
rng = np.random.default_rng(31)


def close(name, got, want, scale):
    error = float(np.max(np.abs(np.asarray(got, np.longdouble) - want)))
    assert error <= scale, "%s: error %g, allowed %g" % (name, error, scale)


def products(dtype):
    """|error| <= (k + 2) eps sum|a||b| (Higham, section 3.5), and |a|, |b| <= 1."""
    eps = float(np.finfo(dtype).eps)
    for m, n, k in [(1, 1, 1), (3, 5, 7), (64, 64, 64), (120, 130, 700), (257, 1, 1000), (1, 257, 1000)]:
        a, b = (rng.uniform(-1, 1, s).astype(dtype) for s in [(m, k), (k, n)])
        want = a.astype(np.longdouble) @ b.astype(np.longdouble)
        scale = (k + 2) * eps * k
        close("product", a @ b, want, scale)
        close("transposed", (b.T.copy() @ a.T.copy()).T, want, scale)
        close("of views", a[::1, ::-1] @ b[::-1], want, scale)
        close("of Fortran's order", np.asfortranarray(a) @ b, want, scale)
        close("by itself", a[:40] @ a[:40].T, a[:40].astype(np.longdouble) @ a[:40].T.astype(np.longdouble), scale)
        close("by a vector", a[:, ::2] @ b[::2, 0], a[:, ::2].astype(np.longdouble) @ b[::2, 0].astype(np.longdouble), scale)
        close("dot", np.dot(a[0], b[:, 0]), want[0, 0], scale)


def solvers(dtype):
    """Residuals, in multiples of eps and the size."""
    n, eps = 100, float(np.finfo(dtype).eps)
    a = rng.uniform(-1, 1, (n, n)).astype(dtype)
    wide, scale = a.astype(np.longdouble), 50 * n * eps
    spd = (a @ a.T + n * np.eye(n)).astype(dtype)
    low = np.linalg.cholesky(spd).astype(np.longdouble)
    close("cholesky", low @ low.T, spd, scale * n)
    q, r = (x.astype(np.longdouble) for x in np.linalg.qr(a))
    close("qr", q @ r, wide, scale)
    u, s, vt = (x.astype(np.longdouble) for x in np.linalg.svd(a))
    close("svd", (u * s) @ vt, wide, scale)
    x = np.linalg.solve(spd, a).astype(np.longdouble)
    close("solve", spd.astype(np.longdouble) @ x, wide, scale)
    w, v = (x.astype(np.longdouble) for x in np.linalg.eigh(spd))
    close("eigh", (v * w) @ v.T, spd, scale * n)


def wrong_argument():
    """NumPy's LAPACK has an xerbla_ of its own, which raises an exception."""
    a = np.ones((1, 1))
    try:
        lapack_lite.dorgqr(1, 1, 1, a, 0, a, a, 0, 0)
    except ValueError as error:
        assert "DORGQR parameter number 5" in str(error), error
    else:
        raise AssertionError("no exception")


def child(queue):
    a = np.ones((300, 300), np.float32)
    queue.put(float((a @ a)[7, 7]))


def main():
    for dtype in (np.float32, np.float64):
        products(dtype)
        solvers(dtype)
    wrong_argument()
    queue = multiprocessing.get_context("fork").Queue()
    process = multiprocessing.get_context("fork").Process(target=child, args=(queue,))
    process.start()
    assert queue.get(timeout=60) == 300.0
    process.join()
    print("numpy_test: NumPy %s" % np.__version__)


main()
