# SPDX-License-Identifier: Apache-2.0
"""Reductions of whole arrays and along axes, compared with the definition."""
import array
import ctypes
import platform
import sys
import tracemalloc
import unittest

import numpy as np
from common import DTYPES, WIDE, arrays, expected, properties, rng, same, values
from hypothesis import strategies as st

import hx

CHOICES = ("min", "max", "argmin", "argmax")
NAMES = CHOICES + ("sum", "prod", "sum_abs", "sum_squares")
# Around lanes, leaves and the size from which hx shares work.
SIZES = (0, 1, 2, 127, 128, 129, 4095, 4096, 4097, 8192, 8193, 12289, 32768, 32769, 100003)


def flat(a, op):
    """The elements in the order in which hx takes them."""
    return np.ravel(a, order="C" if op.startswith("arg") else "K")


def along(op, a, axis, keepdims=False):
    """The definition, line by line; the lines' elements in C order."""
    axes = tuple(i % a.ndim for i in (axis if isinstance(axis, tuple) else (axis,)))
    kept = [i for i in range(a.ndim) if i not in axes]
    lines = a.transpose(kept + sorted(axes)).reshape([a.shape[i] for i in kept] + [-1 if a.size else 0])
    if not a.size:
        lines = np.zeros([a.shape[i] for i in kept] + [int(np.prod([a.shape[i] for i in axes]))], a.dtype)
    shape = [a.shape[i] for i in kept]
    dtype = np.intp if op.startswith("arg") else a.dtype if op in CHOICES else WIDE[a.dtype.type]
    result = np.empty(shape, dtype)
    for index in np.ndindex(*shape):
        result[index] = expected(op, lines[index])
    return result.reshape([1 if i in axes else a.shape[i] for i in range(a.ndim)]) if keepdims else result[()]


