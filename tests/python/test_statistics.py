# SPDX-License-Identifier: Apache-2.0
"""Means, variances, standard deviations and norms."""
import unittest

import numpy as np
from common import WIDE, rng, same, values

import hx


class Statistics(unittest.TestCase):
    def test_mean(self):
        x = values(rng(), np.float32, (30, 1000))
        self.assertTrue(same(hx.mean(x), np.float32(float(hx.sum(x)) / x.size)))
        self.assertTrue(same(hx.mean(x, 1), (hx.sum(x, 1) / np.float64(1000)).astype(np.float32)))
        self.assertTrue(same(hx.mean(np.array([1, 2], np.int32)), np.float64(1.5)))
        self.assertEqual(hx.mean(x, (0, 1), keepdims=True).shape, (1, 1))

    def test_means_along_an_axis_are_rounded_once(self):
        random = rng()
        constant = np.broadcast_to(np.float32(0.1), (2**24 + 1, 2))  # float32 does not have this count
        with np.errstate(all="ignore"):
            for n in (1, 3, 7, 9, 97, 255, len(constant)):
                x = random.integers(0, 2**32, (n, 3000), np.uint32).view(np.float32) if n < 300 else constant
                if n < 300:
                    x[:, ::3] *= np.float32(1e-38)  # denormals
                wanted = (hx.sum(x, 0).astype(np.float64) / n).astype(np.float32)
                self.assertTrue(same(hx.mean(x, 0), wanted), n)

    def test_variance_of_integers_is_exact(self):
        x = np.array([[2**20, 2**20 + 1, -5], [7, 7, 7]], np.int32)
        rows = [int(v) for v in x.ravel()]
        exact = (6 * sum(v * v for v in rows) - sum(rows) ** 2) / 36
        self.assertTrue(same(hx.var(x), np.float64(exact)))
        self.assertTrue(same(hx.std(x), np.sqrt(np.float64(exact))))
        self.assertEqual(hx.var(x, axis=1)[1], 0)
        with self.assertRaisesRegex(hx.InvalidArgument, "64 bits"):
            hx.var(np.full(4, 2**31 - 1, np.int32))

    def test_variances_of_integers_are_rounded_once(self):
        random = rng()
        for dtype in (np.int32, np.uint32):
            for n in (1, 3, 50):
                for bits in (4, 16, 24, 26, 28):  # products below and above 2^53, and above 2^63
                    x = random.integers(0, 2**bits, (200, n)).astype(dtype)
                    if dtype is np.int32:
                        x[::2] *= -1
                    x[::3] %= 100  # lines with small numerators beside the others
                    for ddof in (0, 1, 0.5)[: 3 if n > 1 else 1]:
                        rows = [[int(v) for v in line] for line in x]
                        exact = [(n * sum(v * v for v in row) - sum(row) ** 2) / (n * (n - ddof)) for row in rows]
                        self.assertTrue(same(hx.var(x, axis=1, ddof=ddof), np.array(exact, np.float64)))

    def test_variance_of_floats(self):
        x = (rng().random((40, 500)) + 1000).astype(np.float32)  # sum of squares less square of sum has no digit left
        for axis in (None, 0, 1, (0, 1)):
            for ddof in (0, 1):
                right = x.var(axis, dtype=np.float64, ddof=ddof)
                np.testing.assert_allclose(hx.var(x, axis, ddof), right, rtol=20 * 2.0**-24)
                np.testing.assert_allclose(hx.std(x, axis, ddof), np.sqrt(right), rtol=20 * 2.0**-24)
        self.assertIs(type(hx.var(x)), np.float32)
        self.assertEqual(hx.var(x, 1, keepdims=True).shape, (40, 1))

    def test_subclasses_with_functions_of_their_own(self):
        class Strict(np.ndarray):
            def __array_function__(self, *arguments):
                raise AssertionError("a function of NumPy was called")

            def __array_ufunc__(self, *arguments, **keywords):
                raise AssertionError("a ufunc was called")

        x = values(rng(), np.float32, (6, 5))
        for of in (hx.mean, hx.var, hx.std, hx.norm):
            for axis in (None, 0):
                self.assertTrue(same(of(x.view(Strict), axis), of(x, axis)))

    def test_of_a_scalar(self):
        for dtype, of in ((np.float32, np.float32), (np.int32, np.float64)):
            for x in (dtype(3), np.array(3, dtype)):
                for keepdims in (False, True):
                    self.assertTrue(same(hx.sum(x, keepdims=keepdims), WIDE[dtype](3)))
                    self.assertTrue(same(hx.argmax(x, keepdims=keepdims), np.intp(0)))
                    self.assertTrue(same(hx.mean(x, keepdims=keepdims), of(3)))
                    self.assertTrue(same(hx.norm(x, keepdims=keepdims), of(3)))
                    self.assertTrue(same(hx.var(x, keepdims=keepdims), of(0)))
                    self.assertTrue(same(hx.std(x, keepdims=keepdims), of(0)))

    def test_no_line(self):
        for dtype, of in ((np.float32, np.float32), (np.int32, np.float64), (np.uint32, np.float64)):
            x = np.zeros((0, 5), dtype)
            for function in (hx.mean, hx.var, hx.std, hx.norm):
                self.assertTrue(same(function(x, axis=1), np.zeros(0, of)))
                self.assertTrue(same(function(x, axis=1, keepdims=True), np.zeros((0, 1), of)))

    def test_norm(self):
        x = np.array([[3, 4], [5, 12]], np.float32)
        self.assertTrue(same(hx.norm(x, 1), np.array([5, 13], np.float32)))
        self.assertTrue(same(hx.norm(x.astype(np.int32)), np.sqrt(np.float64(194))))

    def test_norms_of_integers_are_right_or_refused(self):
        """Sums of squares of integers are those modulo 2^64."""
        for dtype, largest in ((np.int32, -(2**31)), (np.uint32, 2**32 - 1)):
            one = np.full(1, largest, dtype)
            self.assertEqual(hx.norm(one), abs(largest))
            for shape, axis in (((4,), None), ((4,), 0), ((9, 4), 1), ((4, 1000), 0)):
                with self.assertRaisesRegex(
                    hx.InvalidArgument, f"may exceed 64 bits .a is {np.dtype(dtype)}.; pass a as"
                ):
                    hx.norm(np.full(shape, largest, dtype), axis)
            self.assertTrue(same(hx.norm(np.full((5, 1), largest, dtype), 1), np.full(5, float(abs(largest)))))
            self.assertEqual(hx.norm(np.empty((0, 3), dtype), 1).shape, (0,))


if __name__ == "__main__":
    unittest.main()
