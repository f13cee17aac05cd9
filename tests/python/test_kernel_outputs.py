# SPDX-License-Identifier: Apache-2.0
"""User kernels with several outputs: the values of NumPy's arithmetic, places in memory, and errors."""

import pickle
import unittest

import numpy as np
from common import rng

import hx

F32, I32, U32 = np.float32, np.int32, np.uint32
SIZES = [0, 1, 2, 255, 256, 257, 4095, 4096, 4097, 8191, 8193, 100_000]


def floats(random, shape):
    return random.standard_normal(shape).astype(F32)


class Outputs(unittest.TestCase):
    def equal(self, got, wanted):
        self.assertEqual(got.dtype, wanted.dtype)
        self.assertEqual(got.shape, wanted.shape)
        self.assertEqual(got.tobytes(), wanted.tobytes())

    def test_outputs(self):
        polar = hx.Kernel(
            "float r = sqrtf(x * x + y * y); int left = x < 0; unsigned n = index;",
            "float x, float y",
            outputs="r, left, n",
        )
        plain = hx.Kernel("float u = x + y; float v = x - y;", "float x, float y", outputs="u, v")
        for shape in SIZES + [(3, 5), (4, 300), (2, 3, 4)]:
            x, y = floats(rng(), shape), floats(rng(), shape)[..., ::-1].copy()
            numbers = np.broadcast_to(np.arange(x.shape[-1], dtype=U32), x.shape)
            r, left, n = polar.map(x, y)
            self.equal(r, np.sqrt(x * x + y * y))
            self.equal(left, (x < 0).astype(I32))
            self.equal(n, numbers.copy())
            wide = np.zeros(x.shape[:-1] + (x.shape[-1] + 3,), F32)
            outs = wide[..., : x.shape[-1]], wide.copy()[..., : x.shape[-1]]
            got = plain.map(x, y, out=outs)
            self.assertTrue(got[0] is outs[0] and got[1] is outs[1] and type(got) is tuple)
            self.equal(outs[0].copy(), x + y)
            self.equal(outs[1].copy(), x - y)
            self.assertFalse(wide[..., x.shape[-1] :].any())
            was, first = x.copy(), np.empty_like(x)
            got = plain.map(x, y, out=[None, x])  # in place of x
            self.assertIs(got[1], x)
            self.equal(got[0], was + y)
            self.equal(x, was - y)
            self.equal(plain.map(y, was, out=(first, None))[1], y - was)
            self.equal(first, y + was)
        x, y = floats(rng(), (50, 37)).T, floats(rng(), (50, 37)).T
        for got, wanted in zip(plain.map(x, y), (x + y, x - y)):
            self.equal(got, wanted)
            self.assertEqual(got.strides, x.strides)
        fill = hx.Kernel("float a = s; int b = index;", parameters="float s", outputs="a, b")
        a, b = fill.map(s=2, out=(np.empty(9, F32), None))
        self.assertEqual((a.tolist(), b.tolist()), ([2] * 9, list(range(9))))
        alone = hx.Kernel("float u = -x;", "float x", outputs="u")
        self.assertEqual(alone.map(np.ones(2, F32))[0].tolist(), [-1, -1])
        self.assertEqual(alone.reduce("sum", np.ones(2, F32)), -2)
        self.equal(pickle.loads(pickle.dumps(plain)).map(y, x)[1], y - x)

    def test_output_errors(self):
        k = hx.Kernel("float u = x; int v = (int)x;", "float x", outputs="u, v")
        x, z, ints = np.ones((4, 5), F32), np.ones((4, 5), F32), np.ones((4, 5), I32)
        wide, memory = np.ones((4, 9), F32), np.ones((4, 9), F32)
        overlapping = memory.view(I32)[:, 2:7]
        for error, call, text in (
            (TypeError, lambda: k.map(x, out=z), "out is not a tuple; the kernel names its outputs"),
            (TypeError, lambda: k.map(x, out=(z,)), "out has 1 arrays; the kernel has 2 outputs"),
            (TypeError, lambda: k.map(x, out=(z, z)), r"out\[1\] is float32; the kernel has int32 there"),
            (hx.InvalidArgument, lambda: k.map(x, out=(z[0], ints)), r"out\[0\] has shape \(5,\); the inputs have"),
            (
                hx.InvalidArgument,
                lambda: k.map(x, out=(wide[:, :5], ints)),
                r"the rows of out\[1\] are 5 .* out\[0\] 9",
            ),
            (hx.InvalidArgument, lambda: k.map(x, out=(z, z.view(I32))), r"out\[1\] overlaps out\[0\]"),
            (
                hx.InvalidArgument,
                lambda: k.map(memory[:, :5], out=(wide[:, :5], overlapping)),
                r"out\[1\] overlaps x in",
            ),
            (hx.InvalidArgument, lambda: k.reduce("sum", x), "the kernel has 2 outputs: a map-reduce takes one"),
            (hx.InvalidArgument, lambda: hx.Kernel("float u = x;", "float x", outputs="w"), "outputs 1:1: 'w' is not"),
            (ValueError, lambda: hx.Kernel("int a = 1; int b = 2;", outputs="a, b").map(out=(None, ints)), "names no"),
        ):
            with self.assertRaisesRegex(error, text):
                call()


if __name__ == "__main__":
    unittest.main()
