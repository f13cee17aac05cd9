# SPDX-License-Identifier: Apache-2.0
"""User kernels: one expression over the elements of arrays."""
from __future__ import annotations

import re
from typing import Optional, Tuple, Type, cast

from . import _native
from ._context import Context
from ._support import InvalidArgument

RESERVED = ("self", "operation", "axis", "out", "gpu_share", "context")


def _declared(text: Optional[str]) -> Tuple[Tuple[str, int, bool], ...]:
    """Name and hx_type of each declaration, and whether it begins with `row`; anything of a text that hx refuses."""
    plain = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text or "", flags=re.S)
    words = [part.split() for part in plain.split(",") if part.strip()]
    types = [1 if "float" in w else 3 if "unsigned" in w or "uint32_t" in w else 2 for w in words]
    return tuple((w[-1], kind, w[0] == "row") for w, kind in zip(words, types))


class Kernel(_native.Kernel):
    """An expression over the elements of arrays, in the language of docs/USER_KERNELS.md.

    k = hx.Kernel("fabsf(x - y) * scale", inputs="float x, float y", parameters="float scale")
    k.map(x, y, scale=2)             # numpy.abs(x - y) * numpy.float32(2)
    k.reduce("max", x, y, scale=2)   # hx.max(k.map(x, y, scale=2)), without an array of it

    inputs: type and name of each array's elements: float, int or unsigned; "row float m" is an array with one value for
    each row of the others. parameters: the same of values that all elements share, which map and reduce take by name. A
    kernel may be used by any number of threads and with any context; `context` is only needed to compile it. Kernels
    can be pickled. hx.InvalidArgument: the source is wrong, and the text has line and column: "text 1:7: ...".
    """

    __slots__ = ("_source",)
    _source: Tuple[str, str, Optional[str]]

    def __new__(
        cls, text: str, inputs: str, parameters: Optional[str] = None, *, context: Optional[Context] = None
    ) -> Kernel:
        for what, source in (("text", text), ("inputs", inputs), ("parameters", parameters or "")):
            if not isinstance(source, str):
                raise TypeError(
                    f"{what} is {type(source).__name__}; it is a string, as 'x * a', 'float x' and 'float a'"
                )
        values = _declared(parameters)
        for name, _, _ in values:
            if name in RESERVED:
                raise InvalidArgument(f"parameters: '{name}' is an argument of map and reduce; use another name")
        kernel = cast(Kernel, super().__new__(cls, text, inputs, parameters, context, _declared(inputs), values))
        kernel._source = text, inputs, parameters
        return kernel

    def __reduce__(self) -> Tuple[Type[Kernel], Tuple[str, str, Optional[str]]]:
        """Copies and pickles are compiled again, by the context that is used without context=."""
        return type(self), self._source
