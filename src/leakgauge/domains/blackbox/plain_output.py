"""Convert the output of a release to plain values: numbers, Booleans, text, None, lists, arrays and dicts.

Libraries that a release may use are never imported here: their values exist only where they are imported.
"""

import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from numbers import Real
from pathlib import PurePath
from typing import Any, Protocol, TypeAlias, runtime_checkable
from uuid import UUID

import numpy as np

from leakgauge.core.errors import BadInput

Converter: TypeAlias = Callable[[Any], Any]

TYPE = "#type"  # the entry that names the type of a converted value: the type alone may be the leak
_MOST_DENSE = 4096  # entries of a sparse matrix that is written out
_UNCHANGED = (bool, int, float, str, type(None))
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 (the time zone stands beside the number)
_MICROSECOND = timedelta(microseconds=1)


@runtime_checkable
class ArrayLike(Protocol):
    """A value that NumPy can read, of any library."""

    def __array__(self) -> Any: ...


def plain_output(value: Any) -> Any:
    """Return an output as plain values, which share no memory with it; refuse types that are not known.

    >>> plain_output({3, 1, 2})
    {'#type': 'set', 'items': [1, 2, 3]}
    """
    if type(value) in _UNCHANGED:
        return value
    for find in (_pandas, _polars, _builtin, _numpy, _torch, _scipy, _pillow, _other):
        if (convert := find(value)) is not None:
            return convert(value)
    kind = type(value)
    raise BadInput(
        f"release returned a value of type '{kind.__module__}.{kind.__qualname__}', which is not supported; "
        "return numbers, text, dates, arrays, data frames, images, or lists or dicts of these, for instance "
        "the fields of the object in a dict"
    )


def _builtin(value: Any) -> Converter | None:
    """Find the conversion of a type of Python itself."""
    match value:
        case np.generic() | np.ndarray():
            return None
        case Enum() if not isinstance(value, (int, str)):
            return _enum
        case list():
            return lambda items: [plain_output(item) for item in items]
        case tuple():
            return lambda items: tuple(plain_output(item) for item in items)
        case Mapping():
            return lambda table: {key: plain_output(item) for key, item in table.items()}
        case str() | Real():
            return lambda plain: plain
        case bytes() | bytearray() | memoryview():
            return lambda raw: _typed(raw, values=np.frombuffer(bytes(raw), np.uint8).copy())
        case Set():
            return lambda items: _typed(items, items=_sorted(map(plain_output, items)))
        case Decimal():
            return _decimal
        case complex():
            return lambda number: _typed(number, parts=[number.real, number.imag])
        case date() | time() | timedelta():
            return _moment
        case UUID() | PurePath():
            return lambda named: _typed(named, text=str(named))
        case range() | deque():
            return lambda items: _typed(items, items=[plain_output(item) for item in items])
        case _ if is_dataclass(value) and not isinstance(value, type):
            return lambda record: _typed(
                record, **{field.name: plain_output(getattr(record, field.name)) for field in fields(record)}
            )
    return None


def _typed(value: Any, /, **parts: Any) -> dict[str, Any]:
    return {TYPE: type(value).__name__, **parts}


def _sorted(items: Iterator[Any]) -> list[Any]:
    """Sort the items of a set, whose order has no meaning: numbers by size, then others by their text."""
    return sorted(items, key=lambda item: (0, item, "") if _is_ordered(item) else (1, 0, repr(item)))


def _is_ordered(item: Any) -> bool:
    return isinstance(item, Real) and item == item


def _enum(member: Any) -> dict[str, Any]:
    return _typed(member, name=member.name, value=plain_output(member.value))


def _decimal(number: Decimal) -> dict[str, Any]:
    """Return the nearest float, and the exact number as a whole coefficient and an exponent."""
    sign, digits, exponent = number.as_tuple()
    coefficient = int("".join(map(str, digits)) or "0")
    nearest = float(number) if not number.is_snan() else float("nan")
    return _typed(
        number, number=nearest, coefficient=-coefficient if sign else coefficient, exponent=exponent
    )


