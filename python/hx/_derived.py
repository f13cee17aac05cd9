# SPDX-License-Identifier: Apache-2.0
"""Statistics, built on the reductions. Results are rounded once, from float64."""
from __future__ import annotations

import math
import operator
from typing import Any, Optional, SupportsIndex, Tuple, Union

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._context import Context
from ._support import HX_DTYPES, InvalidArgument, as_array, dtype_error, is_buffer

Axis = Union[None, SupportsIndex, Tuple[SupportsIndex, ...]]


def _array(a: Any, name: str = "a") -> NDArray[Any]:
    """a as a NumPy array, without a copy if it is an array of any kind."""
    array = a if isinstance(a, np.ndarray) else np.asarray(a if is_buffer(a) else as_array(name, a))
    return array if array.dtype in HX_DTYPES else dtype_error(name, array)


def _size(array: NDArray[Any], axis: Axis) -> int:
    """The number of elements of each line."""
    count = array.size if axis is None else 1
    for i in map(operator.index, () if axis is None else axis if isinstance(axis, tuple) else (axis,)):
        if not -array.ndim <= i < array.ndim:
            raise InvalidArgument(f"axis is {i}; a has {array.ndim} dimensions")
        count *= array.shape[i]
    return count


def _count(array: NDArray[Any], axis: Axis, what: str) -> int:
    """The same, of which there have to be some."""
    count = _size(array, axis)
    if count == 0:
        raise InvalidArgument(f"{what} of no element: a has shape {array.shape}")
    return count


def _wide(value: Any) -> Any:
    """A scalar or an array as float64. A scalar's own astype takes several times as long."""
    return value.astype(np.float64) if isinstance(value, np.ndarray) else np.float64(value)


def _rounded(value: Any, array: NDArray[Any]) -> Any:
    """A scalar or an array of float64 as float32 if the array is of float32."""
    dtype = np.float32 if array.dtype.type is np.float32 else np.float64
    return value.astype(dtype)[()] if isinstance(value, np.ndarray) else dtype(value)


def mean(a: Any, axis: Axis = None, keepdims: bool = False, *, context: Optional[Context] = None) -> Any:
    """The sum divided by the number of elements.

    float32 gives float32, integers give float64. hx.InvalidArgument: there is no element.
    """
    array = _array(a)
    count = _count(array, axis, "mean")
    total = _native.sum(array, axis, keepdims=keepdims, context=context)
    if isinstance(total, np.ndarray) and total.dtype.type is np.float32 and count <= 2**24:
        # float32 has such a count, and then a quotient rounded to float64 and again to float32 is the one rounded once:
        # float64 has more than twice its digits (Figueroa, 1995).
        return np.divide(total, np.float32(count), out=total)
    return _rounded(_wide(total) / count, array)


def _check_squares(array: NDArray[Any], count: int, context: Optional[Context]) -> None:
    """InvalidArgument: sums of `count` squares of integers may not fit in 64 bits, which would then be wrong."""
    low, high = _native.reduce_soa([("min", array), ("max", array)], context=context) if array.size else (0, 0)
    limit = 2**63 if array.dtype == np.int32 else 2**64
    if count * max(-int(low), int(high)) ** 2 >= limit:
        raise InvalidArgument(f"the sum of squares may exceed 64 bits (a is {array.dtype}); pass a as float32")


def _variance_of_integers(array: NDArray[Any], axis: Axis, count: int, ddof: float, context: Optional[Context]) -> Any:
    """(n sum(x^2) - sum(x)^2) / (n (n - ddof)), exact up to the division."""
    _check_squares(array, count, context)
    sums = np.asarray(_native.sum(array, axis, keepdims=True, context=context))
    squares = np.asarray(_native.sum_squares(array, axis, keepdims=True, context=context))
    return _quotients(count, sums, squares, count * (count - ddof))


