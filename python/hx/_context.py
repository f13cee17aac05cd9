# SPDX-License-Identifier: Apache-2.0
"""Contexts, devices and reports."""
from __future__ import annotations

import contextlib
import dataclasses
import operator
import os
import threading
from typing import Any, Dict, Iterator, List, Optional, Sequence, SupportsFloat, SupportsIndex, Tuple, Union, cast

import numpy as np

from . import _native
from ._support import InvalidConfig

Setting = Union[str, SupportsIndex, SupportsFloat, "os.PathLike[str]", Sequence[Union[str, SupportsIndex]], None]

DEVICE_KINDS = {1: "cpu", 2: "igpu", 3: "gpu", 4: "opencl-cpu", 5: "sim"}
DEVICE_STATES = {1: "building", 2: "usable", 3: "refused", 4: "lost"}

# With one of these, a call may go to a device however small it is, or is logged.
NOT_SMALL = ("devices", "split", "offload", "min_offload", "sim", "log")


@dataclasses.dataclass(frozen=True)
class DeviceReport:
    """The part of one device in a call."""

    index: int  #: as in devices()
    chunks: int
    units: int  #: elements, or multiply-adds of a product
    busy_seconds: float


@dataclasses.dataclass(frozen=True)
class Report:
    """What a call did (hx_report)."""

    seconds: float
    gpu_share: float  #: the part of the units that devices other than the CPU have done
    joules: float  #: of the processor during the call; NaN if not measured
    bytes_copied: int
    chunks: int
    recovered: int  #: chunks that a device gave back, and the CPU did again
    devices: Tuple[DeviceReport, ...]

    @classmethod
    def _of(cls, row: Tuple[Any, ...]) -> Report:
        members = [*row[:-1], tuple(DeviceReport(*d) for d in row[-1])]
        return cls(*members)


@dataclasses.dataclass(frozen=True)
class Device:
    """A device of a context (hx_device_info)."""

    index: int
    name: str
    vendor: str
    driver: str
    memory: str  #: the memory mode in use
    kind: str  #: cpu, igpu, gpu, opencl-cpu or sim
    state: str  #: building, usable, refused or lost
    compute_units: int
    memory_bytes: int
    why: str  #: why it is in this state, or what it refuses


def _text(name: str, value: Setting) -> str:
    """A setting as hx reads it."""
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, (list, tuple)) and name == "devices":
        if not value:  # as a string it would be no setting, and so all devices
            raise InvalidConfig("devices is an empty list; None leaves the choice to HX_DEVICES")
        return ",".join(str(item) for item in value)
    if not isinstance(value, (bool, np.bool_)):
        with contextlib.suppress(TypeError):  # an array has these methods, even if it is no number
            if isinstance(value, SupportsIndex):
                return str(operator.index(value))
        with contextlib.suppress(TypeError):
            if isinstance(value, SupportsFloat):
                return str(float(value))
    raise TypeError(f"{name} is {value!r}; a setting is a string or a number")


class Context(_native.Context):
    """Devices, settings and memory of calls that are made with context=.

    Each keyword is a member of hx_settings, and overrides the environment variable of its name (HX_DEVICES, HX_SPLIT,
    ...; README.md has the table): Context(devices=["cpu", "gpu"], split=0.5, threads=4). None leaves the variable or
    the default in force. Opening starts no thread and loads no driver. A context may be used by several threads; as a
    context manager it is closed at the end.

    Raises hx.InvalidConfig if a setting or a variable has a wrong value.
    """

    __slots__ = ("_settings", "__weakref__")
    _settings: Dict[str, str]  #: not of the default context, which C code makes

    def __new__(
        cls,
        *,
        devices: Setting = None,
        split: Setting = None,
        schedule: Setting = None,
        chunk: Setting = None,
        threads: Setting = None,
        tile: Setting = None,
        memory: Setting = None,
        min_offload: Setting = None,
        timeout_ms: Setting = None,
        cache_dir: Setting = None,
        objective: Setting = None,
        trace: Setting = None,
        isa: Setting = None,
        offload: Setting = None,
        sim: Setting = None,
        log: Setting = None,
    ) -> Context:
        given = locals().copy()
        settings = {name: _text(name, given[name]) for name in SETTINGS if given[name] is not None}
        small_stay = not any(settings.get(name) or os.environ.get("HX_" + name.upper()) for name in NOT_SMALL)
        # Devices that take reductions may refuse user kernels, which then is an error.
        may_map = (settings.get("offload") or os.environ.get("HX_OFFLOAD") or "").lower() != "mandatory"
        context = cast(Context, super().__new__(cls, settings, small_stay, may_map))
        context._settings = settings
        return context

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in getattr(self, "_settings", {}).items())
        return f"<hx.Context({given}), closed>" if self.closed else f"hx.Context({given})"

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()


SETTINGS = tuple(Context.__new__.__kwdefaults__)


def devices(context: Optional[Context] = None) -> List[Device]:
    """The devices; waits for their discovery. The CPU is number 0. Devices that are not in use are listed, too."""
    result = []
    for row in (context or _native.default_context())._devices():
        members = [*row[:5], DEVICE_KINDS[row[5]], DEVICE_STATES[row[6]], *row[7:]]
        result.append(Device(*members))
    return result


def ready(context: Optional[Context] = None) -> None:
    """Wait until every kernel of every device in use is built and tested."""
    (context or _native.default_context())._ready()


_thread = threading.local()


def _open_blocks() -> List[List[Tuple[Any, ...]]]:
    """The lists of the blocks of reports() that this thread is in, the innermost last."""
    if not hasattr(_thread, "open_blocks"):
        _thread.open_blocks = []
    blocks: List[List[Tuple[Any, ...]]] = _thread.open_blocks
    return blocks


@contextlib.contextmanager
def reports() -> Iterator[List[Report]]:
    """Collect the report of each call that this thread makes in the block, except calls of hx.mpi.

    with hx.reports() as r:
        hx.matmul(a, b)
    print(r[0].gpu_share)

    The list is filled when the block ends. If blocks of several tasks of asyncio overlap on a thread, a call is in the
    list of the block that began last. A call along an axis or of a reversed array may add several reports; background
    tasks have their own (Task.report). Small calls are slower inside, because they are measured.
    """
    rows: List[Tuple[Any, ...]] = []
    result: List[Report] = []
    # Blocks of tasks of asyncio may overlap on one thread: each removes its own list, which need not be the last one.
    open_blocks = _open_blocks()
    open_blocks.append(rows)
    _native._set_report_list(rows)
    try:
        yield result
    finally:
        open_blocks[:] = [other for other in open_blocks if other is not rows]
        _native._set_report_list(open_blocks[-1] if open_blocks else None)
        result.extend(Report._of(row) for row in rows)
