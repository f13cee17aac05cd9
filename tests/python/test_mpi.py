# SPDX-License-Identifier: Apache-2.0
"""hx.mpi, on each of the ranks of an MPI program: every rank has the whole arrays as well, to compare with hx on one
machine. All ranks draw the same random numbers. An exception has to come to all ranks, or some would wait for ever."""
import itertools
import os
import pathlib
import re
import unittest

import numpy as np
from common import DTYPES, expected, rng, same, values
from mpi4py import MPI

import hx
import hx.mpi

F32 = np.float32
WORLD = MPI.COMM_WORLD
RANK, RANKS = WORLD.rank, WORLD.size
LAST = RANKS - 1
IS_LAST = RANK == LAST
REDUCTIONS = ("sum", "prod", "min", "max", "argmin", "argmax", "sum_abs", "sum_squares")
SIZES = (1, 5, 4095, 4096, 4097, 8192, 3 * 4096 + 7, 50_001)


def parts(random, n):
    """The whole array's slice of each rank; some have no element."""
    cuts = np.sort(random.integers(0, n + 1, LAST))
    if random.random() < 0.3:
        cuts = cuts // 4096 * 4096
    return [slice(*ends) for ends in zip([0, *cuts], [*cuts, n])]


class Reductions(unittest.TestCase):
    def equal(self, got, *wanted):
        for value in wanted:
            self.assertTrue(same(got, value), f"{got!r} is not {value!r}")

    def test_every_operation(self):
        random = rng()
        for n in SIZES:
            for dtype in DTYPES:
                x, y = values(random, dtype, n), values(random, dtype, n)
                mine = parts(random, n)[RANK]
                for op in REDUCTIONS:
                    with self.subTest(op=op, n=n, dtype=dtype):
                        self.equal(getattr(hx.mpi, op)(WORLD, x[mine]), getattr(hx, op)(x), expected(op, x))
                self.equal(hx.mpi.dot(WORLD, x[mine], y[mine]), hx.dot(x, y), expected("dot", x, y))

    def test_no_element(self):
        nothing = np.zeros(0, F32)
        self.equal(hx.mpi.sum(WORLD, nothing), F32(0))
        self.equal(hx.mpi.prod(WORLD, nothing), F32(1))
        self.equal(hx.mpi.dot(WORLD, nothing, nothing), F32(0))
        with self.assertRaisesRegex(hx.InvalidArgument, "^rank 0: "):
            hx.mpi.argmin(WORLD, nothing)

    def test_shapes_and_strides(self):
        random = rng()
        x = [values(random, F32, (2 * rank + 3, 500)) for rank in range(RANKS)]
        views = [lambda a: a, lambda a: a.T, lambda a: a[::-1, ::3], lambda a: a.copy("F")[:, 7:], lambda a: a[1]]
        unaligned = np.zeros(4 * 500 + 1, np.uint8)[1:].view(F32)
        for view in views:
            mine, whole = view(x[RANK]), np.concatenate([view(a).ravel() for a in x])
            for op in ("sum", "argmax"):
                self.equal(getattr(hx.mpi, op)(WORLD, mine), getattr(hx, op)(whole))
            self.equal(
                hx.mpi.vdot(WORLD, mine, mine[::-1]), hx.vdot(whole, np.concatenate([view(a)[::-1].ravel() for a in x]))
            )
        unaligned[...] = x[0][0]
        self.equal(hx.mpi.sum(WORLD, unaligned), hx.sum(np.tile(x[0][0], RANKS)))
        self.equal(hx.mpi.sum(WORLD, memoryview(x[0])), hx.sum(np.concatenate([x[0]] * RANKS)))

    def test_contexts(self):
        x = values(rng(), F32, 100_000)
        mine = np.array_split(x, RANKS)[RANK]
        with hx.Context(devices="cpu,sim", sim="rate=1e9", cache_dir="off") as context:
            for share in (None, 0, 0.5, 1):
                self.equal(hx.mpi.sum(WORLD, mine, gpu_share=share, context=context), hx.sum(x))
            call = hx._native.Call(context)  # which another thread may close now
        task = call.reduction("sum", mine, None, False, None)
        hx._mpi_library.check(
            hx._mpi_library.LIBRARY.hx_mpi_reduce(hx._mpi_library.handle_of(WORLD), call.context, task)
        )
        self.equal(call.value(), hx.sum(x))
        with self.assertRaisesRegex(
            hx.InvalidArgument, "the context is closed" if RANK == 0 else "^rank 0: the context is"
        ):
            hx.mpi.sum(WORLD, mine, context=context if RANK == 0 else None)

    def test_communicators(self):
        x = values(rng(), np.int32, 1000)
        half = WORLD.Split(RANK % 2)
        for _ in range(3):
            self.equal(
                hx.mpi.sum(half, x[: RANK + 1]), hx.sum(np.concatenate([x[: r + 1] for r in range(RANK % 2, RANKS, 2)]))
            )
        half.Free()
        with self.assertRaisesRegex(hx.InvalidArgument, "MPI_COMM_NULL"):
            hx.mpi.sum(half, x)


