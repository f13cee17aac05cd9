# SPDX-License-Identifier: Apache-2.0
"""hx: reductions and matrix products of NumPy arrays on the CPU and the GPU at once, with the same bits whatever does
the work.

Functions take arrays of float32, int32 or uint32: NumPy's, and whatever else has the buffer protocol, DLPack or
__array__. They return NumPy scalars and arrays. docs/PYTHON.md is the guide, docs/ARITHMETIC.md defines every bit.
"""
try:
    from . import _native
except ImportError as error:
    if "cannot open shared object" in str(error):  # libhx.so needs libraries of the system
        raise ImportError(f"{error}: hx needs hwloc and libgomp (Debian: libhwloc15 libgomp1)") from error
    raise
from ._context import Context, Device, DeviceReport, Report, devices, ready, reports
from ._derived import mean, norm, std, var
from ._kernel import Kernel
from ._memory import Advice, Registration, array, empty, from_dlpack, register, zeros
from ._native import (
    advise,
    argmax,
    argmin,
    default_context,
    dot,
    matmul,
    max,
    min,
    modified,
    prod,
    reduce_soa,
    sum,
    sum_abs,
    sum_squares,
    sync,
    vdot,
    vecdot,
)
from ._support import (
    DeviceFailed,
    Error,
    InternalError,
    InvalidArgument,
    InvalidConfig,
    OutOfMemory,
    Unsupported,
)
from ._task import Task, matmul_async, reduce_async

__version__ = _native.version

__all__ = [
    "Advice",
    "Context",
    "Device",
    "DeviceFailed",
    "DeviceReport",
    "Error",
    "InternalError",
    "InvalidArgument",
    "InvalidConfig",
    "Kernel",
    "OutOfMemory",
    "Registration",
    "Report",
    "Task",
    "Unsupported",
    "advise",
    "argmax",
    "argmin",
    "array",
    "default_context",
    "devices",
    "dot",
    "empty",
    "from_dlpack",
    "matmul",
    "matmul_async",
    "max",
    "mean",
    "min",
    "modified",
    "norm",
    "prod",
    "ready",
    "reduce_async",
    "reduce_soa",
    "register",
    "reports",
    "std",
    "sum",
    "sum_abs",
    "sum_squares",
    "sync",
    "var",
    "vdot",
    "vecdot",
    "zeros",
]
