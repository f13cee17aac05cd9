# SPDX-License-Identifier: Apache-2.0
from typing import Any, Dict, Generic, Iterable, List, Optional, Tuple, TypeVar, Union, overload

import numpy as np
from numpy.typing import NDArray

from . import _context

# An array of float32, int32 or uint32: NumPy's, or an object with the buffer protocol, DLPack or __array__.
Array = Any
Axis = Union[None, int, Tuple[int, ...]]
Out = TypeVar("Out")
T = TypeVar("T")

version: str

class Context:
    closed: bool
    def __new__(cls, settings: Dict[str, str], small_stay: bool, may_map: bool) -> Any: ...
    def close(self) -> None: ...
    def _devices(self) -> List[Any]: ...
    def _ready(self) -> None: ...

class Block(bytearray):  # has the buffer protocol, which has no type before Python 3.12
    def __new__(cls, context: Optional[Context], count: int) -> Block: ...

class Registration:
    def __new__(cls, context: Optional[Context], a: Array) -> Registration: ...
    def unregister(self) -> None: ...

class View:
    def __new__(cls, capsule: Any) -> View: ...

class Kernel:
    def __new__(
        cls,
        text: str,
        inputs: Optional[str],
        parameters: Optional[str],
        context: Optional[Context],
        declared_inputs: Tuple[Tuple[str, int, bool], ...],
        declared_parameters: Tuple[Tuple[str, int, bool], ...],
        counts: bool,
    ) -> Any: ...
    def map(
        self,
        *arrays: Array,
        out: Any = None,
        gpu_share: Optional[float] = None,
        context: Optional[_context.Context] = None,
        **parameters: Any,
    ) -> Any: ...
    def reduce(
        self,
        operation: str,
        /,
        *arrays: Array,
        axis: Optional[int] = None,
        gpu_share: Optional[float] = None,
        context: Optional[_context.Context] = None,
        **parameters: Any,
    ) -> Any: ...

class Call:
    context: int
    def __new__(cls, context: Optional[Context]) -> Call: ...
    def reduction(self, operation: str, a: Array, b: Any, vectors: bool, gpu_share: Optional[float]) -> int: ...
    def value(self) -> np.generic: ...

class Task(Generic[T]):
    def done(self) -> bool: ...
    def wait(self) -> T: ...
    def report(self) -> Tuple[Any, ...]: ...

def default_context() -> _context.Context: ...
def _set_report_list(rows: Optional[List[Any]]) -> None: ...
@overload
def sum(
    a: Array,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    gpu_share: Optional[float] = None,
    context: Optional[Context] = None,
) -> Any: ...
@overload
def sum(
    a: Array,
    axis: Axis,
    out: Out,
    keepdims: bool = False,
    *,
    gpu_share: Optional[float] = None,
    context: Optional[Context] = None,
) -> Out: ...
@overload
def prod(
    a: Array,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    gpu_share: Optional[float] = None,
    context: Optional[Context] = None,
) -> Any: ...
@overload
def prod(
    a: Array,
    axis: Axis,
    out: Out,
    keepdims: bool = False,
    *,
    gpu_share: Optional[float] = None,
    context: Optional[Context] = None,
) -> Out: ...
@overload
def min(
    a: Array,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    gpu_share: Optional[float] = None,
    context: Optional[Context] = None,
) -> Any: ...
@overload
def min(
    a: Array,
    axis: Axis,
    out: Out,
    keepdims: bool = False,
    *,
    gpu_share: Optional[float] = None,
    context: Optional[Context] = None,
) -> Out: ...
@overload
def max(
    a: Array,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    gpu_share: Optional[float] = None,
    context: Optional[Context] = None,
) -> Any: ...
@overload
def max(
    a: Array,
    axis: Axis,
    out: Out,
    keepdims: bool = False,
    *,
    gpu_share: Optional[float] = None,
    context: Optional[Context] = None,
) -> Out: ...
@overload
def argmin(
    a: Array,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    gpu_share: Optional[float] = None,
    context: Optional[Context] = None,
) -> Any: ...
@overload
def argmin(
    a: Array,
    axis: Axis,
    out: Out,
    keepdims: bool = False,
    *,
    gpu_share: Optional[float] = None,
    context: Optional[Context] = None,
) -> Out: ...
@overload
def argmax(
    a: Array,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    gpu_share: Optional[float] = None,
    context: Optional[Context] = None,
) -> Any: ...
@overload
def argmax(
    a: Array,
    axis: Axis,
    out: Out,
    keepdims: bool = False,
    *,
    gpu_share: Optional[float] = None,
    context: Optional[Context] = None,
) -> Out: ...
@overload
def sum_abs(
    a: Array,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    gpu_share: Optional[float] = None,
    context: Optional[Context] = None,
) -> Any: ...
@overload
def sum_abs(
    a: Array,
    axis: Axis,
    out: Out,
    keepdims: bool = False,
    *,
    gpu_share: Optional[float] = None,
    context: Optional[Context] = None,
) -> Out: ...
@overload
def sum_squares(
    a: Array,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    gpu_share: Optional[float] = None,
    context: Optional[Context] = None,
) -> Any: ...
@overload
def sum_squares(
    a: Array,
    axis: Axis,
    out: Out,
    keepdims: bool = False,
    *,
    gpu_share: Optional[float] = None,
    context: Optional[Context] = None,
) -> Out: ...
def dot(a: Array, b: Array, *, gpu_share: Optional[float] = None, context: Optional[Context] = None) -> np.generic: ...
def vdot(a: Array, b: Array, *, gpu_share: Optional[float] = None, context: Optional[Context] = None) -> np.generic: ...
def vecdot(
    a: Array, b: Array, axis: int = -1, *, gpu_share: Optional[float] = None, context: Optional[Context] = None
) -> Any: ...
def reduce_soa(
    fields: Iterable[Tuple[Any, ...]], *, gpu_share: Optional[float] = None, context: Optional[Context] = None
) -> List[Any]: ...
@overload
def matmul(  # type: ignore[misc]  # None is not an Out
    a: Array,
    b: Array,
    out: None = None,
    alpha: float = 1,
    beta: float = 0,
    *,
    gpu_share: Optional[float] = None,
    context: Optional[Context] = None,
) -> NDArray[np.float32]: ...
@overload
def matmul(
    a: Array,
    b: Array,
    out: Out,
    alpha: float = 1,
    beta: float = 0,
    *,
    gpu_share: Optional[float] = None,
    context: Optional[Context] = None,
) -> Out: ...
def matmul_async(
    a: Array,
    b: Array,
    out: Any,
    alpha: float,
    beta: float,
    *,
    gpu_share: Optional[float] = None,
    context: Optional[Context] = None,
) -> Task[NDArray[np.float32]]: ...
def reduce_async(
    operation: str, a: Array, b: Array, *, gpu_share: Optional[float] = None, context: Optional[Context] = None
) -> Task[np.generic]: ...
def advise(a: Array, advice: int, *, context: Optional[Context] = None) -> None: ...
def modified(a: Array, *, context: Optional[Context] = None) -> None: ...
def sync(a: Array, *, context: Optional[Context] = None) -> None: ...