class Whole(unittest.TestCase):
    def test_every_operation_dtype_and_size(self):
        random = rng()
        for n in SIZES:
            for dtype in DTYPES:
                x = values(random, dtype, n)
                for name in NAMES if n else NAMES[4:]:
                    with self.subTest(name=name, dtype=dtype.__name__, n=n):
                        self.assertTrue(same(getattr(hx, name)(x), expected(name, x)))

    def test_sum_of_floats_is_within_the_bound_of_its_depth(self):
        x = values(rng(), np.float32, 1 << 20)
        depth = 32 + 7 + 8  # additions that an element goes through: lane, lanes of a leaf, 256 leaves
        bound = depth * 2.0**-24 / (1 - depth * 2.0**-24) * np.abs(x).sum(dtype=np.float64)
        self.assertLessEqual(abs(float(hx.sum(x)) - x.sum(dtype=np.float64)), bound)

    @properties(arrays(), st.sampled_from(NAMES))
    def test_any_strides(self, a, name):
        if a.size == 0 and name in CHOICES:
            with self.assertRaises(hx.InvalidArgument):
                getattr(hx, name)(a)
        else:
            self.assertTrue(same(getattr(hx, name)(a), expected(name, flat(a, name))))

    def test_nan_comes_first(self):
        x = np.array([1, 5, np.nan, -7, np.nan], np.float32)
        self.assertTrue(np.isnan(hx.min(x)) and np.isnan(hx.max(x)))
        self.assertEqual((hx.argmin(x), hx.argmax(x)), (2, 2))

    def test_transposed_arrays_are_not_copied_for_sums(self):
        a = values(rng(), np.float32, (300, 500))
        self.assertTrue(same(hx.sum(a.T), hx.sum(a)))
        self.assertTrue(same(hx.argmax(a.T), np.argmax(a.T)))

    def test_elements_with_gaps_are_added_in_the_order_of_memory(self):
        random = rng()
        views = [values(random, np.float32, (7, 60, 80))[:, ::2, ::3].transpose(2, 0, 1) for _ in range(40)]
        sums = np.array([hx.sum(view) for view in views])
        self.assertTrue(same(sums, np.array([expected("sum", np.ravel(view, order="K")) for view in views])))
        self.assertFalse(
            same(sums, np.array([expected("sum", np.ravel(view)) for view in views])), "orders do not differ"
        )

    def test_reversed_arrays_are_added_from_their_first_element_on(self):
        x = values(rng(), np.float32, 100003)
        self.assertTrue(same(hx.sum(x[::-1]), hx.sum(x[::-1].copy())))
        a = x[:100000].reshape(100, 1000)[:, ::-1]
        self.assertTrue(same(hx.sum(a.T), hx.sum(a.copy())))

    def test_more_elements_than_are_copied_at_once(self):
        """Blocks of 2^18 elements are joined as the leaves of one line are; so are those of a line along an axis."""
        block, random = 2**18, rng()
        flat = values(random, np.float32, 6 * block + 5)
        cube = flat[: 3 * 130 * 2048].reshape(3, 130, 2048)
        views = [flat[: n * block + rest][::-1] for n in (1, 2, 3, 4) for rest in (-1, 0, 1, 4097)]
        views += [cube[:, ::-1, 5:], cube[::-1, :, ::3].transpose(2, 0, 1), cube[:2, 1:, ::-1]]
        for view in views:
            copy = np.ravel(view, order="K")
            for name in NAMES[4:]:
                wanted = getattr(hx, name)(copy)
                self.assertTrue(same(getattr(hx, name)(view), wanted), (name, view.shape))
                if view.ndim == 1:
                    self.assertTrue(same(getattr(hx, name)(view, 0), wanted), (name, view.shape))
        for axes in ((0, 1), (1, 2), (0, 2)):
            view = cube[:, ::-1]
            kept = (set(range(3)) - set(axes)).pop()
            lines = np.moveaxis(view, kept, 0).reshape(view.shape[kept], -1)[:9].copy()
            self.assertTrue(same(hx.sum(view, axes)[:9], hx.sum(lines, 1)), axes)

    @unittest.skipUnless(platform.machine() == "x86_64", "the number of a rounding mode is known of x86-64")
    def test_the_rounding_mode_of_the_caller_does_not_matter(self):
        x = values(rng(), np.float32, 10**6)
        wanted = [hx.sum(v) for v in (x, x[::-1], x[:9])]
        library, upward = ctypes.CDLL("libm.so.6"), 0x800
        library.fesetround(upward)
        try:
            got = [hx.sum(v) for v in (x, x[::-1], x[:9])]
        finally:
            library.fesetround(0)
        self.assertTrue(same(np.array(got), np.array(wanted)))

    def test_broadcast_arrays(self):
        a = np.broadcast_to(np.arange(5, dtype=np.int32), (3, 5))
        self.assertEqual(hx.sum(a), 30)
        np.testing.assert_array_equal(hx.sum(a, 0), a.sum(0))
        np.testing.assert_array_equal(hx.sum(a, 1), a.sum(1))
        x = values(rng(), np.float32, 5000)
        for view in (np.broadcast_to(x, (90, 5000)), np.broadcast_to(x[:, None], (5000, 90)).T[:, ::-1]):
            in_order = np.repeat(x if view.strides[1] > 0 else x[::-1], 90)
            self.assertTrue(same(hx.sum(view), hx.sum(in_order)), "repeated elements do not follow each other")

    def test_results_have_the_types_that_the_documentation_says(self):
        for dtype in DTYPES:
            x = np.ones(3, dtype)
            for name in ("sum", "prod", "sum_abs", "sum_squares"):
                self.assertIs(type(getattr(hx, name)(x)), WIDE[dtype])
            self.assertIs(type(hx.min(x)), dtype)
            self.assertIs(type(hx.argmin(x)), np.intp)
            self.assertIs(type(hx.dot(x, x)), WIDE[dtype])

    def test_integers_wrap_at_64_bits(self):
        x = np.full(9, 2**31, np.uint32)
        self.assertEqual(int(hx.prod(x)), 2 ** (31 * 9) % 2**64)
        self.assertEqual(int(hx.sum_abs(np.full(3, -(2**31), np.int32))), 3 * 2**31)

    def test_any_object_with_the_buffer_protocol(self):
        self.assertEqual(hx.sum(array.array("f", [1, 2, 3])), 6)
        self.assertEqual(hx.max(memoryview(array.array("I", [1, 2, 3]))[::2]), 3)
        self.assertEqual(hx.sum(np.float32(2.5)), 2.5)

    def test_arrays_of_ctypes(self):
        x = (ctypes.c_float * 4)(1, 2, 3, 4)
        rows = ((ctypes.c_int * 3) * 2)((1, 2, 3), (4, 5, 6))
        self.assertEqual((hx.sum(x), hx.argmax(x), hx.dot(x, x)), (10, 3, 30))
        self.assertEqual((hx.sum(ctypes.c_uint(7)), hx.sum((ctypes.c_float * 0)())), (7, 0))
        self.assertEqual(
            (hx.sum(rows), hx.sum(rows, axis=1).tolist(), hx.sum(rows, axis=0).tolist()), (21, [6, 15], [5, 7, 9])
        )
        out = (ctypes.c_float * 4)()
        self.assertIs(hx.Kernel("x * x", "float x").map(x, out=out), out)
        self.assertEqual(list(out), [1, 4, 9, 16])
        with self.assertRaisesRegex(TypeError, "a is float64"):
            hx.sum((ctypes.c_double * 4)())

    @unittest.skipUnless(sys.version_info >= (3, 12), "classes written in Python have no __buffer__")
    def test_objects_with_a_buffer_method(self):
        class Object:
            def __init__(self, array):
                self.array = array

            def __buffer__(self, flags):
                return memoryview(self.array)

        a = values(rng(), np.float32, (30, 50))
        one = np.ones((50, 1), np.float32)
        kernel = hx.Kernel("x + 1", "float x")
        for view in (a, a[::-1], a[:, ::-1], a[::-2, ::-3], a.T[::-1]):
            for axis in (None, 0, 1):
                self.assertTrue(same(hx.sum(Object(view), axis=axis), hx.sum(view, axis=axis)))
                self.assertTrue(same(hx.argmax(Object(view), axis=axis), hx.argmax(view, axis=axis)))
            self.assertTrue(same(hx.vdot(Object(view), Object(view)), hx.vdot(view, view)))
            self.assertTrue(same(kernel.map(Object(view)), kernel.map(view)))
            b = one[: view.shape[1]]
            self.assertTrue(same(hx.matmul(Object(view), Object(b)), hx.matmul(view, b)))
        with self.assertRaisesRegex(TypeError, "^a is float64; hx has float32, int32, uint32$"):
            hx.sum(Object(np.ones(3)))

    def test_objects_that_have_an_array(self):
        class Series:  # as pandas has it: no buffer protocol
            values = np.arange(5, dtype=np.int32)

            def __array__(self, *unused, **options):
                return self.values

        self.assertEqual(hx.sum(Series()), 10)
        self.assertEqual(hx.mean(Series()), 2)

    def test_arrays_that_are_not_aligned(self):
        raw = np.zeros(4 * 10 + 1, np.uint8)
        x = raw[1:].view(np.float32)
        x[...] = np.arange(10)
        self.assertEqual(hx.sum(x), 45)
        records = np.zeros(5, np.dtype([("a", "u1"), ("b", "<f4")]))
        records["b"] = np.arange(5)
        self.assertEqual(hx.sum(records["b"]), 10)
        self.assertEqual(hx.sum(records["b"], axis=0), 10)

    def test_fields_of_structures(self):
        points = np.zeros(1000, np.dtype([("x", "f4"), ("y", "f4"), ("z", "i4")]))
        points["y"] = values(rng(), np.float32, 1000)
        self.assertTrue(same(hx.sum(points["y"]), expected("sum", points["y"].copy())))


