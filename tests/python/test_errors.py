# SPDX-License-Identifier: Apache-2.0
"""Every error names the argument and its value, and nothing is written."""

import fractions
import signal
import unittest

import numpy as np

import hx

A = np.ones((3, 4), np.float32)
B = np.ones((4, 5), np.float32)
OUT = np.full((3, 5), 7, np.float32)
READ_ONLY = np.ones((3, 5), np.float32)
READ_ONLY.flags.writeable = False
UNALIGNED = np.zeros(4 * 15 + 1, np.uint8)[1:].view(np.float32).reshape(3, 5)
SQUARE = np.full((4, 4), 7, np.float32)
OTHER = np.ones((4, 4), np.float32)
BATCH = np.ones((3, 4, 4), np.float32)
HAS = "; hx has float32, int32, uint32"


class Copies:
    """An object whose __array__ makes a copy, as that of a dataset in a file does."""

    def __array__(self, dtype=None, copy=None):
        return np.zeros((3, 5), dtype or np.float32)


STORED = "; results are stored in arrays (buffer protocol, DLPack or __array_interface__)"

# What is called, the exception, its whole text.
CASES = [
    (lambda: hx.matmul(A, B, out=Copies()), TypeError, "out is Copies" + STORED),
    (lambda: hx.sum(A, axis=0, out=[0, 0, 0, 0]), TypeError, "out is list" + STORED),
    (lambda: hx.sum(A.astype(np.float64)), TypeError, "a is float64" + HAS),
    (lambda: hx.sum(A.astype(np.int64)), TypeError, "a is int64" + HAS),
    (lambda: hx.sum(A.astype(np.float16)), TypeError, "a is float16" + HAS),
    (lambda: hx.sum(A.astype(bool)), TypeError, "a is bool" + HAS),
    (lambda: hx.sum(A.astype(np.complex64)), TypeError, "a is complex64" + HAS),
    (lambda: hx.sum(A.astype(object)), TypeError, "a is object" + HAS),
    (lambda: hx.sum(A.astype(">f4")), TypeError, "a is >f4" + HAS),
    (lambda: hx.sum(np.zeros(3, "M8[s]")), TypeError, "a is datetime64[s]" + HAS),
    (lambda: hx.sum(b"1234"), TypeError, "a is uint8" + HAS),
    (lambda: hx.mean(A.astype(np.float64)), TypeError, "a is float64" + HAS),
    (lambda: hx.sum([1.0]), TypeError, "a is list; hx takes arrays (buffer protocol, DLPack or __array__)"),
    (lambda: hx.sum(np.ndarray), TypeError, "a is type; hx takes arrays (buffer protocol, DLPack or __array__)"),
    (lambda: hx.sum(A, out=np.float32(0)), TypeError, "out is float32" + STORED),
    (lambda: hx.mean([1.0]), TypeError, "a is list; hx takes arrays (buffer protocol, DLPack or __array__)"),
    (lambda: hx.matmul(A, B.astype(np.float64)), TypeError, "b is float64" + HAS),
    (lambda: hx.matmul(A.astype(np.int32), B), TypeError, "a is int32; matmul takes float32"),
    (lambda: hx.matmul(A, B, np.zeros((3, 5))), TypeError, "out is float64" + HAS),
    (lambda: hx.dot(A[0], A[0].astype(np.int32)), hx.InvalidArgument, "a and b have different dtypes"),
    (
        lambda: hx.dot(A, A),
        hx.InvalidArgument,
        "a has shape (3, 4) and b has shape (3, 4); dot takes vectors, hx.vdot and hx.matmul take more",
    ),
    (
        lambda: hx.vdot(A, B),
        hx.InvalidArgument,
        "a has shape (3, 4) and b has shape (4, 5): their sizes differ",
    ),
    (lambda: hx.vecdot(A, B), hx.InvalidArgument, "a has shape (3, 4) and b has shape (4, 5)"),
    (
        lambda: hx.matmul(A, A),
        hx.InvalidArgument,
        "a has shape (3, 4) and b has shape (3, 4): a has 4 columns and b has 3 rows",
    ),
    (
        lambda: hx.matmul(np.ones((2, 3, 4), np.float32), np.ones((3, 4, 5), np.float32)),
        hx.InvalidArgument,
        "a has shape (2, 3, 4) and b has shape (3, 4, 5): a has 2 matrices and b has 3",
    ),
    (
        lambda: hx.matmul(np.ones((2, 3, 4), np.float32), B, OUT),
        hx.InvalidArgument,
        "out has shape (3, 5); the product has shape (2, 3, 5)",
    ),
    (
        lambda: hx.matmul(A[0, 0], B),
        hx.InvalidArgument,
        "a has shape (); matmul takes vectors and matrices",
    ),
    (
        lambda: hx.matmul(B[0], B),
        hx.InvalidArgument,
        "a has shape (5,) and b has shape (4, 5): a has 5 columns and b has 4 rows",
    ),
    (
        lambda: hx.matmul(A[0], B, OUT[0, ::-1]),
        hx.InvalidArgument,
        "out has a stride of -4 bytes; it has to be positive",
    ),
    (
        lambda: hx.matmul(np.ones((2, 3, 3, 4), np.float32), np.ones((3, 2, 4, 5), np.float32)),
        hx.InvalidArgument,
        "a has shape (2, 3, 3, 4) and b has shape (3, 2, 4, 5): axes before the last two differ",
    ),
    (
        lambda: hx.matmul(A, B, OUT.T),
        hx.InvalidArgument,
        "out has shape (5, 3); the product has shape (3, 5)",
    ),
    (
        lambda: hx.matmul(A, B, np.zeros((3, 10), np.float32)[:, ::2]),
        hx.InvalidArgument,
        "out has strides (40, 8) bytes; its rows or its columns have to be contiguous and apart",
    ),
    (
        lambda: hx.matmul(A, B, OUT[::-1]),
        hx.InvalidArgument,
        "out has strides (-20, 4) bytes; its rows or its columns have to be contiguous and apart",
    ),
    (lambda: hx.matmul(A, B, READ_ONLY), hx.InvalidArgument, "out is read-only"),
    (lambda: hx.matmul(A, B, UNALIGNED), hx.InvalidArgument, "out is not aligned to its elements"),
    (lambda: hx.matmul(A, B, beta=2), hx.InvalidArgument, "beta is 2, and there is no out to add to"),
    (lambda: hx.matmul(A, B, alpha="x"), TypeError, "alpha is 'x'; it is a number"),
    (lambda: hx.matmul(A, B, alpha=1e300), hx.InvalidArgument, "alpha is 1e+300; it does not fit float32"),
    (lambda: hx.matmul(A, B, OUT, beta=-4e38), hx.InvalidArgument, "beta is -4e+38; it does not fit float32"),
    (lambda: hx.matmul(A, B, alpha=10**5000), hx.InvalidArgument, "alpha does not fit float32"),
    (
        lambda: hx.matmul(BATCH, BATCH, np.zeros((3, 4, 4), np.float32)[::-1]),
        hx.InvalidArgument,
        "out has a stride of -64 bytes from matrix to matrix; it has to be positive",
    ),
    (
        lambda: hx.matmul(BATCH, BATCH, np.lib.stride_tricks.as_strided(np.zeros(99, "f4"), (3, 4, 4), (32, 16, 4))),
        hx.InvalidArgument,
        "out has a stride of 32 bytes from matrix to matrix: its matrices share elements",
    ),
    (lambda: hx.sum(A, axis=2), hx.InvalidArgument, "axis is 2; a has 2 dimensions"),
    (lambda: hx.sum(A, axis=[0]), TypeError, "'list' object cannot be interpreted as an integer"),
    (lambda: hx.mean(A, axis=[0]), TypeError, "'list' object cannot be interpreted as an integer"),
    (lambda: hx.std(A, axis=(0, 1.0)), TypeError, "'float' object cannot be interpreted as an integer"),
    (lambda: hx.mean(A, axis=-3), hx.InvalidArgument, "axis is -3; a has 2 dimensions"),
    (lambda: hx.sum(A, axis=(0, -2)), hx.InvalidArgument, "axis is (0, -2); it names an axis twice"),
    (lambda: hx.argmin(A, axis=(0, 1)), hx.InvalidArgument, "axis is (0, 1); this operation takes one integer"),
    (lambda: hx.min(A[:0]), hx.InvalidArgument, "a has shape (0, 4): there is no element to choose from"),
    (lambda: hx.argmax(A[:0], 0), hx.InvalidArgument, "a has shape (0, 4): there is no element to choose from"),
    (lambda: hx.mean(A[:0]), hx.InvalidArgument, "mean of no element: a has shape (0, 4)"),
    (lambda: hx.var(A, ddof=12), hx.InvalidArgument, "ddof is 12; it has to be less than the number of elements, 12"),
    (lambda: hx.sum(A, out=np.zeros(())), TypeError, "out is float64; the result is float32"),
    (lambda: hx.sum(A, 0, np.zeros(3, "f4")), hx.InvalidArgument, "out has shape (3,); the result has shape (4,)"),
    (lambda: hx.sum(A, gpu_share=1.5), hx.InvalidArgument, "gpu_share is 1.5; it is a fraction from 0 to 1"),
    (lambda: hx.sum(A, gpu_share=float("nan")), hx.InvalidArgument, "gpu_share is nan; it is a fraction from 0 to 1"),
    (lambda: hx.sum(A, gpu_share="1"), TypeError, "gpu_share is '1'; it is a fraction from 0 to 1"),
    (lambda: hx.sum(A, gpu_share=A), TypeError, "gpu_share is ndarray; it is a fraction from 0 to 1"),
    (
        lambda: hx.Kernel("x + y", ["float x", "float y"]),
        TypeError,
        "inputs is list; it is a string, such as 'float x'",
    ),
    (lambda: hx.Kernel("x", "float x", outputs=["u"]), TypeError, "outputs is list; it is a string, such as 'u, v'"),
    (
        lambda: hx.Kernel("x + y", "float x, float y").map(A, A[:, :1]),
        hx.InvalidArgument,
        "x has shape (3, 4) and y has shape (3, 1); an input with one value for each row is declared with 'row'",
    ),
    (
        lambda: hx.register(A, advice="READ_MOSTLY"),
        TypeError,
        "advice is 'READ_MOSTLY'; it is a sum of hx.Advice.READ_MOSTLY and hx.Advice.RESIDENT, or 0",
    ),
    (lambda: hx.empty("3"), TypeError, "shape is '3'; it is an integer, or a sequence of integers"),
    (lambda: hx.empty((2, 1.5)), TypeError, "shape is (2, 1.5); it is an integer, or a sequence of integers"),
    (lambda: hx.sum(A, context=3), TypeError, "context is 3; it is an hx.Context"),
    (lambda: hx.sum(A, dtype=3), TypeError, "sum() has no argument 'dtype'"),
    (lambda: hx.sum(A, 0, axis=1), TypeError, "sum() got argument 'axis' twice"),
    (lambda: hx.sum(), TypeError, "sum() needs argument 'a'"),
    (lambda: hx.dot(A[0], A[0], None, None), TypeError, "dot() takes at most 2 positional arguments, and got 4"),
    (
        lambda: hx.reduce_soa([("add", A)]),
        hx.InvalidArgument,
        "there is no operation 'add'; accepted: sum, prod, min, max, argmin, argmax, sum_abs, sum_squares, dot",
    ),
    (
        lambda: hx.reduce_soa([("sum", A, A)]),
        hx.InvalidArgument,
        "field 0 has 2 arrays; its operation takes 1",
    ),
    (
        lambda: hx.reduce_soa(["sum"]),
        hx.InvalidArgument,
        "field 0 is 'sum'; a field is (operation, array), or ('dot', x, y)",
    ),
    (
        lambda: hx.reduce_soa([("sum", A), A]),
        hx.InvalidArgument,
        "field 1 is ndarray; a field is (operation, array), or ('dot', x, y)",
    ),
    (
        lambda: hx.reduce_soa([(A,)]),
        hx.InvalidArgument,
        "field 0 is a tuple of 1; a field is (operation, array), or ('dot', x, y)",
    ),
    (
        lambda: hx.reduce_soa([(A, "sum")]),
        hx.InvalidArgument,
        "there is no operation ndarray; accepted: sum, prod, min, max, argmin, argmax, sum_abs, sum_squares, dot",
    ),
    (
        lambda: hx.reduce_soa([("sum", A), ("dot", A, B)]),
        hx.InvalidArgument,
        "an array of 20 elements (y of a field) follows one of 12: all have one size",
    ),
    (lambda: hx.reduce_async("sum", A, A), hx.InvalidArgument, "b is for 'dot' alone, which needs it"),
    (lambda: hx.matmul(SQUARE, OTHER, SQUARE), hx.InvalidArgument, "out shares elements with a"),
    (lambda: hx.matmul(OTHER, SQUARE, SQUARE), hx.InvalidArgument, "out shares elements with b"),
    (lambda: hx.matmul(OTHER, SQUARE, SQUARE.T), hx.InvalidArgument, "out shares elements with b"),
    (lambda: hx.matmul_async(OTHER, SQUARE, SQUARE.T), hx.InvalidArgument, "out shares elements with b"),
    (lambda: hx.empty((2, -3)), hx.InvalidArgument, "shape is (2, -3); extents are not negative"),
    (lambda: hx.Context(trace="a\0b"), hx.InvalidArgument, "trace is 'a\\x00b', with a null character"),
    (lambda: hx.empty(3, object), TypeError, "dtype is object; memory of devices holds no Python objects"),
    (lambda: hx.array([1.0]), TypeError, "obj is float64; hx has float32, int32, uint32: name one as dtype"),
    (lambda: hx.Context(threads=[1]), TypeError, "threads is [1]; a setting is a string or a number"),
    (lambda: hx.Context(threads=True), TypeError, "threads is True; a setting is a string or a number"),
    (lambda: hx.Context(split=np.ones(2)), TypeError, "split is array([1., 1.]); a setting is a string or a number"),
    (lambda: hx.Context(split=1j), TypeError, "split is 1j; a setting is a string or a number"),
]


