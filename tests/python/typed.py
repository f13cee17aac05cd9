# SPDX-License-Identifier: Apache-2.0
"""What users write, for the check of types (tools/lint.sh): not run. A line that is wrong says so, and has to be."""
import pathlib
from typing import List

import numpy as np
from numpy.typing import NDArray

import hx

x = np.ones(12, np.float32)
a, b, out = np.ones((4, 5), np.float32), np.ones((5, 6), np.float32), np.empty((4, 6), np.float32)
product: NDArray[np.float32] = hx.matmul(a, b)
product = hx.matmul(a, b, out, np.float32(2), beta=True)
product = hx.matmul(a, b, out=None, gpu_share=np.float32(0.5))
given: NDArray[np.float64] = hx.sum(a, 0, np.ones(5))
given = hx.max(a, out=np.ones(()))
given = hx.prod(a, axis=(np.int64(0), 1), out=np.ones(()), keepdims=True)
hx.sum(a, np.intp(1))
hx.sum(a, [0, 1])  # type: ignore[call-overload]
hx.sum(a, keepdims=True, gpu_share=1)
hx.mean(a, (np.intp(0), -1))
hx.var(a, np.int64(1), ddof=1.5)
hx.vecdot(a, a, np.int64(0))
number: float = float(hx.dot(x, x) + 1.5)
number += hx.reduce_async("sum", x).wait() * 2.0
least, greatest = hx.reduce_soa(("min", x) for _ in range(2))
kernel = hx.Kernel("x * s", "float x", "float s")
kernel.reduce("sum", a, s=np.float32(2), axis=np.int64(1))
kernel.map(a, s=2, out=a)


async def wait() -> NDArray[np.float32]:
    return await hx.matmul_async(a, b, alpha=2)


def names(context: hx.Context) -> List[str]:
    with hx.reports() as reports, hx.register(a, advice=hx.Advice.READ_MOSTLY):
        hx.sum(x, context=context)
    return [str(reports[0].devices[0].units)] + [device.name for device in hx.devices(context)]


with hx.Context(devices=["cpu", "gpu"], threads=np.int64(2), split=0.5, cache_dir=pathlib.Path("cache")) as opened:
    names(opened)
names(hx.default_context())
hx.Context(wrong=1)  # type: ignore[call-arg]
hx.empty((np.int64(2), 3), "i4", context=hx.default_context())
