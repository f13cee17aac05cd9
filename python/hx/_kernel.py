# SPDX-License-Identifier: Apache-2.0
"""User kernels: one expression over the elements of arrays."""
from __future__ import annotations

import re
import struct
from typing import Any, Dict, List, Optional, Tuple

from . import _native
from ._context import Context
from ._support import InvalidArgument

# By hx_type: how struct writes a parameter.
FORMATS = " fiI"
RESERVED = ("self", "operation", "axis", "out", "gpu_share", "context")


def _declared(text: Optional[str]) -> List[Tuple[str, int, bool]]:
    """Name and hx_type of each declaration, and whether it begins with `row`. hx has compiled the text, so it is right."""
    plain = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text or "", flags=re.S)
    words = [part.split() for part in plain.split(",") if part.strip()]
    types = [1 if "float" in w else 3 if "unsigned" in w or "uint32_t" in w else 2 for w in words]
    return [(w[-1], kind, w[0] == "row") for w, kind in zip(words, types)]


class Kernel:
    """An expression over the elements of arrays, in the language of docs/USER_KERNELS.md.

    k = hx.Kernel("fabsf(x - y) * scale", inputs="float x, float y", parameters="float scale")
    k.map(x, y, scale=2)             # numpy.abs(x - y) * numpy.float32(2)
    k.reduce("max", x, y, scale=2)   # hx.max(k.map(x, y, scale=2)), without an array of it

    inputs: type and name of each array's elements: float, int or unsigned; "row float m" is an array with one value for
    each row of the others. parameters: the same of values that all elements share, which map and reduce take by name. A kernel may be used by any number of threads and with any
    context; `context` is only needed to compile it. hx.InvalidArgument: the source is wrong, and the text has line and
    column: "text 1:7: ...".
    """

    __slots__ = ("_kernel", "_inputs", "_parameters")

    def __init__(
        self, text: str, inputs: str, parameters: Optional[str] = None, *, context: Optional[Context] = None
    ) -> None:
        self._kernel = _native.Kernel(text, inputs, parameters, context)
        self._inputs = _declared(inputs)
        self._parameters = _declared(parameters)
        if all(per_row for _, _, per_row in self._inputs):
            raise InvalidArgument("inputs names no array with an element for each result")
        for name, _, _ in self._parameters:
            if name in RESERVED:
                raise InvalidArgument(f"parameters: '{name}' is an argument of map and reduce; use another name")

    def _arrays(self, arrays: Tuple[Any, ...]) -> Tuple[Tuple[str, int, bool, Any], ...]:
        if len(arrays) != len(self._inputs):
            raise TypeError(f"{len(arrays)} arrays were given; the kernel has {len(self._inputs)} inputs")
        return tuple(declared + (array,) for declared, array in zip(self._inputs, arrays))

    def _values(self, given: Dict[str, Any]) -> bytes:
        for name in given:
            if name not in (declared for declared, _, _ in self._parameters):
                raise TypeError(f"the kernel has no parameter '{name}'")
        packed = b""
        for name, kind, _ in self._parameters:
            if name not in given:
                raise TypeError(f"the kernel needs parameter '{name}'")
            try:
                packed += struct.pack("=" + FORMATS[kind] + "4x", given[name])
            except (struct.error, OverflowError):
                raise InvalidArgument(f"{name} is {given[name]!r}; it does not fit its type") from None
        return packed

    def map(
        self,
        *arrays: Any,
        out: Any = None,
        gpu_share: Optional[float] = None,
        context: Optional[Context] = None,
        **parameters: Any,
    ) -> Any:
        """out[i] = f(x[i], y[i], ...) of arrays of one shape, which the result has, too; as NumPy's ufuncs. Of NumPy's
        broadcasting there is one case: an array with one axis may be a row that all rows of the others share. An array
        with one value for each row lacks their last axis, or has one element there: of shape (n,) or (n, 1) beside
        (n, m).

        Arrays without gaps whose axes have one order in memory are taken as they lie, and a new result lies so, too.
        Otherwise those whose rows are not C-contiguous and equally far apart are copied, and such an out is refused.
        out may be one of the arrays.
        TypeError: a dtype that differs from the kernel's, a parameter that is missing or unknown.
        hx.InvalidArgument: shapes differ, out overlaps an array in part, or a parameter does not fit its type.
        """
        values = self._values(parameters)
        return self._kernel.map(self._arrays(arrays), values, out, gpu_share, context)

    def reduce(
        self,
        operation: str,
        *arrays: Any,
        axis: Optional[int] = None,
        gpu_share: Optional[float] = None,
        context: Optional[Context] = None,
        **parameters: Any,
    ) -> Any:
        """The reduction of map(*arrays), in C order, without an array of it.

        operation: sum, prod, min, max, argmin, argmax, sum_abs or sum_squares. The result has the type and the bits of
        hx's function of that name. axis: the last one, for a result of each row; without it, no row may be shared
        or have a value of its own.
        hx.InvalidArgument: as for map, for another axis, and for min, max, argmin, argmax of no element.
        """
        values = self._values(parameters)
        return self._kernel.reduce(operation, self._arrays(arrays), values, axis, gpu_share, context)
