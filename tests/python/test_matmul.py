# SPDX-License-Identifier: Apache-2.0
"""Products: exact ones, a derived bound, and the same bits for every layout."""
import unittest

import numpy as np
from common import properties, rng, same
from hypothesis import strategies as st

import hx

SHAPES = [(1, 1, 1), (1, 5, 7), (8, 8, 8), (3, 130, 600), (65, 33, 513), (200, 100, 1030), (128, 1, 64), (1, 1, 2000)]


def small_integers(random, shape):
    """Sums of up to 1030 products of them are exact in float32: 1030 * 64 * 64 < 2^24."""
    return random.integers(-64, 65, shape).astype(np.float32)


@st.composite
def layouts(draw, rows, cols):
    """A function that stores a matrix with some strides."""
    kind = draw(st.sampled_from(["C", "F", "rows apart", "columns apart", "steps", "reversed"]))
    gap = draw(st.integers(1, 3))

    def store(matrix):
        if kind in "CF":
            return matrix.copy(kind)
        if kind == "rows apart":
            room = np.zeros((rows, cols + gap), np.float32)[:, :cols]
        elif kind == "columns apart":
            room = np.zeros((cols, rows + gap), np.float32)[:, :rows].T
        elif kind == "steps":
            room = np.zeros((rows, cols * (gap + 1)), np.float32)[:, :: gap + 1]
        else:
            room = np.zeros((rows, cols), np.float32)[::-1]
        room[...] = matrix
        return room

    store.kind = kind
    return store