def _moment(moment: Any) -> dict[str, Any]:
    """Count days or microseconds; a time zone stands beside them."""
    match moment:
        case datetime():
            elapsed = (moment.replace(tzinfo=None) - _EPOCH) // _MICROSECOND
            return _typed(moment, microseconds=elapsed, zone=str(moment.tzinfo), fold=moment.fold)
        case date():
            return _typed(moment, days=moment.toordinal())
        case time():
            naive = datetime.combine(_EPOCH, moment.replace(tzinfo=None))
            return _typed(moment, microseconds=(naive - _EPOCH) // _MICROSECOND, zone=str(moment.tzinfo))
        case _:
            return _typed(moment, microseconds=moment // _MICROSECOND)


def _numpy(value: Any) -> Converter | None:
    match value:
        case np.datetime64() | np.timedelta64() | np.complexfloating():
            return lambda one: _array(np.asarray(one))
        case np.void():
            return lambda one: _array(np.asarray(one)) if one.dtype.names else plain_output(bytes(one))
        case np.bytes_():
            return lambda one: _typed(one, values=np.frombuffer(bytes(one), np.uint8).copy())
        case np.generic():
            return lambda one: one
        case np.ma.MaskedArray():
            return lambda array: _typed(
                array, values=_array(np.ma.getdata(array)), mask=np.ma.getmaskarray(array).copy()
            )
        case np.ndarray():
            return _array
    return None


def _array(array: Any) -> Any:
    """Return an array of numbers as it is, and others by what their dtype means."""
    array = np.asarray(array)
    match array.dtype.kind:
        case "b" | "i" | "u" | "f":
            return array.copy()
        case "c":
            return {TYPE: str(array.dtype), "parts": np.stack([array.real, array.imag])}
        case "M" | "m":
            return {TYPE: str(array.dtype), "values": array.astype(np.int64), "missing": np.isnat(array)}
        case "V" if array.dtype.names:
            return {name: _array(array[name]) for name in array.dtype.names}
        case _:
            return plain_output(array.tolist())


def _pandas(value: Any) -> Converter | None:
    if not (pandas := sys.modules.get("pandas")):
        return None
    if value is pandas.NA or value is pandas.NaT:
        return _typed
    match value:
        case pandas.Timestamp():
            return lambda moment: _typed(moment, nanoseconds=moment.value, zone=str(moment.tz))
        case pandas.Timedelta():
            return lambda length: _typed(length, nanoseconds=length.value)
        case pandas.Interval() | pandas.Period():
            return lambda span: _typed(span, text=str(span))
        case pandas.DataFrame():
            return lambda frame: _typed(
                frame,
                columns=plain_output(frame.columns.tolist()),
                index=_labelled(frame.index),
                values=[_labelled(frame.iloc[:, place]) for place in range(frame.shape[1])],
                **({"attributes": plain_output(dict(frame.attrs))} if frame.attrs else {}),
            )
        case pandas.Series():
            return lambda series: _typed(
                series,
                name=plain_output(series.name),
                index=_labelled(series.index),
                values=_labelled(series),
                **({"attributes": plain_output(dict(series.attrs))} if series.attrs else {}),
            )
        case pandas.Index() | pandas.api.extensions.ExtensionArray():
            return _labelled
    return None


def _labelled(column: Any) -> dict[str, Any]:
    """Return the values of a column with the name of their dtype."""
    numeric = isinstance(column.dtype, np.dtype) and column.dtype.kind in "biufcmM"
    return {
        TYPE: str(column.dtype),
        "values": _array(column.to_numpy()) if numeric else plain_output(column.tolist()),
    }


def _polars(value: Any) -> Converter | None:
    if not (polars := sys.modules.get("polars")):
        return None
    match value:
        case polars.LazyFrame():
            raise BadInput(
                "release returned a polars LazyFrame, which has no values yet; return its .collect()"
            )
        case polars.DataFrame():
            return lambda frame: _typed(
                frame, columns=list(frame.columns), values=[_series(series) for series in frame.get_columns()]
            )
        case polars.Series():
            return _series
    return None


def _series(series: Any) -> dict[str, Any]:
    return {TYPE: str(series.dtype), "name": series.name, "values": plain_output(series.to_list())}


def _torch(value: Any) -> Converter | None:
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        return None
    return lambda tensor: _tensor(tensor, torch.strided)


def _tensor(tensor: Any, strided: Any) -> dict[str, Any]:
    """Copy a tensor to the memory of the processor; types that NumPy does not have become floats."""
    dense = tensor.detach().cpu()
    if dense.layout != strided:
        dense = dense.to_dense()
    dense = dense.resolve_conj().resolve_neg()
    try:
        values = dense.numpy()
    except TypeError:
        values = dense.float().numpy()
    return {TYPE: str(tensor.dtype), "layout": str(tensor.layout), "values": _array(values)}


def _scipy(value: Any) -> Converter | None:
    sparse = sys.modules.get("scipy.sparse")
    return _sparse if sparse is not None and sparse.issparse(value) else None


def _sparse(matrix: Any) -> dict[str, Any]:
    """Write a small matrix out; of a large one, list what is stored by place."""
    parts = {"shape": list(matrix.shape), "stored": int(matrix.nnz)}
    if np.prod(matrix.shape) <= _MOST_DENSE:
        return _typed(matrix, **parts, values=_array(matrix.toarray()))
    entries = matrix.tocoo()
    order = np.lexsort(entries.coords[::-1])
    places = [axis[order].astype(np.int64) for axis in entries.coords]
    return _typed(matrix, **parts, places=places, values=_array(entries.data[order]))


def _pillow(value: Any) -> Converter | None:
    image = sys.modules.get("PIL.Image")
    return _image if image is not None and isinstance(value, image.Image) else None


def _image(image: Any) -> dict[str, Any]:
    palette = {"palette": image.getpalette()} if image.mode == "P" else {}
    return _typed(image, mode=image.mode, size=list(image.size), pixels=_array(np.asarray(image)), **palette)


def _other(value: Any) -> Converter | None:
    """Find the conversion of sequences and arrays of other libraries."""
    if isinstance(value, ArrayLike):
        return lambda array: {TYPE: type(array).__name__, "values": _array(np.asarray(array))}
    if isinstance(value, Sequence):
        return lambda items: _typed(items, items=[plain_output(item) for item in items])
    return None
