"""Vectors of eight numbers, a few at a time, for loops over the outputs of one example.

Such loops are short, and the compiler spends more time on asking how long than on the numbers. Arrays come with rows
that are filled up with zeros to whole vectors, see `wide`. How many vectors are held at once is said by the length of
a tuple, so that it is known when code is compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model

WIDTH = 8
LINE = 64  # bytes that memory hands out at a time
ONE, TWO, THREE, FOUR = (0,), (0, 0), (0, 0, 0), (0, 0, 0, 0)
MOST = WIDTH * len(FOUR)  # numbers that are held at once
_FAST = ("contract", "reassoc", "nsz")


def wide(values: np.ndarray, dtype: Any) -> np.ndarray:
    """A copy of a matrix whose rows are whole vectors, filled up with zeros, unless they have one number only."""
    m, k = values.shape
    shape = m, 1 if k == 1 else -(-k // WIDTH) * WIDTH
    out = blank(shape, dtype)
    out[:, :k] = values
    out[:, k:] = 0
    return out


def blank(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Room for a matrix that begins where a line of memory does."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    room = np.empty(size + LINE, np.uint8)
    start = -room.ctypes.data % LINE
    return room[start : start + size].view(dtype).reshape(shape)


class Lanes(types.Type):
    """Some vectors of numbers of one kind."""

    def __init__(self, dtype, count):
        self.dtype, self.count = dtype, count
        super().__init__(name=f"Lanes({dtype}, {count})")


@register_model(Lanes)
class _Model(models.PrimitiveModel):
    def __init__(self, manager, kind):
        number = ir.FloatType() if kind.dtype == types.float32 else ir.DoubleType()
        super().__init__(manager, kind, ir.ArrayType(ir.VectorType(number, WIDTH), kind.count))


def _parts(builder, value):
    return [builder.extract_value(value, c) for c in range(value.type.count)]


def _whole(builder, parts):
    out = ir.Constant(ir.ArrayType(parts[0].type, len(parts)), ir.Undefined)
    for c, part in enumerate(parts):
        out = builder.insert_value(out, part, c)
    return out


def _same(builder, vector, number):
    """A vector with one number everywhere."""
    nothing, index = ir.Constant(vector, ir.Undefined), ir.IntType(32)
    one = builder.insert_element(nothing, number, ir.Constant(index, 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(index, WIDTH), [0] * WIDTH))


def _places(context, builder, kind, array, row, first, value):
    """Where the vectors of a row begin, from its number `first` on."""
    made = context.make_array(kind)(context, builder, array)
    size = context.get_constant(types.intp, kind.dtype.bitwidth // 8)
    where = builder.mul(first, size)
    if kind.ndim == 2:
        where = builder.add(where, builder.mul(row, cgutils.unpack_tuple(builder, made.strides, 2)[0]))
    start = builder.gep(builder.bitcast(made.data, ir.IntType(8).as_pointer()), [where])
    start = builder.bitcast(start, value.element.as_pointer())
    return [builder.gep(start, [context.get_constant(types.intp, c)]) for c in range(value.count)]


@intrinsic
def load(typing, array, row, first, like):
    """As many vectors as `like` is long, from a row of a matrix, or from a single row."""
    out = Lanes(array.dtype, len(like))

    def code(context, builder, signature, args):
        parts = []
        for place in _places(context, builder, array, *args[:3], context.get_value_type(out)):
            parts.append(builder.load(place))
            parts[-1].align = array.dtype.bitwidth // 8
        return _whole(builder, parts)

    return out(array, types.intp, types.intp, like), code


@intrinsic
def store(typing, value, array, row, first):
    """Write vectors where `load` would read them."""

    def code(context, builder, signature, args):
        places = _places(context, builder, array, *args[1:], args[0].type)
        for part, place in zip(_parts(builder, args[0]), places, strict=True):
            builder.store(part, place).align = array.dtype.bitwidth // 8
        return context.get_dummy_value()

    return types.void(value, array, types.intp, types.intp), code


@intrinsic
def zeros(typing, array, like):
    """Vectors of zeros, of the array's kind."""
    out = Lanes(array.dtype, len(like))
    return out(array, like), lambda context, builder, signature, args: ir.Constant(context.get_value_type(out), None)


@intrinsic
def double(typing, value):
    """The same numbers in double precision."""
    out = Lanes(types.float64, value.count)

    def code(context, builder, signature, args):
        vector = context.get_value_type(out).element
        parts = _parts(builder, args[0])
        return _whole(builder, parts if value == out else [builder.fpext(part, vector) for part in parts])

    return out(value), code


@intrinsic
def add_times(typing, total, number, value):
    """Give total + number · value."""

    def code(context, builder, signature, args):
        some = _parts(builder, args[0])
        number = _same(builder, some[0].type, args[1])
        pairs = zip(some, _parts(builder, args[2]), strict=True)
        return _whole(builder, [builder.fadd(a, builder.fmul(number, b, flags=_FAST), flags=_FAST) for a, b in pairs])

    return total(total, total.dtype, total), code


@intrinsic
def times(typing, left, right):
    """Multiply number by number."""

    def code(context, builder, signature, args):
        pairs = zip(_parts(builder, args[0]), _parts(builder, args[1]), strict=True)
        return _whole(builder, [builder.fmul(a, b, flags=_FAST) for a, b in pairs])

    return left(left, left), code


@intrinsic
def below(typing, value, number):
    """Give value − number."""

    def code(context, builder, signature, args):
        parts = _parts(builder, args[0])
        number = _same(builder, parts[0].type, args[1])
        return _whole(builder, [builder.fsub(part, number, flags=_FAST) for part in parts])

    return value(value, value.dtype), code


@intrinsic
def nearest_end(typing, value):
    """min(value, 1 − value): how far a probability is from none or all."""

    def code(context, builder, signature, args):
        out = []
        for part in _parts(builder, args[0]):
            rest = builder.fsub(_same(builder, part.type, ir.Constant(part.type.element, 1.0)), part, flags=_FAST)
            out.append(builder.select(builder.fcmp_ordered("<", part, rest), part, rest))
        return _whole(builder, out)

    return value(value), code


@intrinsic
def total(typing, value):
    """Sum of all numbers."""

    def code(context, builder, signature, args):
        first, *rest = _parts(builder, args[0])
        for part in rest:
            first = builder.fadd(first, part, flags=_FAST)
        index = ir.IntType(32)
        for step in (4, 2, 1):
            turned = ir.Constant(ir.VectorType(index, WIDTH), [(lane + step) % WIDTH for lane in range(WIDTH)])
            first = builder.fadd(first, builder.shuffle_vector(first, first, turned), flags=_FAST)
        return builder.extract_element(first, ir.Constant(index, 0))

    return value.dtype(value), code


@intrinsic
def pick(typing, value, lane):
    """One number of the first vector."""

    def code(context, builder, signature, args):
        return builder.extract_element(_parts(builder, args[0])[0], args[1])

    return value.dtype(value, types.intp), code