class Matmul(unittest.TestCase):
    def test_exact_products(self):
        random = rng()
        for m, n, k in SHAPES:
            a, b = small_integers(random, (m, k)), small_integers(random, (k, n))
            with self.subTest(shape=(m, n, k)):
                self.assertTrue(same(hx.matmul(a, b), (a.astype(np.float64) @ b).astype(np.float32)))

    def test_bound(self):
        random = rng()
        for m, n, k in SHAPES:
            a, b = random.standard_normal((m, k)).astype(np.float32), random.standard_normal((k, n)).astype(np.float32)
            u = 2.0**-24
            roundings = min(k, 512) + k // 512  # one fma for each of a panel, one addition for each other panel
            bound = roundings * u / (1 - roundings * u) * (np.abs(a).astype(np.float64) @ np.abs(b)) + 1e-45
            self.assertTrue((np.abs(hx.matmul(a, b) - a.astype(np.float64) @ b) <= bound).all())

    @properties(st.integers(1, 20), st.integers(1, 20), st.integers(0, 20), st.data())
    def test_every_layout_has_the_same_bits(self, m, n, k, data):
        random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
        a = random.standard_normal((m, k)).astype(np.float32)
        b = random.standard_normal((k, n)).astype(np.float32)
        c = random.standard_normal((m, n)).astype(np.float32)
        alpha, beta = data.draw(st.sampled_from([1, 0, -0.75])), data.draw(st.sampled_from([0, 1, 2.5]))
        right = hx.matmul(a, b, c.copy(), alpha, beta)
        out = data.draw(layouts(m, n).filter(lambda store: store.kind not in ("steps", "reversed")))(c)
        whole = out if out.base is None else out.base
        before = whole.copy()
        view = data.draw(layouts(m, k))(a), data.draw(layouts(k, n))(b)
        self.assertIs(hx.matmul(*view, out, alpha=alpha, beta=beta), out)
        self.assertTrue(same(out, right))
        out[...] = c
        self.assertTrue(same(whole, before), "written between rows")

    def test_alpha_and_beta(self):
        random = rng()
        a, b, c = (small_integers(random, shape) for shape in ((5, 6), (6, 7), (5, 7)))
        np.testing.assert_array_equal(hx.matmul(a, b, c.copy(), 2, -3), 2 * (a @ b) - 3 * c)
        nan = np.full((5, 7), np.nan, np.float32)
        np.testing.assert_array_equal(hx.matmul(a, b, out=nan), a @ b)
        self.assertTrue(
            np.isinf(hx.matmul(np.ones((2, 2), np.float32), np.ones((2, 2), np.float32), alpha=np.inf)).all()
        )

    def test_a_new_array_is_contiguous(self):
        c = hx.matmul(np.ones((2, 3), np.float32), np.ones((3, 4), np.float32))
        self.assertTrue(c.flags.c_contiguous and c.dtype == np.float32 and c.shape == (2, 4))

    def test_no_element(self):
        zeros = hx.matmul(np.empty((2, 0), np.float32), np.empty((0, 3), np.float32))
        np.testing.assert_array_equal(zeros, np.zeros((2, 3), np.float32))
        self.assertEqual(hx.matmul(np.empty((0, 3), np.float32), np.empty((3, 2), np.float32)).shape, (0, 2))

    def test_parts_of_one_array(self):
        room = np.ones((6, 20), np.float32)
        room[:, 10:16] = np.arange(36).reshape(6, 6)
        left, middle, right = room[:, :6], room[:, 10:16], room[:, 6:10]
        expected = left @ middle
        self.assertIs(hx.matmul(left, middle[:, :4], right), right)
        np.testing.assert_array_equal(right, expected[:, :4])

    @properties(st.integers(1, 9), st.integers(1, 9), st.integers(0, 9), st.integers(0, 5), st.data())
    def test_a_batch_has_the_bits_of_its_products(self, m, n, k, count, data):
        random = np.random.default_rng(data.draw(st.integers(0, 2**32)))

        def operand(rows, cols):
            kind = data.draw(st.sampled_from(["packed", "transposed", "shared", "interleaved", "reversed", "one"]))
            if kind == "transposed":
                return random.standard_normal((count, cols, rows)).astype(np.float32).transpose(0, 2, 1)
            if kind == "interleaved":
                return random.standard_normal((rows, count, cols)).astype(np.float32).transpose(1, 0, 2)
            x = random.standard_normal((count, rows, cols)).astype(np.float32)
            one = random.standard_normal((rows, cols)).astype(np.float32)
            kinds = {"shared": np.broadcast_to(one, x.shape), "reversed": x[::-1], "one": one}
            return kinds.get(kind, x)

        a, b, out = operand(m, k), operand(k, n), operand(m, n)
        if a.ndim == b.ndim == 2:
            a = np.broadcast_to(a, (count, m, k))
        all_a, all_b = np.broadcast_to(a, (count, m, k)), np.broadcast_to(b, (count, k, n))
        right = np.array([hx.matmul(x, y) for x, y in zip(all_a, all_b)], np.float32).reshape(count, m, n)
        self.assertTrue(same(hx.matmul(a, b), right))
        if out.shape == right.shape and out.flags.writeable and (out.strides[0] > 0 or out.size == 0):
            self.assertIs(hx.matmul_async(a, b, out).wait(), out)
            self.assertTrue(same(out, right))

    def test_vectors_and_more_axes(self):
        """The shapes of numpy.matmul, and the bits of products of matrices one by one."""
        random = rng()
        shapes = [((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((5, 2, 3), (3,)), ((3,), (5, 3, 4)), ((0,), (0, 4))]
        shapes += [((2, 4, 2, 3), (2, 4, 3, 4)), ((2, 4, 2, 3), (3, 4)), ((2, 3), (2, 4, 3, 4)), ((2, 4, 2, 3), (3,))]
        shapes += [((1, 2, 3), (5, 3, 4)), ((1, 1, 2, 3), (3, 4)), ((2, 4, 2, 3), (1, 3, 4)), ((0, 2, 3), (3, 4))]
        for pair in shapes:
            for change in (
                lambda x: x,
                lambda x: x[..., ::-1],
                lambda x: np.repeat(x, 2, -1)[..., ::2],
                lambda x: x.swapaxes(0, 1).copy().swapaxes(0, 1) if x.ndim > 3 else np.asfortranarray(x),
            ):
                a, b = (change(random.standard_normal(shape).astype(np.float32)) for shape in pair)
                wanted = np.matmul(a, b)
                got = hx.matmul(a, b)
                self.assertEqual((type(got), got.shape), (type(wanted), wanted.shape))
                x, y = a[None] if a.ndim == 1 else a, b[:, None] if b.ndim == 1 else b
                count = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
                x, y = (np.broadcast_to(operand, count + operand.shape[-2:]) for operand in (x, y))
                one_by_one = [hx.matmul(x[i], y[i]) for i in np.ndindex(*count)]
                self.assertEqual(np.asarray(got).tobytes(), np.array(one_by_one, np.float32).tobytes())
                out = np.zeros(wanted.shape + (3,), np.float32)[..., 1]
                if wanted.ndim < 2:
                    self.assertIs(hx.matmul(a, b, out), out)
                    self.assertEqual(out.tobytes(), np.asarray(got).tobytes())
                    self.assertEqual(np.asarray(hx.matmul_async(a, b).wait()).tobytes(), out.tobytes())

    def test_split_between_devices(self):
        random = rng()
        a, b = small_integers(random, (300, 200)), small_integers(random, (200, 100))
        right = hx.matmul(a, b)
        with hx.Context(sim="rate=1e9", devices="cpu,sim", cache_dir="off") as c:
            c_devices = [d.kind for d in hx.devices(c) if d.state == "usable"]
            self.assertIn("sim", c_devices)
            with hx.reports() as reports:
                self.assertTrue(same(hx.matmul(a, b, gpu_share=0.5, context=c), right))
            self.assertAlmostEqual(reports[0].gpu_share, 0.5, delta=0.01)
            self.assertEqual(len(reports[0].devices), 2)


if __name__ == "__main__":
    unittest.main()
