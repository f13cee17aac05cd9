# SPDX-License-Identifier: Apache-2.0
"""What the tests share: the definition of sums in NumPy, arrays of any strides, and the seed."""
import os

import hypothesis
import numpy as np
from hypothesis import strategies as st

SEED = int(os.environ.get("TEST_SEED", 0)) or int.from_bytes(os.urandom(3), "little")
DTYPES = (np.float32, np.int32, np.uint32)
WIDE = {np.float32: np.float32, np.int32: np.int64, np.uint32: np.uint64}

hypothesis.settings.register_profile("hx", deadline=None, database=None, max_examples=60)
hypothesis.settings.load_profile("hx")


def rng():
    return np.random.default_rng(SEED)


def properties(*strategies):
    """hypothesis.given with the seed that the run prints."""

    def decorate(test):
        return hypothesis.seed(SEED)(hypothesis.given(*strategies)(test))

    return decorate


def tree(entering, combine, missing):
    """The order of docs/ARITHMETIC.md, sections 2 and 3: lanes, leaves, and leaves with their neighbours."""
    count = -(-entering.size // 4096)
    padded = np.full(count * 4096, missing, np.float32)
    padded[: entering.size] = entering
    rows = padded.reshape(count, 32, 128)
    lanes = np.full((count, 128), missing, np.float32)
    for i in range(32):
        lanes = combine(lanes, rows[:, i])
    while lanes.shape[1] > 1:
        half = lanes.shape[1] // 2
        lanes = combine(lanes[:, :half], lanes[:, half:])
    sums = lanes[:, 0]
    while sums.size > 1:
        odd = sums[-1:] if sums.size % 2 else sums[:0]
        sums = np.concatenate([combine(sums[0 : sums.size - 1 : 2], sums[1::2]), odd])
    return sums[0]


def with_nan_first(x, choose):
    nans = np.isnan(x) if x.dtype == np.float32 else np.zeros(x.size, bool)
    return np.intp(nans.argmax() if nans.any() else choose(x))


def wide(x):
    return x.astype(WIDE[x.dtype.type])


def expected(op, x, y=None):
    """The result of one line by docs/ARITHMETIC.md."""
    if op in ("argmin", "argmax"):
        return with_nan_first(x, getattr(np, op))
    if op in ("min", "max"):
        value = getattr(np, op)(x)
        if value == 0 and x.dtype == np.float32:  # -0.0 is less than +0.0
            value = np.copysign(value, getattr(np, op)(np.copysign(np.float32(1), x[x == 0])))
        return value
    entering = {"sum": lambda: x, "prod": lambda: x, "sum_abs": lambda: np.abs(x), "sum_squares": lambda: x * x}
    with np.errstate(all="ignore"):
        if x.dtype != np.float32:
            x, y = wide(x), None if y is None else wide(y)
            values = x * y if op == "dot" else entering[op]()
            return (np.prod if op == "prod" else np.sum)(values, dtype=x.dtype)
        values = x * y if op == "dot" else entering[op]()
        if values.size == 0:
            return np.float32(1 if op == "prod" else 0)
        return tree(values, np.multiply, 1) if op == "prod" else tree(values, np.add, np.float32(-0.0))


def same(a, b):
    """Type, dtype, shape and bits; any NaN is as good as another."""
    a_values, b_values = np.asarray(a), np.asarray(b)
    if type(a) is not type(b) or a_values.dtype != b_values.dtype or a_values.shape != b_values.shape:
        return False
    if a_values.dtype.kind != "f":
        return bool((a_values == b_values).all())
    equal = (a_values == b_values) & (np.signbit(a_values) == np.signbit(b_values))
    return bool((equal | (np.isnan(a_values) & np.isnan(b_values))).all())


def values(random, dtype, shape):
    """Numbers of both signs and of many magnitudes, with zeros; or all of the integers' range."""
    if dtype == np.float32:
        x = random.standard_normal(shape) * np.exp2(random.integers(-20, 21, shape))
        return np.where(random.random(shape) < 0.1, random.choice([0.0, -0.0], shape), x).astype(np.float32)
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


@st.composite
def arrays(draw, dtypes=DTYPES, ndim=st.integers(0, 4), least=0, longest=(9, 200)):
    """Views of any shape: steps, negative ones too, and axes in any order."""
    dtype = draw(st.sampled_from(dtypes))
    axes = draw(ndim)
    shape = [draw(st.integers(least, longest[0])) for _ in range(axes)]
    if axes and draw(st.booleans()):
        shape[draw(st.integers(0, axes - 1))] = draw(st.integers(least, longest[1]))
    steps = [draw(st.sampled_from([1, 1, 1, 2, 3, -1, -2])) for _ in shape]
    order = draw(st.permutations(range(axes)))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    base = values(random, dtype, [extent * abs(step) + draw(st.integers(0, 1)) for extent, step in zip(shape, steps)])
    view = base[tuple(slice(None, None, step) for step in steps)]
    view = view[tuple(slice(extent) for extent in shape)]
    return view.transpose(order)
