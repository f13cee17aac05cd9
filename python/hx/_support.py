# SPDX-License-Identifier: Apache-2.0
"""What the extension module calls: exceptions, and the paths that are too rare to be written in C."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NoReturn, SupportsFloat, SupportsIndex, Union

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ._context import Context


# What alpha, beta and gpu_share may be.
Number = Union[SupportsFloat, SupportsIndex]


class Error(Exception):
    """A call of hx failed. Its text is one sentence that names the wrong value."""

    status = "HX_INTERNAL"

    @property
    def detail(self) -> str:
        """The sentence, as hx_error_detail() gives it."""
        return str(self.args[0]) if self.args else ""


class InvalidArgument(Error, ValueError):
    """An argument is wrong. Nothing was written."""

    status = "HX_INVALID_ARGUMENT"


class InvalidConfig(Error, ValueError):
    """A setting or an HX_ variable is wrong; the text starts with NAME=VALUE."""

    status = "HX_INVALID_CONFIG"


class OutOfMemory(Error, MemoryError):
    """The host has no memory left."""

    status = "HX_OUT_OF_MEMORY"


class Unsupported(Error, RuntimeError):
    """This build, this machine or a forked child cannot do it."""

    status = "HX_UNSUPPORTED"


class DeviceFailed(Error, RuntimeError):
    """A device failed with offload="mandatory", or was lost with data that it alone had."""

    status = "HX_DEVICE_FAILED"


class InternalError(Error, RuntimeError):
    """A defect of hx: please report it with the text."""

    status = "HX_INTERNAL"


# By hx_status; 0 is HX_OK.
ERRORS = (Error, InvalidArgument, InvalidConfig, OutOfMemory, Unsupported, DeviceFailed, InternalError)

# By hxpy_cell.
DTYPES = tuple(np.dtype(t) for t in (np.float32, np.int32, np.uint32, np.int64, np.uint64, np.intp))

HX_DTYPES = DTYPES[:3]

empty = np.empty


def empty_like(obj: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """An array with the shape of obj, and with its axes in the order that they have in memory."""
    return np.empty_like(np.asarray(obj), dtype)


def has_dtype(dtype: np.dtype[Any]) -> bool:
    """Whether hx computes with this dtype, in the byte order of the machine."""
    return dtype in HX_DTYPES and dtype.isnative


def dtype_error(name: str, obj: Any) -> NoReturn:
    """Raises the TypeError of an array whose dtype hx does not have."""
    dtype = getattr(obj, "dtype", None)
    if dtype is None:
        dtype = np.asarray(memoryview(obj)).dtype
    raise TypeError(f"{name} is {dtype}; hx has float32, int32, uint32")


def as_array(name: str, obj: Any) -> NDArray[Any]:
    """An object with the buffer protocol over the memory of obj, which has none."""
    is_class = isinstance(obj, type)  # which has the methods of its objects
    if hasattr(obj, "__dlpack__") and not is_class:
        from ._memory import from_dlpack

        return from_dlpack(obj)
    if (hasattr(obj, "__array_interface__") or hasattr(obj, "__array__")) and not is_class:
        return np.asarray(obj)
    raise TypeError(f"{name} is {type(obj).__name__}; hx takes arrays (buffer protocol, DLPack or __array__)")


def copy(obj: Any, order: Literal["C", "K"]) -> NDArray[Any]:
    """A copy without gaps, in C order or ('K') in the order of memory."""
    return np.array(obj, copy=True, order=order)


def is_buffer(obj: Any) -> bool:
    """Whether the object has the buffer protocol."""
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


def check_output(name: str, obj: Any) -> None:
    """TypeError: what is written to an array over the object is not in the object, because that array is a copy. So it
    is of NumPy's scalars, though they have both protocols.
    """
    has_memory = is_buffer(obj) or hasattr(obj, "__dlpack__") or hasattr(obj, "__array_interface__")
    if not has_memory or isinstance(obj, (np.generic, type)):
        kinds = "buffer protocol, DLPack or __array_interface__"
        raise TypeError(f"{name} is {type(obj).__name__}; results are stored in arrays ({kinds})")


def assign(out: Any, result: Any) -> Any:
    """Stores result in out, and returns out."""
    check_output("out", out)
    array = np.asarray(out)
    if array.dtype != result.dtype:
        raise TypeError(f"out is {array.dtype}; the result is {result.dtype}")
    if array.shape != result.shape:
        raise InvalidArgument(f"out has shape {array.shape}; the result has shape {result.shape}")
    if not array.flags.writeable:
        raise InvalidArgument("out is read-only")
    array[...] = result
    return out


def new_context() -> Context:
    """The default context."""
    from ._context import Context

    return Context()