class Errors(unittest.TestCase):
    def refused(self, error, text, call, wrong=IS_LAST):
        """Ranks that are `wrong` raise the error of one machine, and the others one with its number."""
        with self.assertRaises(error if wrong else hx.InvalidArgument) as caught:
            call()
        self.assertEqual(str(caught.exception), text if wrong else f"rank {LAST}: {text}")

    def test_one_rank(self):
        x = np.ones(10, F32)
        other = np.ones(10, np.float64) if IS_LAST else x
        shorter = x[:9] if IS_LAST else x
        has = "; hx has float32, int32, uint32"
        self.refused(TypeError, "a is float64" + has, lambda: hx.mpi.sum(WORLD, other))
        self.refused(TypeError, "b is float64" + has, lambda: hx.mpi.dot(WORLD, x, other))
        sizes = "a has shape (10,) and b has shape (9,): their sizes differ"
        self.refused(hx.InvalidArgument, sizes, lambda: hx.mpi.dot(WORLD, x, shorter))
        share = "gpu_share is 2; it is a fraction from 0 to 1"
        self.refused(hx.InvalidArgument, share, lambda: hx.mpi.max(WORLD, x, gpu_share=2 if IS_LAST else None))
        context = "context is 3; it is an hx.Context"
        self.refused(TypeError, context, lambda: hx.mpi.max(WORLD, x, context=3 if IS_LAST else None))
        self.assertEqual(hx.mpi.sum(WORLD, x), 10 * RANKS)

    def test_classes(self):
        """Each exception in the preparation of a rank comes to the others as the hx.Error of its status."""
        handle = hx._mpi_library.handle_of(WORLD)
        rows = [(kind, kind) for kind in hx._support.ERRORS[1:]]
        for raised, told in [*rows, (MemoryError, hx.OutOfMemory), (KeyError, hx.InvalidArgument)]:
            with self.assertRaises(raised if IS_LAST else told) as caught:
                if IS_LAST:
                    with hx._mpi_library.preparing(handle):
                        raise raised("\u00fc\ud800" * 1000)
                hx.mpi.sum(WORLD, np.ones(3, F32))
            if not IS_LAST:
                self.assertTrue(str(caught.exception).lstrip("'").startswith(f"rank {LAST}: "), str(caught.exception))

    def test_all_ranks(self):
        x = np.ones((2, 5), F32)
        vectors = "a has shape (2, 5) and b has shape (2, 5); dot takes vectors, hx.vdot and hx.matmul take more"
        self.refused(hx.InvalidArgument, vectors, lambda: hx.mpi.dot(WORLD, x, x), True)
        self.refused(
            TypeError,
            "a is list; hx takes arrays (buffer protocol, DLPack or __array__)",
            lambda: hx.mpi.sum(WORLD, [1]),
            True,
        )
        self.refused(TypeError, "comm is 3; it is a communicator of mpi4py", lambda: hx.mpi.sum(3, x), True)
        self.refused(hx.InvalidArgument, "comm is MPI_COMM_NULL", lambda: hx.mpi.sum(MPI.COMM_NULL, x), True)
        self.assertEqual(hx.mpi.sum(WORLD, x), 10 * RANKS)

    def test_several_ranks(self):
        if RANKS == 1:
            return
        x = np.ones(10, np.uint32 if IS_LAST else np.int32)
        with self.assertRaisesRegex(hx.InvalidArgument, "type differs from that of rank 0"):
            hx.mpi.sum(WORLD, x)
        half = WORLD.Split(RANK % 2)
        both = half.Create_intercomm(0, WORLD, 1 - RANK % 2)
        with self.assertRaisesRegex(hx.InvalidArgument, "comm is an intercommunicator"):
            hx.mpi.sum(both, x)
        with self.assertRaisesRegex(hx.InvalidArgument, "Cartesian"):
            hx.mpi.matmul(both, x, (), x, (), ())
        both.Free()
        half.Free()

    def test_device_failed(self):
        settings = {"sim": "rate=1e9,fail=enqueue@1", "devices": "sim", "offload": "mandatory"} if IS_LAST else {}
        with hx.Context(cache_dir="off", **settings) as context:
            with self.assertRaisesRegex(hx.DeviceFailed, f"^rank {LAST}: "):
                hx.mpi.sum(WORLD, np.ones(1 << 20, F32), context=context)


