# SPDX-License-Identifier: Apache-2.0
"""Products and reductions in the background."""
from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generator, Generic, Optional, Tuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._context import Context, Report
from ._support import Number

T = TypeVar("T")

_WAITERS = 4  # hx begins tasks in the order in which they came, so few threads wait for any number of them
_pool: Optional[Tuple[int, ThreadPoolExecutor]] = None


def _waiters() -> ThreadPoolExecutor:
    """The threads of this process that wait for tasks. asyncio's own do its look-ups of names and its files."""
    global _pool
    if _pool is None or _pool[0] != os.getpid():
        _pool = os.getpid(), ThreadPoolExecutor(_WAITERS, "hx-wait")
    return _pool[1]


class Task(Generic[T]):
    """A call in the background. It holds its arrays until it has ended; nothing may write to them before.

    `await task` waits in an asyncio program without blocking the event loop. A task that is dropped is waited for.
    """

    __slots__ = ("_task",)

    def __init__(self, task: _native.Task[T]) -> None:
        self._task = task

    def done(self) -> bool:
        """Whether wait() would return at once."""
        return self._task.done()

    def wait(self) -> T:
        """Wait for the end, and return what the call without _async returns, or raise what it raises.

        May be called more than once, and by several threads.
        """
        return self._task.wait()

    @property
    def report(self) -> Report:
        """What the call did; waits for its end."""
        return Report._of(self._task.report())

    def __await__(self) -> Generator[Any, None, T]:
        return asyncio.get_running_loop().run_in_executor(_waiters(), self.wait).__await__()


def matmul_async(
    a: Any,
    b: Any,
    out: Any = None,
    alpha: Number = 1,
    beta: Number = 0,
    *,
    gpu_share: Optional[Number] = None,
    context: Optional[Context] = None,
) -> Task[NDArray[np.float32]]:
    """Start hx.matmul in the background. Wrong arguments raise at once."""
    return Task(_native.matmul_async(a, b, out, alpha, beta, gpu_share=gpu_share, context=context))


def reduce_async(
    operation: str,
    a: Any,
    b: Any = None,
    *,
    gpu_share: Optional[Number] = None,
    context: Optional[Context] = None,
) -> Task[np.number[Any]]:
    """Start a reduction of all elements in the background: reduce_async("sum", a), reduce_async("dot", a, b).

    operation: sum, prod, min, max, argmin, argmax, sum_abs, sum_squares or dot. Wrong arguments raise at once.
    """
    return Task(_native.reduce_async(operation, a, b, gpu_share=gpu_share, context=context))