class Errors(unittest.TestCase):
    def test_tasks_are_made_by_calls_alone(self):
        for kind in (hx._native.Task, hx._native.Kernel, hx._native.Context, hx._native.Block, hx._native.Call):
            with self.assertRaises(TypeError):
                kind().done()

    def test_text_that_ends_inside_a_character(self):
        with self.assertRaisesRegex(hx.InvalidConfig, "é"):
            hx.Context(trace="é" * 5000)

    def test_texts(self):
        for number, (call, exception, text) in enumerate(CASES):
            with self.subTest(number=number, text=text):
                with self.assertRaises(exception) as caught:
                    call()
                self.assertEqual(str(caught.exception), text)
        self.assertTrue((OUT == 7).all() and (SQUARE == 7).all())

    def test_settings_of_any_type_of_number(self):
        for number in (np.int64(1), np.uint8(1), np.array(1), 1):
            with hx.Context(devices="cpu", threads=number) as context:
                self.assertEqual(repr(context), f"hx.Context(devices='cpu', threads='{int(number)}')")
                self.assertEqual(hx.sum(A, context=context), 12)
            self.assertEqual(repr(context), f"<hx.Context(devices='cpu', threads='{int(number)}'), closed>")
        for number in (np.float32(0.5), np.float64(0.5), fractions.Fraction(1, 2), np.array(0.5), 0.5):
            with hx.Context(devices="cpu", split=number) as context:
                self.assertEqual(hx.sum(A, context=context), 12)
        for none in ([], ()):
            with self.assertRaisesRegex(
                hx.InvalidConfig, "^devices is an empty list; None leaves the choice to HX_DEVICES$"
            ):
                hx.Context(devices=none)
        with self.assertRaisesRegex(hx.InvalidConfig, "^HX_SPLIT=1.5"):
            hx.Context(split=np.float32(1.5))

    def test_classes(self):
        for name, parent in (
            ("InvalidArgument", ValueError),
            ("InvalidConfig", ValueError),
            ("OutOfMemory", MemoryError),
            ("Unsupported", RuntimeError),
            ("DeviceFailed", RuntimeError),
            ("InternalError", RuntimeError),
        ):
            self.assertTrue(issubclass(getattr(hx, name), (hx.Error,)) and issubclass(getattr(hx, name), parent))

    def test_errors_of_the_library_carry_its_detail(self):
        with self.assertRaises(hx.InvalidConfig) as caught:
            hx.Context(split="x")
        self.assertTrue(caught.exception.detail.startswith("HX_SPLIT=x"))
        self.assertEqual(caught.exception.status, "HX_INVALID_CONFIG")
        out = np.ones((4, 4), np.float32)
        with self.assertRaises(hx.InvalidArgument) as caught:
            hx.advise(out, 1)
        self.assertIn("0x", caught.exception.detail)

    def test_too_much_memory(self):
        with self.assertRaises(MemoryError):
            hx.empty(2**61, np.uint8)
        with self.assertRaises(hx.OutOfMemory):
            hx.empty((2**40, 2**40))
        with self.assertRaises(hx.OutOfMemory):
            hx._native.Block(None, 2**62)
        with self.assertRaisesRegex(hx.OutOfMemory, "^no memory for a copy of lines of 1152921504606846976 elements$"):
            hx.max(np.broadcast_to(np.float32(1), 2**60), axis=0)

    def test_a_long_call_can_be_interrupted(self):
        def interrupt(*unused):
            raise KeyboardInterrupt

        old = signal.signal(signal.SIGALRM, interrupt)
        try:
            for axis in (None, 0):
                signal.setitimer(signal.ITIMER_REAL, 0.1)
                with self.assertRaises(KeyboardInterrupt):
                    hx.sum(np.broadcast_to(np.float32(1), 2**40), axis)
        finally:
            signal.signal(signal.SIGALRM, old)

    def test_a_failed_device(self):
        c = hx.Context(sim="rate=1e9,fail=enqueue@1", devices="sim", offload="mandatory", cache_dir="off")
        with self.assertRaises(hx.DeviceFailed):
            hx.sum(np.ones(1 << 20, np.float32), context=c)


if __name__ == "__main__":
    unittest.main()
