# SPDX-License-Identifier: Apache-2.0
"""Reductions and matrix products of what the ranks of an MPI program hold in parts, with communicators of mpi4py.

hx.mpi.sum(MPI.COMM_WORLD, x)  # the bits of hx.sum of the whole array on one machine

All ranks of the communicator call a function, in the same order. If one of them raises an exception, all do: it raises
that of the function on one machine, and the others an hx.Error whose text begins with its number. Importing this module
imports mpi4py.MPI, and is an ImportError if there is no libhx_mpi for its MPI. docs/MPI.md is the guide.
"""
from __future__ import annotations

from typing import Any, Optional, Protocol

import numpy as np
from mpi4py import MPI

from . import _native
from ._context import Context
from ._mpi_library import LIBRARY, check, handle_of, preparing
from ._mpi_matmul import descriptor, local_indices, local_shape, matmul
from ._support import Number

__all__ = [
    "argmax",
    "argmin",
    "descriptor",
    "dot",
    "local_indices",
    "local_shape",
    "matmul",
    "max",
    "min",
    "prod",
    "sum",
    "sum_abs",
    "sum_squares",
    "vdot",
]


class Reduction(Protocol):
    """A reduction of one array."""

    def __call__(
        self, comm: MPI.Comm, a: Any, *, gpu_share: Optional[Number] = None, context: Optional[Context] = None
    ) -> np.number[Any]:
        ...


def _reduce(
    operation: str, comm: MPI.Comm, a: Any, b: Any, vectors: bool, share: Optional[Number], context: Optional[Context]
) -> np.number[Any]:
    handle = handle_of(comm)
    with preparing(handle):
        call = _native.Call(context)
        task = call.reduction(operation, a, b, vectors, share)
    check(LIBRARY.hx_mpi_reduce(handle, call.context, task))
    return call.value()


def _reduction(name: str, what: str, empty: str = "") -> Reduction:
    """hx.mpi.name."""

    def function(
        comm: MPI.Comm, a: Any, *, gpu_share: Optional[Number] = None, context: Optional[Context] = None
    ) -> np.number[Any]:
        return _reduce(name, comm, a, None, False, gpu_share, context)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{what} of the whole array, of which each rank has a part.

    The whole array is the elements of rank 0 in C order, then those of rank 1, and so on. A part has any shape, or no
    element; it is copied if it is not C-contiguous.
    a: float32, int32 or uint32, of the same dtype on all ranks.
    gpu_share: fraction of this rank's work for devices other than the CPU; None leaves it to hx.
    Returns on every rank the NumPy scalar that hx.{name} returns for the whole array.
    TypeError: another dtype. hx.InvalidArgument: dtypes of ranks differ{empty}.
    """
    return function


_NOTHING = ", or no rank has an element"

sum = _reduction("sum", "Sum")
prod = _reduction("prod", "Product")
min = _reduction("min", "Least element", _NOTHING)
max = _reduction("max", "Greatest element", _NOTHING)
argmin = _reduction("argmin", "Lowest index of a least element, or of the first NaN,", _NOTHING)
argmax = _reduction("argmax", "Lowest index of a greatest element, or of the first NaN,", _NOTHING)
sum_abs = _reduction("sum_abs", "Sum of the absolute values")
sum_squares = _reduction("sum_squares", "Sum of the squares")


def dot(
    comm: MPI.Comm, a: Any, b: Any, *, gpu_share: Optional[Number] = None, context: Optional[Context] = None
) -> np.number[Any]:
    """Sum of a[i] * b[i] of two vectors, of which each rank has parts of equal size; otherwise as hx.mpi.sum."""
    return _reduce("dot", comm, a, b, True, gpu_share, context)


def vdot(
    comm: MPI.Comm, a: Any, b: Any, *, gpu_share: Optional[Number] = None, context: Optional[Context] = None
) -> np.number[Any]:
    """As hx.mpi.dot, of parts of any shape, whose elements are taken in C order."""
    return _reduce("dot", comm, a, b, False, gpu_share, context)
