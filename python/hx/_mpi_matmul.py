# SPDX-License-Identifier: Apache-2.0
"""Block-cyclic matrices over a grid of ranks, and their product."""
from __future__ import annotations

import ctypes
import operator
from typing import Any, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from . import _native
from ._context import Context
from ._derived import _array
from ._mpi_library import LIBRARY, check, handle_of, preparing
from ._support import InvalidArgument, check_output

MEMBERS = ("DTYPE", "CTXT", "M", "N", "MB", "NB", "RSRC", "CSRC", "LLD")
DENSE = 1
LARGEST = 2**31 - 1

Numbers = Tuple[int, ...]
Slices = Optional[Tuple[slice, slice]]


def _axes(grid: MPI.Comm) -> Tuple[Tuple[int, int], Tuple[int, int]]:
    """The number of rows of the grid and that of this rank, and those of columns."""
    if not isinstance(grid, MPI.Cartcomm) or not grid or grid.Get_dim() != 2:
        raise InvalidArgument("grid has no Cartesian topology of two dimensions (Create_cart)")
    (rows, columns), _, (row, column) = grid.Get_topo()
    return (rows, row), (columns, column)


def _numbers(name: str, desc: Sequence[int], grid: MPI.Comm) -> Numbers:
    """The nine numbers of a descriptor; all but CTXT and LLD are in their ranges."""
    (rows, _), (columns, _) = _axes(grid)
    numbers = tuple(operator.index(value) for value in desc)
    if len(numbers) != len(MEMBERS):
        raise InvalidArgument(f"{name} has {len(numbers)} numbers; a descriptor has {len(MEMBERS)}")
    least = (DENSE, -LARGEST, 0, 0, 1, 1, 0, 0, -LARGEST)
    greatest = (DENSE, *[LARGEST] * 5, rows - 1, columns - 1, LARGEST)
    for member, value, low, high in zip(MEMBERS, numbers, least, greatest):
        if not low <= value <= high:
            raise InvalidArgument(f"{member} of {name} is {value}, not from {low} to {high}")
    return numbers


def _count(n: int, block: int, first: int, axis: Tuple[int, int]) -> int:
    """How many of n indices this rank has (ScaLAPACK's NUMROC)."""
    size, me = axis
    blocks, rest = divmod(n, block)
    rounds, last = divmod(blocks, size)
    before = (me - first) % size
    return (rounds + (before < last)) * block + (rest if before == last else 0)


def _shape(numbers: Numbers, grid: MPI.Comm) -> Tuple[int, int]:
    _, _, m, n, mb, nb, rsrc, csrc, _ = numbers
    rows, columns = _axes(grid)
    return _count(m, mb, rsrc, rows), _count(n, nb, csrc, columns)


def descriptor(m: int, n: int, mb: int, nb: int, grid: MPI.Comm, rsrc: int = 0, csrc: int = 0) -> Numbers:
    """ScaLAPACK's descriptor of an m x n matrix in blocks of mb x nb.

    grid: a communicator of Create_cart with two dimensions. rsrc, csrc: row and column of the rank with the first block.
    Returns nine integers: DTYPE, CTXT (-1), M, N, MB, NB, RSRC, CSRC and LLD, the last one for a local part without
    gaps. hx.InvalidArgument: a number is out of its range.
    """
    numbers = _numbers("the descriptor", (DENSE, -1, m, n, mb, nb, rsrc, csrc, 1), grid)
    return (*numbers[:-1], max(1, _shape(numbers, grid)[0]))


def local_shape(desc: Sequence[int], grid: MPI.Comm) -> Tuple[int, int]:
    """The shape of this rank's part of a matrix: numpy.empty(local_shape(desc, grid), numpy.float32, order="F")."""
    return _shape(_numbers("desc", desc, grid), grid)


