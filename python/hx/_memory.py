# SPDX-License-Identifier: Apache-2.0
"""Arrays in memory of hx, registration, advice and DLPack."""
from __future__ import annotations

import enum
import operator
import sys
from typing import Any, List, Optional, Sequence, SupportsIndex, Union, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import _native
from ._context import Context
from ._support import InvalidArgument, OutOfMemory, has_dtype

Shape = Union[SupportsIndex, Sequence[SupportsIndex]]


class Advice(enum.IntFlag):
    """What hx may do with the memory of an array."""

    READ_MOSTLY = 1  #: devices may keep copies until hx.modified
    RESIDENT = 2  #: results, too, may stay in device memory until hx.sync


def empty(shape: Shape, dtype: DTypeLike = np.float32, *, context: Optional[Context] = None) -> NDArray[Any]:
    """A NumPy array in memory of hx_alloc, which CPU and devices can both reach; its contents are arbitrary.

    The memory is freed when the last array over it is. Any dtype without Python objects is accepted.
    """
    dt = np.dtype(dtype)
    if dt.hasobject:
        raise TypeError(f"dtype is {dt}; memory of devices holds no Python objects")
    try:  # an array has __index__ whatever its shape is
        one = isinstance(shape, SupportsIndex) and getattr(shape, "ndim", 0) == 0
        extents = tuple(map(operator.index, cast(Sequence[SupportsIndex], (shape,) if one else shape)))
    except TypeError:
        raise TypeError(f"shape is {shape!r}; it is an integer, or a sequence of integers") from None
    count = dt.itemsize
    for extent in extents:
        if extent < 0:
            raise InvalidArgument(f"shape is {extents}; extents are not negative")
        count *= extent
    if count > sys.maxsize:
        raise OutOfMemory(f"shape is {extents}; an array of {count} bytes does not fit in memory")
    return np.ndarray(extents, dt, buffer=_native.Block(context, count))


def zeros(shape: Shape, dtype: DTypeLike = np.float32, *, context: Optional[Context] = None) -> NDArray[Any]:
    """As hx.empty, filled with zeros."""
    array = empty(shape, dtype, context=context)
    array.fill(0)
    return array


def array(obj: ArrayLike, dtype: Optional[DTypeLike] = None, *, context: Optional[Context] = None) -> NDArray[Any]:
    """A C-contiguous copy of obj in memory of hx.

    TypeError: dtype is None, and the one of obj is not float32, int32 or uint32.
    """
    source = np.asarray(obj)
    if dtype is None and not has_dtype(source.dtype):
        raise TypeError(f"obj is {source.dtype}; hx has float32, int32, uint32: name one as dtype")
    result = empty(source.shape, source.dtype if dtype is None else dtype, context=context)
    result[...] = source
    return result


def from_dlpack(obj: Any) -> NDArray[Any]:
    """A NumPy array over the memory of a tensor in host memory, without a copy.

    obj: an object with __dlpack__, such as a CPU tensor of PyTorch. The array may be written if the tensor may.
    BufferError: the tensor is in memory of a device, or of a type that NumPy does not have.
    """
    try:
        capsule = obj.__dlpack__(max_version=(1, 0))
    except TypeError:  # from before version 1.0
        capsule = obj.__dlpack__()
    return np.asarray(_native.View(capsule))


class Registration:
    """Arrays that hx knows (hx_register) until unregister() or the end of the with block. It keeps them alive."""

    __slots__ = ("_parts",)

    def __init__(self, arrays: Sequence[Any], advice: int, context: Optional[Context]) -> None:
        self._parts: List[_native.Registration] = []
        if not isinstance(advice, SupportsIndex):
            raise TypeError(f"advice is {advice!r}; it is a sum of hx.Advice.READ_MOSTLY and hx.Advice.RESIDENT, or 0")
        try:
            for item in arrays:
                self._parts.append(_native.Registration(context, item))
                if advice:
                    _native.advise(item, operator.index(advice), context=context)
        except BaseException:
            self.unregister()
            raise

    def unregister(self) -> None:
        """End the registration, once the background tasks that use the arrays have ended."""
        while self._parts:
            self._parts.pop().unregister()

    def __enter__(self) -> Registration:
        return self

    def __exit__(self, *unused: object) -> None:
        self.unregister()


def register(*arrays: Any, advice: int = 0, context: Optional[Context] = None) -> Registration:
    """Make the memory of arrays known to hx, so that devices may pin it; for arrays of several calls.

    with hx.register(a, b, advice=hx.Advice.READ_MOSTLY):
        for x in batches:
            hx.matmul(a, x)

    advice: bits of hx.Advice. hx.InvalidArgument: an array is empty, or its memory overlaps known memory.
    """
    return Registration(arrays, advice, context)
