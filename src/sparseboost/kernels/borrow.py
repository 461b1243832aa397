"""Arrays without an owner, for loops that cut small arrays out of large ones.

Every array that is cut out, or given to another function, counts as one more holder of its memory, and counting takes
longer than a short row does: sweeps took 170 nanoseconds for a single weight that stays zero, and take 50.
"""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, types
from numba.core.types.containers import BaseTuple
from numba.extending import intrinsic


@intrinsic
def borrowed(context, values):
    """The same array, or tuple of arrays, without an owner.

    Only for arguments of a kernel: whoever calls it holds them until it returns. What the kernel makes itself would be
    thrown away as soon as nobody but a borrower looks at it.
    """

    def code(context, builder, signature, arguments):
        return _without_owner(context, builder, values, arguments[0])

    return values(values), code


def _without_owner(context: Any, builder: Any, kind: types.Type, value: Any) -> Any:
    if isinstance(kind, BaseTuple):
        parts = cgutils.unpack_tuple(builder, value)
        bare = [_without_owner(context, builder, each, part) for each, part in zip(kind.types, parts, strict=True)]
        return context.make_tuple(builder, kind, bare)
    if isinstance(kind, types.Array):
        view = context.make_array(kind)(context, builder, value)
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        view.parent = cgutils.get_null_value(view.parent.type)
        return view._getvalue()
    return value