def _quotients(count: int, sums: NDArray[Any], squares: NDArray[Any], divisor: Any) -> Any:
    """(count * squares - sums^2) / divisor, rounded once."""

    def by_objects(sums: NDArray[Any], squares: NDArray[Any]) -> Any:
        """Python's integers do not overflow, and their quotients are rounded once."""
        exact_sums, exact_squares = sums.astype(object), squares.astype(object)
        return (count * exact_squares - exact_sums * exact_sums) / divisor

    if squares.size < 32:  # less work than looking at the bounds of NumPy's arithmetic
        return by_objects(sums, squares)
    # The square of a sum is at most count times the sum of squares (Cauchy and Schwarz), so that this bounds both.
    largest = count * int(squares.max(initial=0))
    if largest >= 2**63 or divisor > 2**53:
        return by_objects(sums, squares)
    numerators = count * squares.astype(np.int64) - sums.astype(np.int64) ** 2
    quotients = np.asarray(numerators / divisor, np.float64)
    inexact = numerators > 2**53  # float64 may not have such a numerator, and would be rounded twice
    if inexact.any():
        quotients[inexact] = by_objects(sums[inexact], squares[inexact])
    return quotients


def _variance_of_floats(array: NDArray[Any], axis: Axis, count: int, ddof: float, context: Optional[Context]) -> Any:
    """Two passes. The second one corrects for the rounding of the mean (Chan, Golub and LeVeque, 1983)."""
    center = mean(array, axis, axis is not None, context=context)
    away = np.subtract(array, center, out=np.empty_like(array))
    sums = _wide(_native.sum(away, axis, keepdims=axis is not None, context=context))
    squares = _wide(_native.sum_squares(away, axis, keepdims=axis is not None, context=context))
    return (squares - sums * sums / count) / (count - ddof)


def _variance(a: Any, axis: Axis, ddof: float, keepdims: bool, context: Optional[Context]) -> Tuple[Any, NDArray[Any]]:
    """In float64, with the array."""
    array = np.asarray(_array(a))  # a subclass may have its own subtraction
    count = _count(array, axis, "variance")
    if not count > ddof:
        raise InvalidArgument(f"ddof is {ddof}; it has to be less than the number of elements, {count}")
    of = _variance_of_floats if array.dtype == np.float32 else _variance_of_integers
    value = np.asarray(of(array, axis, count, ddof, context), np.float64)
    if axis is None:
        return value.reshape((1,) * array.ndim if keepdims else ()), array
    return value if keepdims else value.squeeze(axis), array


def var(
    a: Any, axis: Axis = None, ddof: float = 0, keepdims: bool = False, *, context: Optional[Context] = None
) -> Any:
    """The variance: the mean of the squared distances from the mean, with n - ddof as divisor.

    float32 gives float32 and needs an array of the same size for the distances; integers give float64, exact up to
    one rounding. hx.InvalidArgument: there are not more than ddof elements, or sums of integers exceed 64 bits.
    """
    return _rounded(*_variance(a, axis, ddof, keepdims, context))


def std(
    a: Any, axis: Axis = None, ddof: float = 0, keepdims: bool = False, *, context: Optional[Context] = None
) -> Any:
    """The square root of the variance; arguments and errors as for hx.var."""
    value, array = _variance(a, axis, ddof, keepdims, context)
    return _rounded(np.sqrt(value), array)


def norm(a: Any, axis: Axis = None, keepdims: bool = False, *, context: Optional[Context] = None) -> Any:
    """The square root of the sum of squares, of all elements or along an axis.

    float32 gives float32, and infinity if the sum of squares overflows; integers give float64. hx.InvalidArgument: sums
    of squares of integers may exceed 64 bits.
    """
    array = _array(a)
    if array.dtype.type is not np.float32:
        _check_squares(array, _size(array, axis), context)
    squares = _native.sum_squares(array, axis, keepdims=keepdims, context=context)
    wide = _wide(squares)
    return _rounded(np.sqrt(wide) if isinstance(wide, np.ndarray) else math.sqrt(wide), array)