def local_indices(desc: Sequence[int], grid: MPI.Comm) -> Tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The rows and the columns that this rank has: its part of a matrix `whole` is whole[local_indices(desc, grid)].

    Returns indices of shape (rows, 1) and of shape (1, columns), as numpy.ix_ does.
    """
    _, _, m, n, mb, nb, rsrc, csrc, _ = _numbers("desc", desc, grid)
    rows, columns = (
        np.flatnonzero((np.arange(extent) // block + first) % size == me)
        for extent, block, first, (size, me) in zip((m, n), (mb, nb), (rsrc, csrc), _axes(grid))
    )
    return rows[:, None], columns[None, :]


def _leading(array: NDArray[Any]) -> int:
    """The distance of columns in elements; 0 if hx cannot read or write the array where it is."""
    rows, columns = array.shape
    if not array.flags.aligned or (array.size and rows > 1 and array.strides[0] != array.itemsize):
        return 0
    if array.size == 0 or columns == 1:
        return max(1, rows)
    leading, rest = divmod(array.strides[1], array.itemsize)
    return leading if rest == 0 and rows <= leading <= LARGEST else 0


def _checked(name: str, a: Any, numbers: Numbers, grid: MPI.Comm) -> NDArray[Any]:
    """A local part that has the dtype and the shape that it should have."""
    array = _array(a, name)
    if array.dtype != np.float32:
        raise TypeError(f"{name} is {array.dtype}; matmul takes float32")
    if array.shape != _shape(numbers, grid):
        m, n, mb, nb = numbers[2:6]
        what = f"{m} x {n} matrix in blocks of {mb} x {nb}"
        raise InvalidArgument(
            f"{name} has shape {array.shape}; this rank's part of a {what} has {_shape(numbers, grid)}"
        )
    return array


def _output(out: Any, numbers: Numbers, grid: MPI.Comm, beta: float) -> NDArray[Any]:
    if out is None:
        if beta:
            raise InvalidArgument(f"beta is {beta!r}, and there is no out to add to")
        return np.zeros(_shape(numbers, grid), np.float32, order="F")
    check_output("out", out)
    array = _checked("out", out, numbers, grid)
    if not array.flags.writeable:
        raise InvalidArgument("out is read-only")
    if not _leading(array):
        raise InvalidArgument(f"out has strides {array.strides} bytes; its columns have to be contiguous and apart")
    return array


class _Sub(NamedTuple):
    """A submatrix: its shape, and its first row and column."""

    rows: int
    columns: int
    row: int
    column: int


def _sub(name: str, sub: Any, numbers: Numbers) -> _Sub:
    """The submatrix that two slices choose, as NumPy takes them."""
    slices = (slice(None), slice(None)) if sub is None else sub
    what = f"{name} is {sub!r}; it is two slices with steps of 1, as numpy.s_[2:9, :]"
    if not isinstance(slices, tuple) or len(slices) != 2 or not all(isinstance(part, slice) for part in slices):
        raise TypeError(what)
    (top, bottom, down), (left, right, across) = (part.indices(n) for part, n in zip(slices, numbers[2:4]))
    if (down, across) != (1, 1):
        raise InvalidArgument(what)
    return _Sub(max(0, bottom - top), max(0, right - left), top, left)


def _part(array: NDArray[Any], numbers: Numbers, sub: _Sub) -> Tuple[int, int, int, Any]:
    """Address, first row and column, and descriptor as C takes them. LLD is what the array says."""
    desc = (ctypes.c_int * len(MEMBERS))(*numbers[:-1], _leading(array))
    return array.ctypes.data, sub.row + 1, sub.column + 1, desc


def _sizes(a: _Sub, b: _Sub, c: _Sub, trans_a: bool, trans_b: bool) -> Tuple[int, int, int]:
    """m, n and k."""
    m, k = (a.columns, a.rows) if trans_a else (a.rows, a.columns)
    rows_of_b, n = (b.columns, b.rows) if trans_b else (b.rows, b.columns)
    if rows_of_b != k:
        raise InvalidArgument(f"op(A) is {m} x {k} and op(B) is {rows_of_b} x {n}: op(A) has {k} columns")
    if (c.rows, c.columns) != (m, n):
        raise InvalidArgument(f"C is {c.rows} x {c.columns}; the product is {m} x {n}")
    return m, n, k


def _letter(name: str, trans: Any) -> bytes:
    if not isinstance(trans, (bool, np.bool_)):
        raise TypeError(f"{name} is {trans!r}; it is True or False")
    return b"T" if trans else b"N"


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}; it is a number") from None


def matmul(
    grid: MPI.Comm,
    a: Any,
    desca: Sequence[int],
    b: Any,
    descb: Sequence[int],
    descc: Sequence[int],
    out: Any = None,
    alpha: float = 1,
    beta: float = 0,
    *,
    trans_a: bool = False,
    trans_b: bool = False,
    sub_a: Slices = None,
    sub_b: Slices = None,
    sub_c: Slices = None,
    context: Optional[Context] = None,
) -> Any:
    """Product of matrices that the ranks of a grid hold in blocks: C = alpha * op(A) @ op(B) + beta * C.

    grid: a communicator of Create_cart with two dimensions. All its ranks make the call.
    desca, descb, descc: nine integers each, as hx.mpi.descriptor returns them and ScaLAPACK has them. CTXT and LLD are
    not read: an array knows how far its columns are apart.
    a, b: float32, this rank's parts of A and B, of local_shape(desca, grid) and local_shape(descb, grid). They are
    copied unless their columns are contiguous (Fortran order).
    out: the same for C, or None for a new array. Its columns have to be contiguous.
    beta: with 0 the old out is not read.
    trans_a, trans_b: whether op transposes.
    sub_a, sub_b, sub_c: two slices of the whole matrix each, as numpy.s_[2:9, :]: the submatrix that is A, B or C.
    Elements of out that are not in that of C stay as they are; in a new array they are 0. The submatrices may be of
    one array, if that of C has no element in common with the others.
    Returns out, whose submatrix has the bits of hx.matmul of the whole submatrices.
    TypeError: another dtype, or an argument of another type. hx.InvalidArgument: shapes, descriptors or strides do
    not fit, they differ between ranks, or C overlaps A or B; nothing is written. After other errors out is
    unspecified.
    """
    handle = handle_of(grid)
    with preparing(handle):
        of_a, of_b, of_c = (_numbers(*row, grid) for row in (("desca", desca), ("descb", descb), ("descc", descc)))
        in_a, in_b, in_c = _sub("sub_a", sub_a, of_a), _sub("sub_b", sub_b, of_b), _sub("sub_c", sub_c, of_c)
        letters = _letter("trans_a", trans_a), _letter("trans_b", trans_b)
        sizes = _sizes(in_a, in_b, in_c, trans_a, trans_b)
        alpha, beta = _number("alpha", alpha), _number("beta", beta)
        x, y = (_checked(*row, grid) for row in (("a", a, of_a), ("b", b, of_b)))
        x, y = (array if _leading(array) else np.array(array, order="F") for array in (x, y))
        z = _output(out, of_c, grid, beta)
        call = _native.Call(context)
        operands = (*_part(x, of_a, in_a), *_part(y, of_b, in_b))
        arguments = (*letters, *sizes, alpha, *operands, beta, *_part(z, of_c, in_c))
    check(LIBRARY.hx_mpi_gemm(handle, call.context, *arguments))
    return z if out is None else out