def grids():
    for rows in range(1, RANKS + 1):
        if RANKS % rows == 0:
            yield WORLD.Create_cart([rows, RANKS // rows])


# m, n, k, alpha, beta, and the blocks of A, B and C with the places of the first ones (modulo the grid).
CASES = (
    (37, 29, 1100, 1, 0, (7, 32, 0, 0), (32, 7, 0, 0), (7, 7, 0, 0)),
    (37, 29, 513, 2.5, -3, (1, 1, 1, 2), (500, 1, 1, 0), (32, 7, 1, 1)),
    (130, 70, 20, 1, 1, (64, 5, 0, 1), (7, 64, 1, 0), (32, 32, 0, 0)),
    (2, 1, 600, -0.5, 0, (3, 64, 0, 0), (64, 3, 0, 0), (3, 3, 0, 0)),  # some ranks have nothing
    (20, 10, 0, 2, 0.5, (4, 4, 0, 0), (4, 4, 0, 0), (4, 4, 0, 0)),
    (0, 10, 30, 1, 0, (4, 4, 0, 0), (4, 4, 0, 0), (4, 4, 0, 0)),
)


class Matmul(unittest.TestCase):
    def distribute(self, whole, blocks, grid):
        """The descriptor and this rank's part, which the definition gives index by index."""
        mb, nb, rsrc, csrc = blocks
        rsrc, csrc = rsrc % grid.dims[0], csrc % grid.dims[1]
        desc = hx.mpi.descriptor(*whole.shape, mb, nb, grid, rsrc, csrc)
        rows = [i for i in range(whole.shape[0]) if (i // mb + rsrc) % grid.dims[0] == grid.coords[0]]
        columns = [i for i in range(whole.shape[1]) if (i // nb + csrc) % grid.dims[1] == grid.coords[1]]
        self.assertEqual(desc, (1, -1, *whole.shape, mb, nb, rsrc, csrc, max(1, len(rows))))
        self.assertEqual(hx.mpi.local_shape(desc, grid), (len(rows), len(columns)))
        part = whole[np.ix_(rows, columns)]
        self.assertTrue(np.array_equal(whole[hx.mpi.local_indices(desc, grid)], part))
        return desc, np.asfortranarray(part)

    def test_products(self):
        random = rng()
        for m, n, k, alpha, beta, *blocks in CASES:
            whole = [values(random, F32, shape) for shape in ((m, k), (k, n), (m, n))]
            wanted = hx.matmul(whole[0], whole[1], out=whole[2].copy(), alpha=alpha, beta=beta)
            for grid in grids():
                with self.subTest(m=m, n=n, k=k, grid=grid.dims):
                    (desca, a), (descb, b), (descc, c) = (self.distribute(w, x, grid) for w, x in zip(whole, blocks))
                    part = self.distribute(wanted, blocks[2], grid)[1]
                    out = c.copy("F")
                    result = hx.mpi.matmul(grid, a, desca, b, descb, descc, out, alpha, beta)
                    self.assertIs(result, out)
                    self.assertTrue(same(out, part))
                    self.layouts(grid, (a, desca, b, descb, descc), c, alpha, beta, part)
                grid.Free()

    def layouts(self, grid, operands, c, alpha, beta, wanted):
        """Arrays that are copied, gaps that stay, and a new array."""
        a, desca, b, descb, descc = operands
        padded = np.full((a.shape[0] + 3, a.shape[1]), np.nan, F32, order="F")
        padded[1 : a.shape[0] + 1] = a
        room = np.full((c.shape[0] + 2, c.shape[1] + 1), 7, F32, order="F")
        out = room[1:-1, :-1]
        out[...] = c
        view = padded[1 : a.shape[0] + 1]
        shifted = np.zeros(4 * b.size + 1, np.uint8)[1:].view(F32).reshape(b.shape, order="F")
        shifted[...] = b
        hx.mpi.matmul(grid, view, np.array(desca), shifted, list(descb), descc, out, alpha, beta)
        self.assertTrue(same(out.copy(), wanted.copy()))
        self.assertTrue((room[0] == 7).all() and (room[-1] == 7).all() and (room[:, -1] == 7).all())
        if beta == 0:
            new = hx.mpi.matmul(grid, a[::-1].copy()[::-1], desca, b.copy("C"), descb, descc, alpha=alpha)
            self.assertTrue(same(new, wanted) and new.flags.f_contiguous)

    def test_submatrices(self):
        """Any part of the matrices, transposed or not; the rest of C stays, and is 0 in a new array."""
        random = rng()
        for trans_a, trans_b in itertools.product((False, True), repeat=2):
            m, n, k = (int(size) for size in random.integers(1, 80, 3))
            shapes = (k, m) if trans_a else (m, k), (n, k) if trans_b else (k, n), (m, n)
            starts, rests = random.integers(0, 40, (2, 3, 2))
            whole = [values(random, F32, tuple(s)) for s in starts + shapes + rests]
            subs = [np.s_[r : r + h, c : c + w] for (r, c), (h, w) in zip(starts.tolist(), shapes)]
            blocks = [(*(int(size) for size in random.integers(1, 40, 2)), 1, 2) for _ in whole]
            a, b = (w[sub].T if trans else w[sub] for w, sub, trans in zip(whole, subs, (trans_a, trans_b)))
            wanted, new = whole[2].copy(), np.zeros_like(whole[2])
            wanted[subs[2]] = hx.matmul(a, b, out=whole[2][subs[2]].copy(), alpha=2, beta=-1)
            new[subs[2]] = hx.matmul(a, b)
            which = {"trans_a": trans_a, "trans_b": trans_b, "sub_a": subs[0], "sub_b": subs[1], "sub_c": subs[2]}
            for grid in grids():
                with self.subTest(m=m, n=n, k=k, grid=grid.dims, **which):
                    (desca, a), (descb, b), (descc, c) = (self.distribute(w, x, grid) for w, x in zip(whole, blocks))
                    out = hx.mpi.matmul(grid, a, desca, b, descb, descc, **which)
                    self.assertTrue(same(out, self.distribute(new, blocks[2], grid)[1]))
                    hx.mpi.matmul(grid, a, desca, b, descb, descc, c, 2, -1, **which)
                    self.assertTrue(same(c, self.distribute(wanted, blocks[2], grid)[1]))
                grid.Free()

    def test_one_matrix(self):
        """A step of an elimination: all submatrices are of one array."""
        grid = next(grids())
        whole = values(rng(), F32, (60, 60))
        desc, part = self.distribute(whole, (7, 5, 0, 0), grid)
        left, top, rest = np.s_[20:, :20], np.s_[:20, 20:], np.s_[20:, 20:]
        hx.mpi.matmul(grid, part, desc, part, desc, desc, part, -1, 1, sub_a=left, sub_b=top, sub_c=rest)
        whole[rest] = hx.matmul(whole[left], whole[top], out=whole[rest].copy(), alpha=-1, beta=1)
        self.assertTrue(same(part, self.distribute(whole, (7, 5, 0, 0), grid)[1]))
        grid.Free()

    def test_columns_that_overlap(self):
        grid = WORLD.Create_cart([RANKS, 1])
        series = values(rng(), F32, 5 * RANKS + 7)
        whole = np.lib.stride_tricks.sliding_window_view(series, 8)
        whole, ones = whole[: 5 * RANKS], np.eye(8, dtype=F32)
        desc, descb = hx.mpi.descriptor(5 * RANKS, 8, 5, 8, grid), hx.mpi.descriptor(8, 8, 8, 8, grid)
        mine = np.lib.stride_tricks.sliding_window_view(series[5 * RANK : 5 * RANK + 12], 5).T
        self.assertEqual(mine.strides, (4, 4))
        b = ones[hx.mpi.local_indices(descb, grid)]
        wanted = hx.matmul(whole, ones)[hx.mpi.local_indices(desc, grid)]
        self.assertTrue(same(hx.mpi.matmul(grid, mine, desc, b, descb, desc), wanted))
        out = np.lib.stride_tricks.as_strided(np.zeros(12, F32), (5, 8), (4, 4))
        with self.assertRaisesRegex(hx.InvalidArgument, "columns have to be contiguous and apart"):
            hx.mpi.matmul(grid, mine, desc, b, descb, desc, out)
        grid.Free()

    def test_errors(self):
        grid = WORLD.Create_cart([RANKS, 1])
        desc = hx.mpi.descriptor(5 * RANKS, 4, 5, 4, grid)
        turned = hx.mpi.descriptor(4, 5 * RANKS, 4, 5, grid)
        square = hx.mpi.descriptor(5 * RANKS, 5 * RANKS, 5, 5, grid)
        self.assertEqual(hx.mpi.local_shape(desc, grid), (5, 4))
        a, b = np.ones((5, 4), F32, order="F"), np.ones(hx.mpi.local_shape(turned, grid), F32, order="F")
        out = np.full((5, 5 * RANKS), 7, F32, order="F")
        frozen = out.copy("F")
        frozen.flags.writeable = False
        right = {"a": a, "desca": desc, "b": b, "descb": turned, "descc": square, "out": out}
        slices = "it is two slices with steps of 1, as numpy.s_[2:9, :]"
        of_a = f"this rank's part of a {5 * RANKS} x 4 matrix in blocks of 5 x 4 has (5, 4)"
        for wrong, error, text in (
            ({"a": a.astype(np.float64)}, TypeError, "a is float64; hx has float32, int32, uint32"),
            ({"a": a.astype(np.int32)}, TypeError, "a is int32; matmul takes float32"),
            ({"a": a[:4]}, hx.InvalidArgument, "a has shape (4, 4); " + of_a),
            ({"a": a[0]}, hx.InvalidArgument, "a has shape (4,); " + of_a),
            ({"desca": desc[:8]}, hx.InvalidArgument, "desca has 8 numbers; a descriptor has 9"),
            ({"desca": (2, *desc[1:])}, hx.InvalidArgument, "DTYPE of desca is 2, not from 1 to 1"),
            ({"desca": (*desc[:4], 0, *desc[5:])}, hx.InvalidArgument, "MB of desca is 0, not from 1 to 2147483647"),
            ({"desca": (*desc[:7], 1, 9)}, hx.InvalidArgument, "CSRC of desca is 1, not from 0 to 0"),
            ({"desca": (1.0, *desc[1:])}, TypeError, "'float' object cannot be interpreted as an integer"),
            (
                {"descb": desc},
                hx.InvalidArgument,
                f"op(A) is {5 * RANKS} x 4 and op(B) is {5 * RANKS} x 4: op(A) has 4 columns",
            ),
            (
                {"descc": desc},
                hx.InvalidArgument,
                f"C is {5 * RANKS} x 4; the product is {5 * RANKS} x {5 * RANKS}",
            ),
            ({"trans_a": "N"}, TypeError, "trans_a is 'N'; it is True or False"),
            (
                {"trans_b": True},
                hx.InvalidArgument,
                f"op(A) is {5 * RANKS} x 4 and op(B) is {5 * RANKS} x 4: op(A) has 4 columns",
            ),
            ({"sub_a": 3}, TypeError, "sub_a is 3; " + slices),
            ({"sub_b": (slice(2), 3)}, TypeError, "sub_b is (slice(None, 2, None), 3); " + slices),
            ({"sub_c": np.s_[::2, :]}, hx.InvalidArgument, f"sub_c is {np.s_[::2, :]!r}; " + slices),
            (
                {"sub_a": np.s_[1:3, :]},
                hx.InvalidArgument,
                f"C is {5 * RANKS} x {5 * RANKS}; the product is 2 x {5 * RANKS}",
            ),
            ({"out": frozen}, hx.InvalidArgument, "out is read-only"),
            ({"out": None, "beta": 2}, hx.InvalidArgument, "beta is 2.0, and there is no out to add to"),
            ({"alpha": "x"}, TypeError, "alpha is 'x'; it is a number"),
        ):
            with self.subTest(text=text):
                arguments = {**right, **(wrong if IS_LAST else {})}
                with self.assertRaises(error if IS_LAST else hx.InvalidArgument) as caught:
                    hx.mpi.matmul(grid, **arguments)
                self.assertEqual(str(caught.exception), text if IS_LAST else f"rank {LAST}: {text}")
        with self.assertRaisesRegex(hx.InvalidArgument, f"^rank {LAST}: c overlaps a$"):
            hx.mpi.matmul(grid, **{**right, "a": out[:, :4] if IS_LAST else a})
        with self.assertRaisesRegex(hx.InvalidArgument, "columns have to be contiguous"):
            hx.mpi.matmul(grid, **{**right, "out": np.zeros((10, 5 * RANKS), F32, order="F")[::2]})
        with self.assertRaisesRegex(hx.InvalidArgument, "Cartesian"):
            hx.mpi.matmul(WORLD, **right)
        with self.assertRaisesRegex(hx.InvalidArgument, "RSRC of the descriptor is"):
            hx.mpi.descriptor(3, 3, 1, 1, grid, RANKS)
        self.assertTrue((out == 7).all())
        if RANKS > 1:
            with self.assertRaisesRegex(hx.InvalidArgument, "alpha differs from that of rank 0"):
                hx.mpi.matmul(grid, **right, alpha=2 if IS_LAST else 1)
        self.assertTrue((hx.mpi.matmul(grid, **right) == 4).all())
        grid.Free()


class Docs(unittest.TestCase):
    def test_page(self):
        blocks = re.findall(r"```python\n(.*?)```", pathlib.Path(os.environ["MPI_MD"]).read_text(), re.S)
        self.assertEqual(len(blocks), 1)
        names = {}
        exec(compile(blocks[0], "docs/MPI.md", "exec"), names)
        whole, part = names["whole"], hx.mpi.local_indices(names["desc"], names["grid"])
        self.assertTrue(same(names["total"], hx.sum(names["series"])))
        self.assertTrue(same(names["c"], hx.matmul(whole, whole)[part]))

    def test_docstrings(self):
        for name in hx.mpi.__all__:
            self.assertTrue(getattr(hx.mpi, name).__doc__, name)


class Result(unittest.TextTestResult):
    """A failure ends all ranks at once, because the others may wait for this one."""

    def end(self, test, error):
        print(f"rank {RANK} of {RANKS}, {test}:\n{self._exc_info_to_string(error, test)}", flush=True)
        WORLD.Abort(1)

    addError = addFailure = end

    def addSubTest(self, test, subtest, error):
        if error:
            self.end(subtest, error)


if __name__ == "__main__":
    runner = unittest.TextTestRunner(resultclass=Result, verbosity=0)
    result = unittest.main(exit=False, testRunner=runner).result
    if RANK == 0:
        print(f"{result.testsRun} tests, seed {os.environ['TEST_SEED']}: ok")
