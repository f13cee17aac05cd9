# SPDX-License-Identifier: Apache-2.0
from typing import (
    Any,
    Dict,
    Generic,
    Iterable,
    List,
    Optional,
    Protocol,
    SupportsIndex,
    Tuple,
    TypeVar,
    Union,
    final,
    overload,
)

import numpy as np
from numpy.typing import NDArray

from . import _context
from ._support import Number

# An array of float32, int32 or uint32: NumPy's, or an object with the buffer protocol, DLPack or __array__.
_Array = Any
_Axis = Union[None, SupportsIndex, Tuple[SupportsIndex, ...]]
_Out = TypeVar("_Out")
_T = TypeVar("_T")

version: str

class Context:
    closed: bool
    def __new__(cls, settings: Dict[str, str], small_stay: bool, may_map: bool) -> Any: ...
    def close(self) -> None: ...
    def _devices(self) -> List[Any]: ...
    def _ready(self) -> None: ...

@final
class Block(bytearray):  # has the buffer protocol, which has no type before Python 3.12
    def __new__(cls, context: Optional[Context], count: int) -> Block: ...

@final
class Registration:
    def __new__(cls, context: Optional[Context], a: _Array) -> Registration: ...
    def unregister(self) -> None: ...

@final
class View:
    def __new__(cls, capsule: Any) -> View: ...

class Kernel:
    def __new__(
        cls,
        text: str,
        inputs: Optional[str],
        parameters: Optional[str],
        outputs: Optional[str],
        context: Optional[Context],
        declared_inputs: Tuple[Tuple[str, int, bool], ...],
        declared_parameters: Tuple[Tuple[str, int, bool], ...],
        counts: bool,
    ) -> Any: ...
    def map(
        self,
        *arrays: _Array,
        out: Any = None,
        gpu_share: Optional[Number] = None,
        context: Optional[_context.Context] = None,
        **parameters: Any,
    ) -> Any: ...
    def reduce(
        self,
        operation: str,
        /,
        *arrays: _Array,
        axis: Optional[SupportsIndex] = None,
        gpu_share: Optional[Number] = None,
        context: Optional[_context.Context] = None,
        **parameters: Any,
    ) -> Any: ...

@final
class Call:
    context: int
    def __new__(cls, context: Optional[Context]) -> Call: ...
    def reduction(self, operation: str, a: _Array, b: Any, vectors: bool, gpu_share: Optional[Number]) -> int: ...
    def value(self) -> np.number[Any]: ...

@final
class Task(Generic[_T]):
    def done(self) -> bool: ...
    def wait(self) -> _T: ...
    def report(self) -> Tuple[Any, ...]: ...

class _Reduction(Protocol):  # each is a function; this is its type
    @overload
    def __call__(
        self,
        a: _Array,
        axis: _Axis = None,
        out: None = None,
        keepdims: bool = False,
        *,
        gpu_share: Optional[Number] = None,
        context: Optional[Context] = None,
    ) -> Any: ...
    @overload
    def __call__(
        self,
        a: _Array,
        axis: _Axis,
        out: _Out,
        keepdims: bool = False,
        *,
        gpu_share: Optional[Number] = None,
        context: Optional[Context] = None,
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        a: _Array,
        axis: _Axis = None,
        *,
        out: _Out,
        keepdims: bool = False,
        gpu_share: Optional[Number] = None,
        context: Optional[Context] = None,
    ) -> _Out: ...

def default_context() -> _context.Context: ...
def _set_report_list(rows: Optional[List[Any]]) -> None: ...

sum: _Reduction
prod: _Reduction
min: _Reduction
max: _Reduction
argmin: _Reduction
argmax: _Reduction
sum_abs: _Reduction
sum_squares: _Reduction

def dot(
    a: _Array, b: _Array, *, gpu_share: Optional[Number] = None, context: Optional[Context] = None
) -> np.number[Any]: ...
def vdot(
    a: _Array, b: _Array, *, gpu_share: Optional[Number] = None, context: Optional[Context] = None
) -> np.number[Any]: ...
def vecdot(
    a: _Array,
    b: _Array,
    axis: SupportsIndex = -1,
    *,
    gpu_share: Optional[Number] = None,
    context: Optional[Context] = None,
) -> Any: ...
def reduce_soa(
    fields: Iterable[Tuple[Any, ...]], *, gpu_share: Optional[Number] = None, context: Optional[Context] = None
) -> List[Any]: ...
@overload
def matmul(  # type: ignore[misc]  # None is not an _Out
    a: _Array,
    b: _Array,
    out: None = None,
    alpha: Number = 1,
    beta: Number = 0,
    *,
    gpu_share: Optional[Number] = None,
    context: Optional[Context] = None,
) -> NDArray[np.float32]: ...
@overload
def matmul(
    a: _Array,
    b: _Array,
    out: _Out,
    alpha: Number = 1,
    beta: Number = 0,
    *,
    gpu_share: Optional[Number] = None,
    context: Optional[Context] = None,
) -> _Out: ...
def matmul_async(
    a: _Array,
    b: _Array,
    out: Any,
    alpha: Number,
    beta: Number,
    *,
    gpu_share: Optional[Number] = None,
    context: Optional[Context] = None,
) -> Task[NDArray[np.float32]]: ...
def reduce_async(
    operation: str, a: _Array, b: _Array, *, gpu_share: Optional[Number] = None, context: Optional[Context] = None
) -> Task[np.number[Any]]: ...
def advise(a: _Array, advice: int, *, context: Optional[Context] = None) -> None: ...
def modified(a: _Array, *, context: Optional[Context] = None) -> None: ...
def sync(a: _Array, *, context: Optional[Context] = None) -> None: ...