class Axis(unittest.TestCase):
    @properties(arrays(ndim=st.integers(1, 4)), st.data())
    def test_one_axis(self, a, data):
        name = data.draw(st.sampled_from(NAMES))
        axis = data.draw(st.integers(-a.ndim, a.ndim - 1))
        keepdims = data.draw(st.booleans())
        if a.shape[axis] == 0 and name in CHOICES and a.size == 0 and np.delete(a.shape, axis).all():
            with self.assertRaises(hx.InvalidArgument):
                getattr(hx, name)(a, axis)
            return
        result = getattr(hx, name)(a, axis, keepdims=keepdims)
        self.assertTrue(same(result, along(name, a, axis, keepdims)))

    @properties(arrays(ndim=st.integers(1, 4), least=1), st.data())
    def test_several_axes(self, a, data):
        name = data.draw(st.sampled_from(("min", "max", "sum", "prod", "sum_abs", "sum_squares")))
        axes = tuple(data.draw(st.lists(st.integers(0, a.ndim - 1), unique=True)))
        keepdims = data.draw(st.booleans())
        result = getattr(hx, name)(a, axes, keepdims=keepdims)
        self.assertTrue(same(result, along(name, a, axes, keepdims)))

    def test_lines_that_are_copied_some_at_a_time(self):
        """More lines than are copied at once, longer ones than fit, and lines that are side by side."""
        random = rng()
        image, long, wide = (values(random, np.float32, s) for s in ((3, 5000, 150), (2, 3, 700_000), (4000, 600)))
        for a, axis in (
            (image, (0, 2)),
            (image[::-1, ::-1], (0, 2)),
            (image.transpose(1, 0, 2)[:, ::-1], (1, 2)),
            (long, (0, 2)),
            (wide[::-1], 0),
            (wide[::-1, ::-2], 0),
            (wide[:, ::-1].T[::3], 0),
        ):
            other = a if isinstance(axis, tuple) else -axis - 1
            packed = np.array(np.moveaxis(a, axis, range(-len(axis), 0)) if other is a else a, order="C")
            packed = packed.reshape(packed.shape[: -len(axis)] + (-1,)) if other is a else packed.T.copy()
            self.assertTrue(same(hx.sum(a, axis), hx.sum(packed, -1)))
            self.assertTrue(same(hx.max(a, axis), hx.max(packed, -1)))
            if other is not a:
                self.assertTrue(same(hx.argmin(a, axis), hx.argmin(packed, -1)))
                self.assertTrue(same(hx.vecdot(a, a[::-1], axis), hx.vecdot(packed, packed[:, ::-1].copy())))

    def test_few_elements_in_each_of_many_lines(self):
        """They are computed by user kernels, which have the bits of the definition, too."""
        random = rng()
        for n in range(1, 10):
            for dtype in DTYPES:
                a = values(random, dtype, (2, n, 520))
                if dtype is np.float32:
                    a[0, random.integers(0, n, 100), :100] = random.choice([np.nan, np.inf, -np.inf, 1e-41], 100)
                    a[1, :, :100] = random.choice([0.0, -0.0], (n, 100))
                for view, axis in (
                    (a[0], 0),
                    (a, 1),
                    (a[::-1, ::-1, 1:300], 1),
                    (a[:, :, ::-1], 1),
                    (a.reshape(2, n, 2, 260)[:, ::-1], (0, 1) if n < 6 else 1),
                    (a.reshape(n, 2, 520).transpose(1, 2, 0), -1),
                ):
                    few = view[..., 40:90, :] if axis == -1 else view[..., 40:90]
                    for name in NAMES[:2] + NAMES[4:]:
                        with self.subTest(name=name, dtype=dtype.__name__, shape=view.shape, axis=axis):
                            got = getattr(hx, name)(view, axis)
                            self.assertTrue(same(got[..., 40:90], along(name, few, axis)))
                            if n > 1:  # lines one after the other are left to reductions
                                axes = axis if isinstance(axis, tuple) else (axis,)
                                lines = np.ascontiguousarray(np.moveaxis(view, axes, range(-len(axes), 0)))
                                self.assertTrue(same(got, getattr(hx, name)(lines, tuple(range(-len(axes), 0)))))

    def test_few_elements_if_only_devices_may_compute(self):
        """Simulated devices take reductions, and no user kernels."""
        a = values(rng(), np.float32, (4, 1000))
        with hx.Context(devices="sim", sim="rate=1e9", cache_dir="off", offload="Mandatory") as context:
            self.assertTrue(same(hx.sum(a, 0, context=context), hx.sum(a, 0)))

    def test_values_that_need_no_order_are_not_copied(self):
        a = values(rng(), np.float32, (300, 200, 16))
        n = a.view(np.int32)
        for name, view, axis in (
            ("max", a[::-1], None),
            ("min", a.transpose(1, 0, 2)[:, ::-1, ::-1], None),
            ("sum", n[:, ::-1], None),
            ("max", a.reshape(-1)[::-3], None),
            ("max", a, (0, 2)),
            ("min", a[:, :, ::-1], (0, 2)),
            ("prod", n[::-1], 0),
        ):
            wanted = getattr(hx, name)(view.copy(), axis)
            tracemalloc.start()
            got = getattr(hx, name)(view, axis)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            self.assertTrue(same(got, wanted), (name, axis))
            self.assertLess(peak, a.nbytes / 8, (name, axis))

    def test_no_element_along_axes_that_are_apart(self):
        for name in NAMES[:2] + NAMES[4:]:
            for shape in ((3, 0, 5), (3, 0, 5, 2), (0, 0, 1)):
                result = getattr(hx, name)(np.zeros(shape, np.float32), (0, 2))
                self.assertEqual(result.shape, (0,) + shape[3:])
            for shape, axes in (((3, 2, 0), (0, 2)), ((0, 2, 3, 4), (0, 1, 3))):
                a = np.zeros(shape, np.float32)
                if name in CHOICES:
                    with self.assertRaises(hx.InvalidArgument):
                        getattr(hx, name)(a, axes)
                else:
                    self.assertTrue(same(getattr(hx, name)(a, axes), along(name, a, axes)))

    def test_the_same_bits_as_one_line_alone(self):
        a = values(rng(), np.float32, (5, 9000))
        rows = hx.sum(a, axis=1)
        columns = hx.sum(np.ascontiguousarray(a.T), axis=0)
        for i in range(5):
            self.assertTrue(same(rows[i], hx.sum(a[i])))
            self.assertTrue(same(columns[i], hx.sum(a[i])))

    def test_reversed_lines_are_one_call(self):
        a = values(rng(), np.float32, (40, 5, 6))
        for view in (a[::-1], a[:, ::-1], a[::-1, ::-1], a[::-1].transpose(1, 0, 2)):
            with hx.reports() as reports:
                sums, indices, dots = hx.sum(view, axis=2), hx.argmax(view, axis=2), hx.vecdot(view, view)
            self.assertTrue(same(sums, along("sum", view, 2)))
            self.assertTrue(same(indices, along("argmax", view, 2)))
            self.assertTrue(same(dots, hx.vecdot(view.copy(), view.copy())))
            self.assertLessEqual(len(reports), 3 if view.strides[0] * view.strides[1] > 0 else 15)

    def test_out(self):
        a = values(rng(), np.int32, (4, 6))
        out = np.empty((6, 2), np.int64)[:, 0]
        self.assertIs(hx.sum(a, axis=0, out=out), out)
        np.testing.assert_array_equal(out, a.sum(0, dtype=np.int64))
        scalar = np.empty((), np.int64)
        self.assertIs(hx.sum(a, out=scalar), scalar)
        self.assertEqual(scalar, a.sum(dtype=np.int64))


