# SPDX-License-Identifier: Apache-2.0
"""User kernels: one expression over the elements of arrays."""

from __future__ import annotations

import re
from typing import Optional, Set, Tuple, Type, cast

from . import _native
from ._context import Context
from ._support import InvalidArgument

RESERVED = ("self", "operation", "axis", "out", "gpu_share", "context")


def _plain(text: str) -> str:
    """A text without its comments."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def _counts(text: str, names: Set[str]) -> bool:
    """Whether a text uses `index` or `row` for which element is computed: a name is declared, or it is that."""
    plain = _plain(text)
    words = {"index", "row"} & set(re.findall(r"\w+", plain)) - names
    return any(not re.search(rf"\b(?:float|int|unsigned|u?int32_t)\s+{word}\b", plain) for word in words)


def _declared(text: Optional[str]) -> Tuple[Tuple[str, int, bool], ...]:
    """Name and hx_type of each declaration, and whether it begins with `row`; anything of a text that hx refuses."""
    words = [part.split() for part in _plain(text or "").split(",") if part.strip()]
    types = [1 if "float" in w else 3 if "unsigned" in w or "uint32_t" in w else 2 for w in words]
    return tuple((w[-1], kind, w[0] == "row") for w, kind in zip(words, types))


class Kernel(_native.Kernel):
    """An expression over the elements of arrays, in the language of docs/USER_KERNELS.md.

    k = hx.Kernel("fabsf(x - y) * scale", inputs="float x, float y", parameters="float scale")
    k.map(x, y, scale=2)             # numpy.abs(x - y) * numpy.float32(2)
    k.reduce("max", x, y, scale=2)   # hx.max(k.map(x, y, scale=2)), without an array of it

    inputs: type and name of each array's elements: float, int or unsigned; "row float m" is an array with one value for
    each row of the others. Without inputs, map needs out. parameters: the same of values that all elements share, which
    map and reduce take by name. outputs: names of variables of the text, which then has no expression, such as "u, v" of
    "float u = x + y; float v = x - y;"; map then returns a tuple of arrays, and there is no reduce. In the text `index` is the number of the element along the last axis, and `row` that of
    the row, in C order, unless the source declares these names. A kernel may be used by any number of threads and with
    any context; `context` is only needed to compile it. Kernels can be pickled. hx.InvalidArgument: the source is
    wrong, and the text has line and column: "text 1:7: ...".
    """

    __slots__ = ("_source", "__weakref__")
    _source: Tuple[str, str, Optional[str], Optional[str]]

    def __new__(
        cls,
        text: str,
        inputs: str = "",
        parameters: Optional[str] = None,
        outputs: Optional[str] = None,
        *,
        context: Optional[Context] = None,
    ) -> Kernel:
        examples = {"text": "x * a", "inputs": "float x", "parameters": "float a", "outputs": "u, v"}
        for (what, example), source in zip(examples.items(), (text, inputs, parameters or "", outputs or "")):
            if not isinstance(source, str):
                raise TypeError(f"{what} is {type(source).__name__}; it is a string, such as {example!r}")
        arrays, values = _declared(inputs), _declared(parameters)
        for name, _, _ in values:
            if name in RESERVED:
                raise InvalidArgument(f"parameters: '{name}' is an argument of map and reduce; use another name")
        counts = _counts(text, {name for name, _, _ in arrays + values})
        kernel = cast(Kernel, super().__new__(cls, text, inputs, parameters, outputs, context, arrays, values, counts))
        kernel._source = text, inputs, parameters, outputs
        return kernel

    def __repr__(self) -> str:
        text, *others = self._source
        named = zip(("inputs", "parameters", "outputs"), others)
        return f"hx.Kernel({', '.join([repr(text)] + [f'{name}={value!r}' for name, value in named if value])})"

    def __reduce__(self) -> Tuple[Type[Kernel], Tuple[str, str, Optional[str], Optional[str]]]:
        """Copies and pickles are compiled again, by the context that is used without context=."""
        return type(self), self._source
