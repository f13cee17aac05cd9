# SPDX-License-Identifier: Apache-2.0
"""libhx_mpi, which is found, checked and called by ctypes: the extension module is compiled without any MPI."""
from __future__ import annotations

import contextlib
import ctypes
import os
import re
from typing import Any, Iterator, Optional

from mpi4py import MPI

from . import _native
from ._support import ERRORS, InvalidArgument, OutOfMemory

NAME = "libhx_mpi.so.0"  # what CMake installs
HELP = "hx.mpi needs libhx_mpi, built for the MPI of mpi4py; HX_MPI_LIBRARY is its path (docs/MPI.md)"

# MPI_Comm is an int in MPICH and what follows its ABI, and a pointer in Open MPI.
Handle = ctypes.c_int if MPI._sizeof(MPI.Comm) == ctypes.sizeof(ctypes.c_int) else ctypes.c_void_p


def _load(path: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"{error}: {HELP}") from error


def _address(library: ctypes.CDLL, function: str) -> Optional[int]:
    """Of a function in a library, or in one that it was linked with."""
    try:
        return ctypes.cast(getattr(library, function), ctypes.c_void_p).value
    except AttributeError:
        return None


def _mpi_of(library: ctypes.CDLL) -> str:
    """What the MPI that a library was linked with calls itself."""
    if _address(library, "MPI_Get_library_version") is None:
        return "an unknown MPI"
    text, length = ctypes.create_string_buffer(1 << 16), ctypes.c_int()
    library.MPI_Get_library_version(text, ctypes.byref(length))
    first = re.split("[\n,]", text.value.decode(errors="replace"))[0]
    return " ".join(first.split())


def _check(library: ctypes.CDLL, path: str) -> None:
    """Refuses a library that would call another MPI than mpi4py, or another copy of libhx than the extension.

    Handles of one MPI mean nothing to another, and a context belongs to the copy of libhx that has made it.
    """
    for function in ("hx_mpi_reduce", "hx_mpi_gemm", "hx_mpi_refuse", "hx_mpi_error_detail"):
        if _address(library, function) is None:
            raise ImportError(f"{path} has no function {function}: {HELP}")
    mine, extension = ctypes.CDLL(MPI.__file__), ctypes.CDLL(_native.__file__)
    if _address(library, "MPI_Get_library_version") != _address(mine, "MPI_Get_library_version"):
        raise ImportError(f"{path} is built for {_mpi_of(library)}, and mpi4py uses {_mpi_of(mine)}: {HELP}")
    if _address(library, "hx_offload") != _address(extension, "hx_offload"):
        raise ImportError(f"{path} uses another copy of libhx than {_native.__file__}: link it with libhx.so.0")


def _declare(library: ctypes.CDLL) -> None:
    number, pointer = ctypes.c_int, ctypes.c_void_p
    library.hx_mpi_reduce.argtypes = [Handle, pointer, pointer]
    matrix = [pointer, number, number, pointer]
    library.hx_mpi_gemm.argtypes = [Handle, pointer, ctypes.c_char, ctypes.c_char, *[number] * 3, ctypes.c_float]
    library.hx_mpi_gemm.argtypes += [*matrix, *matrix, ctypes.c_float, *matrix]
    library.hx_mpi_refuse.argtypes = [Handle, number, ctypes.c_char_p]
    library.hx_mpi_error_detail.restype = ctypes.c_char_p


def _open() -> ctypes.CDLL:
    path = os.environ.get("HX_MPI_LIBRARY") or NAME
    library = _load(path)
    _check(library, path)
    _declare(library)
    return library


LIBRARY = _open()


def handle_of(comm: MPI.Comm) -> Any:
    """The handle that C functions take."""
    if not isinstance(comm, MPI.Comm):
        raise TypeError(f"comm is {comm!r}; it is a communicator of mpi4py")
    return Handle.from_address(MPI._addressof(comm))


def _status_of(error: Exception) -> int:
    """The hx_status by which other ranks get an error."""
    for status, kind in enumerate(ERRORS[1:], start=1):
        if isinstance(error, kind):
            return status
    return ERRORS.index(OutOfMemory if isinstance(error, MemoryError) else InvalidArgument)


@contextlib.contextmanager
def preparing(handle: Any) -> Iterator[None]:
    """What a rank does before its collective call. An exception is told to the other ranks, which raise one as well."""
    try:
        yield
    except Exception as error:
        LIBRARY.hx_mpi_refuse(handle, _status_of(error), str(error).encode(errors="replace"))
        raise


def check(status: int) -> None:
    """Raises the exception of a status other than HX_OK."""
    if status:
        raise ERRORS[status](LIBRARY.hx_mpi_error_detail().decode(errors="replace"))