class Pairs(unittest.TestCase):
    def test_every_dtype_and_size(self):
        random = rng()
        for n in SIZES:
            for dtype in DTYPES:
                x, y = values(random, dtype, n), values(random, dtype, n)
                with self.subTest(dtype=dtype.__name__, n=n):
                    self.assertTrue(same(hx.dot(x, y), expected("dot", x, y)))
                    self.assertTrue(same(hx.dot(x[::-1], y[::-1]), expected("dot", x[::-1], y[::-1])))

    @properties(arrays(), st.data())
    def test_vdot_and_vecdot_of_any_strides(self, a, data):
        random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
        b = np.asfortranarray(values(random, a.dtype.type, a.shape)) if data.draw(st.booleans()) else a[...]
        self.assertTrue(same(hx.vdot(a, b), expected("dot", a.ravel(), b.ravel())))
        if a.ndim:
            axis = data.draw(st.integers(-a.ndim, a.ndim - 1))
            x, y = np.moveaxis(a, axis, -1), np.moveaxis(b, axis, -1)
            result = np.empty(x.shape[:-1], WIDE[a.dtype.type])
            for index in np.ndindex(*result.shape):
                result[index] = expected("dot", x[index], y[index])
            self.assertTrue(same(hx.vecdot(a, b, axis), result[()]))


class Soa(unittest.TestCase):
    def test_every_field_as_alone(self):
        random = rng()
        for n in (1, 64, 4097, 50001):
            x, y = values(random, np.float32, (2, n))
            z = values(random, np.int32, n)
            fields = [(name, array) for name in NAMES for array in (x, z)] + [("dot", x, y), ("dot", z, z)]
            got = hx.reduce_soa(fields)
            for (name, *operands), value in zip(fields, got):
                self.assertTrue(same(value, expected(name, *operands)))

    def test_views_and_generators(self):
        a = values(rng(), np.float32, (100, 3))
        got = hx.reduce_soa(("sum", a[:, i]) for i in range(3))
        self.assertEqual(got, [hx.sum(a[:, i]) for i in range(3)])
        self.assertEqual(hx.reduce_soa([]), [])
        self.assertEqual(hx.reduce_soa([("sum", a[:0])]), [0])


if __name__ == "__main__":
    unittest.main()
