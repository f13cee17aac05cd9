# SPDX-License-Identifier: Apache-2.0
"""User kernels: the values of NumPy's float32 and integer arithmetic, the bits of hx's reductions, and errors."""

import copy
import gc
import itertools
import pickle
import unittest
import weakref

import numpy as np
from common import rng

import hx

SIZES = [0, 1, 2, 255, 256, 257, 4095, 4096, 4097, 8191, 8193, 100_000]
F32, I32, U32 = np.float32, np.int32, np.uint32


def floats(random, shape):
    return random.standard_normal(shape).astype(F32)


class Maps(unittest.TestCase):
    def equal(self, got, wanted):
        self.assertEqual(got.dtype, wanted.dtype)
        self.assertEqual(got.shape, wanted.shape)
        self.assertEqual(got.tobytes(), wanted.tobytes())

    def test_floats(self):
        k = hx.Kernel("a * x + y", inputs="float x, float y", parameters="float a")
        for n in SIZES:
            x, y = floats(rng(), n), floats(rng(), n)[::-1].copy()
            self.equal(k.map(x, y, a=0.75), F32(0.75) * x + y)
            for share in (0, 0.5, 1):
                self.equal(k.map(x, y, a=-3, gpu_share=share), F32(-3) * x + y)

    def test_integers(self):
        k = hx.Kernel("x ^ y + p", inputs="int x, int32_t y", parameters="int p")
        unsigned = hx.Kernel("x * p >> 1", inputs="unsigned x", parameters="uint32_t p")
        mixed = hx.Kernel("(float)x * y", inputs="unsigned int x, float y")
        for n in SIZES:
            x, y = (rng().integers(-(2**31), 2**31, (2, n))).astype(I32)
            self.equal(k.map(x, y, p=-5), x ^ (y + I32(-5)))
            u = x.view(U32)
            self.equal(unsigned.map(u, p=2**32 - 1), (u * U32(2**32 - 1)) >> U32(1))
            self.equal(mixed.map(u, floats(rng(), n)), u.astype(F32) * floats(rng(), n))

    def test_functions(self):
        x = np.array([0.25, -2, 0, np.inf, np.nan], np.float32)
        powers = hx.Kernel("powf(x, y)", "float x", "float y")
        self.assertEqual(powers.map(x, y=3).tobytes(), (x * x * x).tobytes())
        signs = hx.Kernel("isnan(x) ? -1 : signbit(x)", "float x")
        self.assertEqual(signs.map(x).tolist(), [0, 1, 0, 0, -1])
        bits = hx.Kernel("as_uint(x) >> 23", "float x")
        self.assertEqual(bits.map(x).tolist(), (x.view(np.uint32) >> 23).tolist())

    def test_shapes_and_strides(self):
        k = hx.Kernel("x - y", inputs="float x, float y")
        x, y = floats(rng(), (37, 50)), floats(rng(), (50, 37))
        self.equal(k.map(x, y.T), x - y.T)
        self.equal(k.map(x[::-1, ::3], y.T[:, ::3]), x[::-1, ::3] - y.T[:, ::3])
        self.equal(k.map(x[3], y[:, 3]), x[3] - y[:, 3])
        self.equal(k.map(F32(3), F32(1)), np.asarray(F32(2)))
        self.equal(k.map(x[:, :0], y.T[:, :0]), x[:, :0])
        shifted = np.zeros(4 * x.size + 1, np.uint8)[1:].view(F32)
        shifted[...] = x.ravel()
        self.equal(k.map(shifted, y.ravel()), x.ravel() - y.ravel())

    def test_out(self):
        k = hx.Kernel("x + y", inputs="float x, float y")
        for n in SIZES:
            x, y = floats(rng(), n), np.arange(n, dtype=F32)
            wanted = x + y
            out = np.zeros(n + 2, F32)
            self.assertIs(k.map(x, y, out=(part := out[1:-1])), part)
            self.equal(part, wanted)
            self.assertEqual((out[0], out[-1]), (0, 0))
            self.assertIs(k.map(x, y, out=y), y)
            self.equal(y, wanted)
        x = floats(rng(), (8, 8))
        for out, text in ((x.T.copy().T, "contiguous"), (x[:, :4], "shape"), (np.zeros((8, 9), F32), "shape")):
            with self.assertRaisesRegex(hx.InvalidArgument, text):
                k.map(x, x, out=out)
        line = x.ravel()
        for arrays, name in (((line[:-1], line[:-1]), "x"), ((np.ones(63, F32), line[:-1]), "y")):
            with self.assertRaisesRegex(hx.InvalidArgument, f"^out overlaps {name} in part$"):
                k.map(*arrays, out=line[1:])
        with self.assertRaisesRegex(hx.InvalidArgument, "^out overlaps y in part$"):
            k.map(x[:7], x[1:], out=x[:7])
        with self.assertRaisesRegex(hx.InvalidArgument, "read-only"):
            k.map(x, x, out=np.broadcast_to(F32(0), (8, 8)))

    def test_arrays_with_one_order_of_axes_are_not_copied(self):
        k = hx.Kernel("x - y", inputs="float x, float y")
        for shape in ((37, 50), (4, 5, 6), (4, 1, 5), (1, 9), (0, 3), (5,)):
            for order in itertools.permutations(range(len(shape))):
                x, y = (floats(rng(), [shape[i] for i in order]).transpose(np.argsort(order)) for _ in range(2))
                y += 1
                got = k.map(x, y)
                self.equal(got, x - y)
                if got.size and 1 not in shape:
                    self.assertEqual(got.strides, x.strides)
                for out in (np.empty(shape, F32), got):
                    self.assertIs(k.map(x, y, out=out, gpu_share=0.5), out)
                    self.equal(out, x - y)
                self.equal(k.map(x, np.ascontiguousarray(y)), x - y)
                self.equal(k.map(x, np.asfortranarray(y)), x - y)
                wanted = x - y
                self.assertIs(k.map(x, y, out=x), x)
                self.equal(x, wanted)
        square = floats(rng(), (20, 20))
        wanted = square.T - 1
        self.equal(k.map(square.T, np.ones((20, 20), F32).T, out=square), wanted)

    def test_out_with_gaps_between_rows(self):
        k = hx.Kernel("x - y", inputs="float x, float y")
        for room in (np.zeros((37, 61), F32)[:, 3:53], np.zeros((3, 12, 50), F32)[:, :, 7:30]):
            x, y = floats(rng(), (2, *room.shape))
            whole = room.base
            for share in (0, 0.5, 1):
                whole[...] = 7
                self.assertIs(k.map(x, y, out=room, gpu_share=share), room)
                self.equal(room.copy(), x - y)
                room[...] = 7
                self.assertTrue((whole == 7).all(), "written between rows")
            room[...] = x
            k.map(room, y, out=room)
            self.equal(room.copy(), x - y)
            k.map(room, y.reshape(-1, y.shape[-1])[0], out=room)
            self.equal(room.copy(), x - y - y.reshape(-1, y.shape[-1])[0])
        square = np.zeros((8, 16), F32)
        for out in (square[:, ::2], square[::-1, :8], np.lib.stride_tricks.as_strided(square, (8, 8), (16, 4))):
            with self.assertRaisesRegex(hx.InvalidArgument, "C-contiguous and equally far apart"):
                k.map(np.ones((8, 8), F32), np.ones((8, 8), F32), out=out)

    def test_reductions(self):
        k = hx.Kernel("fabsf(x - y)", inputs="float x, float y")
        for n in SIZES[1:]:
            x, y = floats(rng(), n), floats(rng(), n)[::-1].copy()
            values = np.abs(x - y)
            for name in ("sum", "prod", "min", "max", "argmin", "argmax", "sum_abs", "sum_squares"):
                got, wanted = k.reduce(name, x, y), getattr(hx, name)(values)
                self.assertEqual((type(got), got.tobytes()), (type(wanted), wanted.tobytes()), (name, n))
        self.assertEqual(k.reduce("sum", x[:0], y[:0]), 0)
        with self.assertRaisesRegex(hx.InvalidArgument, r"^x has shape \(0,\): there is no element"):
            k.reduce("max", x[:0], y[:0])
        with self.assertRaisesRegex(hx.InvalidArgument, r"^'dot' takes two arrays: write x \* y .* use 'sum'"):
            k.reduce("dot", x, y)

    def test_rows(self):
        k = hx.Kernel("fabsf(x - y)", inputs="float x, float y")
        wide, one = floats(rng(), (2, 90, 70)), floats(rng(), 45)
        for x in (
            floats(rng(), (31, 45)),
            wide[0, 3:50, 7:52],
            wide[:, ::2, :45],
            wide[0, ::-1, :45],
            wide[:, :2, 1:46],
        ):
            for y in (floats(rng(), x.shape), one, wide[0, :45, 5], np.asfortranarray(floats(rng(), x.shape))):
                values = np.abs(x - y)
                self.equal(k.map(x, y), values)
                self.equal(k.map(y, x, gpu_share=0.5), values)
                for name in ("sum", "prod", "min", "max", "argmin", "argmax", "sum_abs", "sum_squares"):
                    for axis in (-1, x.ndim - 1):
                        self.equal(k.reduce(name, x, y, axis=axis), getattr(hx, name)(values, axis=-1))
                        self.equal(k.reduce(name, y, x, axis=axis, gpu_share=1), getattr(hx, name)(values, axis=-1))
                if y.ndim == x.ndim:
                    self.assertEqual(k.reduce("sum", x, y).tobytes(), hx.sum(values).tobytes())
        x = np.arange(100, dtype=F32)
        windows = np.lib.stride_tricks.sliding_window_view(x, 7)
        self.equal(k.reduce("max", windows, np.zeros(7, F32), axis=1), windows.max(axis=1))
        self.equal(k.reduce("max", x, x + 3, axis=0), F32(3))
        self.equal(k.reduce("sum", wide[0, :, :0], wide[0, :, :0], axis=1), np.zeros(90, F32))
        self.equal(k.reduce("max", wide[0, :0], wide[0, :0], axis=1), np.zeros(0, F32))
        for call, text in (
            (lambda: k.reduce("sum", wide[0], wide[0], axis=0), "last axis"),
            (lambda: k.reduce("sum", wide[0], wide[0], axis=2), "2 dimensions"),
            (lambda: k.reduce("sum", wide[0], wide[0, 0]), "y has one row for all"),
            (lambda: k.reduce("sum", wide[0], wide[0, 0, 1:], axis=1), "shape"),
            (
                lambda: k.reduce("max", wide[0, :, :0], wide[0, :, :0], axis=1),
                r"x has shape \(90, 0\): there is no element",
            ),
        ):
            with self.assertRaisesRegex(hx.InvalidArgument, text):
                call()

    def test_values_of_rows(self):
        k = hx.Kernel("(x - m) * s", "float x, row float m, row float s")
        i = hx.Kernel("m / x + (int)u", "row int m, int x, row unsigned u")
        for shape in ((31, 45), (1, 7), (300, 3), (5, 4, 65), (70, 1), (9,), (2, 4097), (6, 0), (0, 5)):
            x, m, s = floats(rng(), shape), floats(rng(), shape[:-1]), floats(rng(), shape[:-1])
            m, s = np.asarray(m), np.asarray(s)
            wanted = (x - m[..., None]) * s[..., None]
            for share in (0, 0.5, 1):
                self.equal(k.map(x, m, s[..., None], gpu_share=share), wanted)
            for values in (
                np.repeat(m[..., None], 3, -1)[..., 1:2],
                np.asfortranarray(m),
                m[..., None].copy()[::-1][::-1],
                np.repeat(m.reshape(-1), 2)[::2].reshape(m.shape),
            ):
                self.equal(k.map(x, values, s), wanted)
            self.equal(k.map(x.repeat(2, -1)[..., ::2], m, s), wanted)
            if 0 not in shape:
                for name in ("sum", "max", "argmin"):
                    self.equal(
                        np.asarray(k.reduce(name, x, m, s, axis=-1)), np.asarray(getattr(hx, name)(wanted, axis=-1))
                    )
            n = rng().integers(1, 50, shape).astype(I32)
            v = rng().integers(-(2**31), 2**31, shape[:-1]).astype(I32)
            whole = np.trunc(np.asarray(v)[..., None] / n.astype(float)).astype(I32)
            self.equal(i.map(v, n, np.asarray(v).view(U32)), whole + np.asarray(v)[..., None])
        x = floats(rng(), (37, 50))
        e = x - hx.Kernel("x", "float x").reduce("max", x, axis=1)[:, None]
        top = hx.Kernel("x - m", "float x, row float m")
        self.equal(top.map(x, x.max(axis=1)), e)
        self.equal(top.map(x, np.broadcast_to(F32(2), (37,))), x - F32(2))
        self.assertEqual(top.reduce("sum", x[0], F32(1)), hx.sum(x[0] - F32(1)))
        row = hx.Kernel("row * x", "float row, row float x")
        self.equal(row.map(x, x[:, 1]), x * x[:, 1:2])
        for error, call, text in (
            (
                ValueError,
                lambda: top.map(x, x[0]),
                r"m has shape \(50,\); it has one value for each row of x.*\(37, 50\)",
            ),
            (ValueError, lambda: top.map(x, x[:, :2]), r"m has shape \(37, 2\); it has one value"),
            (ValueError, lambda: top.map(x, x), "m has shape"),
            (ValueError, lambda: top.map(x, F32(1)), "m has shape"),
            (ValueError, lambda: top.map(x[0], x[0]), "m has shape"),
            (ValueError, lambda: top.reduce("sum", x, x[:, 0]), "m has one value for each row; give an axis"),
            (ValueError, lambda: top.map(x, x[:, 0].copy(), out=x.T), "out has shape"),
            (ValueError, lambda: top.map(x, x[:, 0], out=x), "^out overlaps m, which has one value for each row$"),
            (ValueError, lambda: hx.Kernel("m", "row float m").map(x[:, 0]), "names no array.*map with out needs none"),
            (ValueError, lambda: hx.Kernel("m", "row float m").reduce("sum", x[:, 0]), "names no array"),
            (ValueError, lambda: hx.Kernel("m", "row float m").map(x[0], out=x), "m has shape.*each row of out"),
            (TypeError, lambda: hx.Kernel("1", "").map(out=x), "out is float32"),
            (TypeError, lambda: top.map(x, x[:, 0].astype(I32)), "m is int32"),
        ):
            with self.assertRaisesRegex(error, text):
                call()

    def test_index_and_row(self):
        saw = hx.Kernel("x * (float)(index % 7u) + (float)row * a", "float x", "float a")
        for shape in ((), (1,), (5000,), (31, 45), (300, 3), (5, 4, 65), (70, 1), (0, 5)):
            x = floats(rng(), shape)
            index = np.arange(shape[-1] if shape else 1, dtype=U32).astype(F32) % 7
            row = np.arange(int(np.prod(shape[:-1])), dtype=U32).astype(F32).reshape(shape[:-1])[..., None]
            wanted = (x * index + row * F32(3)).reshape(shape).astype(F32)
            for array in (x, np.array(x, order="F"), x.repeat(2, -1)[..., ::2] if shape else x):
                for share in (0, 0.5, 1):
                    self.equal(saw.map(array, a=3, gpu_share=share), wanted)
            if shape and 0 not in shape:
                self.equal(
                    np.asarray(saw.reduce("sum", x.T.copy().T, a=3, axis=-1)), np.asarray(hx.sum(wanted, axis=-1))
                )
        x = np.empty((7, 50), U32)
        self.assertIs(hx.Kernel("index ^ row << 8").map(out=x), x)
        self.equal(x, np.arange(50, dtype=U32) ^ (np.arange(7, dtype=U32) << 8)[:, None])
        window = hx.Kernel("0.5f - 0.5f * cosf(w * index)", parameters="float w")
        n = 1000
        hann = window.map(out=np.empty(n, F32), w=2 * np.pi / (n - 1))
        self.assertLess(np.abs(hann - np.hanning(n)).max(), 1e-4)
        self.equal(window.map(out=np.empty(0, F32), w=1), np.empty(0, F32))
        # A declared name is no number of an element, and then elements need not be in C order.
        for source in (
            ("float index = x; index + row", "float x", "float row"),
            ("x + row /* index */", "float x", "float row"),
        ):
            k = hx.Kernel(*source)
            y = k.map(np.asfortranarray(floats(rng(), (3, 5))), row=1)
            self.assertTrue(y.flags.f_contiguous)
        for error, call, text in (
            (ValueError, lambda: saw.reduce("sum", np.ones((3, 5), F32), a=1), "index or row, .* give an axis"),
            (TypeError, lambda: window.map(w=1), "map needs out"),
            (TypeError, lambda: window.reduce("sum", w=1), "no number of elements"),
            (ValueError, lambda: window.map(out=np.empty((4, 5), F32).T, w=1), "rows of out"),
            (TypeError, lambda: window.map(out=np.empty(4, I32), w=1), "out is int32"),
        ):
            with self.assertRaisesRegex(error, text):
                call()
        self.assertEqual(saw.reduce("sum", np.ones(5, F32), a=1), F32(10))

    def test_rows_without_elements(self):
        k, empty = hx.Kernel("x + y", "float x, float y"), np.zeros((3, 0), F32)
        self.assertEqual([k.reduce(op, empty, empty) for op in ("sum", "prod")], [0, 1])
        self.equal(k.reduce("prod", empty, empty[0], axis=1), np.ones(3, F32))
        self.equal(k.map(empty, empty[0]), empty)

    def test_out_gives_the_shape_if_no_input_does(self):
        x, y = rng().standard_normal((2, 37), F32)
        k = hx.Kernel("m * s + n", "row float m, row float n", "float s")
        for shape in ((37, 50), (37, 1), (37, 0)):
            out = np.empty(shape, F32)
            self.assertIs(k.map(x, y[:, None], s=3, out=out), out)
            self.equal(out, np.broadcast_to((x * F32(3) + y)[:, None], shape))
        wide = np.full((37, 9), 7, F32)
        k.map(x, y, s=1, out=wide[:, 2:5])
        self.equal(wide[:, 2:5], np.broadcast_to((x + y)[:, None], (37, 3)))
        self.assertTrue((wide[:, :2] == 7).all() and (wide[:, 5:] == 7).all())
        self.equal(k.map(x[0], y[:1], s=1, out=np.empty(4, F32)), np.full(4, x[0] + y[0]))
        self.equal(hx.Kernel("s + 1", "", "int s").map(s=4, out=np.empty((3, 4), I32)), np.full((3, 4), 5, I32))
        self.equal(hx.Kernel("1.5f", "").map(out=np.empty((), F32)), np.full((), 1.5, F32))
        with self.assertRaisesRegex(hx.InvalidArgument, "^out overlaps m, which has one value for each row$"):
            hx.Kernel("m", "row float m").map(wide[:, 0], out=wide)

    def test_sources(self):
        for source, text in (
            (("fabsf(x - z)", "float x"), "text 1:11"),
            (("x", "double x"), "inputs 1:1"),
            (("x * a", "float x", "short a"), "parameters 1:1"),
            (("x", ""), ""),
            (("x + i",), "text 1:1"),
            (("x * out", "float x", "float out"), "'out'"),
        ):
            with self.assertRaisesRegex(hx.InvalidArgument, text):
                hx.Kernel(*source)
        k = hx.Kernel("x * a", "/* one, two */ float x // , float y\n", "float /* , */ a")
        self.equal(k.map(F32(3), a=2), np.asarray(F32(6)))
        context = hx.Context(devices=["cpu"])
        k = hx.Kernel("-x", "float x", context=context)
        context.close()
        self.equal(k.map(np.ones(3, F32)), -np.ones(3, F32))

    def test_arguments(self):
        k = hx.Kernel("x * a + (float)b", "float x, float y", "float a, int b")
        u = hx.Kernel("x * (float)n", "float x", "unsigned n")
        x = np.ones(5, F32)
        self.equal(u.map(x, n=np.uint32(2**32 - 1)), x * F32(2**32))
        self.equal(k.map(x, x, **{"".join(["gpu", "_share"]): None, "b": True, "a": np.array(2.0)}), x * F32(3))
        self.equal(k.map(x, x, a=float("inf"), b=-(2**31)), np.full(5, np.inf, F32))
        for error, call, text in (
            (TypeError, lambda: k.map(x, a=1, b=1), "1 arrays were given"),
            (TypeError, lambda: k.map(x, x, a=1), "needs parameter 'b'"),
            (TypeError, lambda: k.map(x, x, a=1, b=1, c=1), "no parameter 'c'"),
            (TypeError, lambda: k.map(x, x.astype(I32), a=1, b=1), "y is int32"),
            (TypeError, lambda: k.map(x, x.astype(float), a=1, b=1), "float64"),
            (hx.InvalidArgument, lambda: k.map(x, x, a=1e300, b=1), "a is 1e"),
            (hx.InvalidArgument, lambda: k.map(x, x, a=1, b=2**31), "b is 2147483648"),
            (hx.InvalidArgument, lambda: k.map(x, x, a=1, b=-(2**31) - 1), "b is -2147483649"),
            (hx.InvalidArgument, lambda: k.map(x, x, a=1, b=2**70), "b is 1180591620717411303424"),
            (hx.InvalidArgument, lambda: k.map(x, x, a=1, b=10**5000), "^b does not fit its type"),
            (hx.InvalidArgument, lambda: k.map(x, x, a=-(10**5000), b=1), "^a does not fit its type"),
            (hx.InvalidArgument, lambda: k.map(x, x, a=1, b=0.5), "b is 0.5"),
            (hx.InvalidArgument, lambda: k.map(x, x, a=x, b=1), "a is ndarray; it does not fit"),
            (hx.InvalidArgument, lambda: k.map(x, x, a=None, b=1), "a is NoneType; it does not fit"),
            (hx.InvalidArgument, lambda: u.map(x, n=-1), "n is -1"),
            (hx.InvalidArgument, lambda: u.map(x, n=2**32), "n is 4294967296"),
            (TypeError, lambda: k.map(x, x, x, a=1, b=1), "3 arrays were given; the kernel has 2"),
            (TypeError, lambda: k.map(x, x, a=1, b=1, axis=0), "no parameter 'axis'"),
            (TypeError, lambda: k.reduce("sum", x, x, a=1, b=1, out=x), "no parameter 'out'"),
            (TypeError, lambda: k.reduce(a=1, b=1), "needs an operation"),
            (hx.InvalidArgument, lambda: k.reduce(x, x, a=1, b=1), "no operation ndarray"),
            (hx.InvalidArgument, lambda: k.map(x, x[:4], a=1, b=1), r"\(5,\) and y has shape \(4,\)"),
            (hx.InvalidArgument, lambda: k.map(x, x, a=1, b=1, gpu_share=2), "gpu_share"),
        ):
            with self.assertRaisesRegex(error, text):
                call()

    def test_copies(self):
        k = hx.Kernel("x * a - m", "float x, row float m", "float a")
        x, m = floats(rng(), (5, 7)), floats(rng(), 5)
        for other in (copy.copy(k), copy.deepcopy(k), pickle.loads(pickle.dumps(k))):
            self.assertIs(type(other), hx.Kernel)
            self.equal(other.map(x, m, a=3), x * F32(3) - m[:, None])

    def test_repr(self):
        for made, text in (
            (("x * a", "float x", "float a"), "hx.Kernel('x * a', inputs='float x', parameters='float a')"),
            (("-x", "int x"), "hx.Kernel('-x', inputs='int x')"),
            (("index + a", "", "unsigned a"), "hx.Kernel('index + a', parameters='unsigned a')"),
            (("index",), "hx.Kernel('index')"),
            (("int u = x;", "int x", None, "u"), "hx.Kernel('int u = x;', inputs='int x', outputs='u')"),
        ):
            k = hx.Kernel(*made)
            self.assertEqual(repr(k), text)
            self.assertEqual(repr(eval(text)), text)

    def test_weak_references(self):
        k = hx.Kernel("x + 1", "int x")
        cache = weakref.WeakValueDictionary(increment=k)
        self.assertIs(cache["increment"], k)
        del k
        gc.collect()
        self.assertNotIn("increment", cache)

    def test_lifetime(self):
        x = np.arange(10, dtype=F32)
        for i in range(200):
            hx.Kernel(f"x + {i}.0f", "float x").map(x)
        gc.collect()


if __name__ == "__main__":
    unittest.main()
