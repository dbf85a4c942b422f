"""Outputs of every kind: a leak in them is found, and noise in them is not taken for one."""

import subprocess
import sys
from array import array
from collections import OrderedDict, deque, namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, Flag, IntEnum
from fractions import Fraction
from pathlib import PurePosixPath
from types import MappingProxyType
from uuid import UUID

import numpy as np
import pytest
import scipy.sparse

from domains.blackbox.audit_case import bound
from domains.blackbox.mechanisms_under_test import Case, geometric
from leakgauge.core.errors import BadInput
from leakgauge.domains.blackbox.event_search.output_table import tabulate
from leakgauge.domains.blackbox.plain_output import plain_output

Point = namedtuple("Point", "x y")
Colour = Enum("Colour", [f"C{n}" for n in range(100)])
Level = IntEnum("Level", [f"L{n}" for n in range(100)])
Rights = Flag("Rights", [f"R{n}" for n in range(100)])


@dataclass
class Record:
    value: int
    name: str = "ward"


def torch_tensor(dtype):
    def make(n):
        torch = pytest.importorskip("torch")
        return torch.tensor([n, 3], dtype=torch.float64).to(getattr(torch, dtype))

    return make


def image(mode):
    def make(n):
        pillow = pytest.importorskip("PIL.Image", reason="needs pillow")
        pixels = np.zeros((3, 3) if len(mode) == 1 else (3, 3, len(mode)), np.uint8)
        pixels[1, 1] = n
        return pillow.fromarray(pixels).convert(mode)

    return make


def with_attributes(table, n):
    """Parquet files keep them."""
    table.attrs["n"] = n
    return table


def pandas(make):
    return lambda n: make(pytest.importorskip("pandas", reason="needs pandas"), n)


def polars(make):
    return lambda n: make(pytest.importorskip("polars", reason="needs polars"), n)


# Each makes an output of a whole number between 0 and 99.
KINDS = {
    "int": lambda n: n,
    "int near 10^40": lambda n: 10**40 + n,
    "int near 2^200": lambda n: 2**200 + n,
    "uint64": lambda n: np.uint64(2**63 + n),
    "fraction": lambda n: Fraction(n, 7),
    "complex": lambda n: complex(1, n),
    "numpy complex": lambda n: np.complex64(n * 1j),
    "Decimal": lambda n: Decimal(n) / 8,
    "Decimal of 40 digits": lambda n: Decimal(f"{10**40 + n}.5"),
    "bytes": lambda n: bytes([7, n]),
    "bytes of any length": lambda n: b"x" * n,
    "bytearray": lambda n: bytearray([n]),
    "memoryview": lambda n: memoryview(bytes([n])),
    "array.array": lambda n: array("i", [n, 1]),
    "set": lambda n: {n, 500},
    "frozenset of texts": lambda n: frozenset({f"person {n}", "x"}),
    "set of mixed": lambda n: {n, "x", None, (1, 2)},
    "range": lambda n: range(n),
    "deque": lambda n: deque([n]),
    "datetime": lambda n: datetime(2026, 1, 1) + timedelta(microseconds=n),  # noqa: DTZ001
    "datetime with zone": lambda n: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=n),
    "date": lambda n: date(2026, 1, 1) + timedelta(n),
    "time": lambda n: time(5, 0, 0, n),
    "timedelta": lambda n: timedelta(seconds=n),
    "datetime64": lambda n: np.datetime64("2026-01-01T00:00:00.000000000") + n,
    "timedelta64": lambda n: np.timedelta64(n, "s"),
    "dataclass": Record,
    "namedtuple": lambda n: Point(n, 1),
    "enum": lambda n: list(Colour)[n],
    "int enum": lambda n: list(Level)[n],
    "flag": lambda n: list(Rights)[n],
    "uuid": lambda n: UUID(int=n),
    "path": lambda n: PurePosixPath(f"/ward/{n}"),
    "OrderedDict": lambda n: OrderedDict(a=n),
    "mappingproxy": lambda n: MappingProxyType({"a": n}),
    "nested": lambda n: {"a": [Decimal(1), {"b": (Record(n), {n})}]},
    **{
        f"array of {dtype}": lambda n, dtype=dtype: np.array([n, 3]).astype(dtype)
        for dtype in ("bool", "int8", "uint64", "float16", "longdouble", "complex128", "S4", "U4", "O")
    },
    "array of dates": lambda n: np.array(["2026-01-01", "NaT"], "datetime64[D]") + n,
    "array of records": lambda n: np.array([(n, 1.5)], dtype=[("a", "i4"), ("b", "f8")]),
    "array of objects": lambda n: np.array([{n}, None], dtype=object),
    "array without dimensions": lambda n: np.array(n),
    "masked array": lambda n: np.ma.masked_less(np.array([n, 3]), 4),
    "sparse matrix": lambda n: scipy.sparse.csr_matrix([[0, n], [1, 0]]),
    "sparse array": lambda n: scipy.sparse.coo_array(np.array([0, n, 1])),
    "large sparse array": lambda n: scipy.sparse.csr_array(([n + 1.0], ([5], [9000])), shape=(10, 10_000)),
    **{
        f"tensor of {dtype}": torch_tensor(dtype)
        for dtype in ("bool", "uint8", "int64", "float32", "bfloat16", "float16", "complex64", "float8_e5m2")
    },
    "tensor with gradient": lambda n: torch_tensor("float32")(n).requires_grad_(),
    **{f"image {mode}": image(mode) for mode in ("L", "RGB", "RGBA", "P")},
    "pandas frame": pandas(lambda pd, n: pd.DataFrame({"a": [n, 1], "b": ["x", None]})),
    "pandas series": pandas(lambda pd, n: pd.Series([n, 1.5], name="a")),
    "pandas index": pandas(lambda pd, n: pd.DataFrame({"a": [1]}, index=[n])),
    "pandas multi-index": pandas(lambda pd, n: pd.Series([1], index=pd.MultiIndex.from_tuples([(n, "a")]))),
    "pandas columns": pandas(lambda pd, n: pd.DataFrame([[1, 2]], columns=[n, n])),
    "pandas attributes": pandas(lambda pd, n: with_attributes(pd.DataFrame({"a": [1]}), n)),
    "pandas series attributes": pandas(lambda pd, n: with_attributes(pd.Series([1]), n)),
    "pandas rows": pandas(lambda pd, n: pd.DataFrame({"a": np.zeros(n)})),
    "pandas categories": pandas(lambda pd, n: pd.Series([str(n), "x"], dtype="category")),
    "pandas nullable": pandas(lambda pd, n: pd.Series([n, None], dtype="Int64")),
    "pandas dates": pandas(
        lambda pd, n: pd.Series([pd.Timestamp(2026, 1, 1) + pd.Timedelta(n, "D"), pd.NaT])
    ),
    "pandas zones": pandas(lambda pd, n: pd.Series([pd.Timestamp(n, unit="ns", tz="UTC")])),
    "pandas timestamp": pandas(lambda pd, n: pd.Timestamp(10**18 + n, unit="ns")),
    "pandas timedelta": pandas(lambda pd, n: pd.Timedelta(n, "ns")),
    "pandas period": pandas(lambda pd, n: pd.Period(str(2000 + n), "Y")),
    "pandas interval": pandas(lambda pd, n: pd.Interval(0, n)),
    "polars frame": polars(lambda pl, n: pl.DataFrame({"a": [n, None], "b": ["x", "y"]})),
    "polars series": polars(lambda pl, n: pl.Series("a", [n / 4, 1.5])),
    "polars dates": polars(lambda pl, n: pl.Series([date(2026, 1, 1) + timedelta(n)])),
    "polars lists": polars(lambda pl, n: pl.DataFrame({"a": [[n, 1], [2]]})),
}


@pytest.mark.parametrize("kind", KINDS)
def test_leak_is_found_and_noise_is_not_accused(kind):
    make = KINDS[kind]

    def release(count, rng):
        return make(int(np.clip(count + geometric(3.0, rng), 0, 99)))

    def null(count, rng):
        return make(int(np.clip(20 + geometric(3.0, rng), 0, 99)))

    # Whole numbers 0 to 99 become True and False in one case: there 0 must be distinguished from the others.
    pair = (0, 1) if "bool" in kind else (2, 3) if "masked" in kind or "float8" in kind else (20, 21)
    leak = Case(name=kind, release=release, pair=pair, epsilon=3.0)
    assert 1.5 < bound(leak, rounds=400, shadows=200, seed=1, confidence=0.999) <= 3.0
    if "bool" not in kind:
        safe = Case(name=kind, release=null, pair=pair, epsilon=0.0)
        assert bound(safe, rounds=400, shadows=200, seed=2, confidence=0.999) == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_plain_outputs_can_be_tabulated_and_repeat(kind):
    one, other = (tabulate([plain_output(KINDS[kind](n)) for n in (3, 4)]) for _ in range(2))
    assert one.paths == other.paths
    np.testing.assert_array_equal(one.keys, other.keys)


def test_large_whole_numbers_lose_no_power():
    bounds = [
        bound(
            Case(
                name="shifted",
                release=lambda count, rng: count + int(geometric(1.0, rng)),
                pair=(large, large + 1),
                epsilon=1.0,
            ),
            rounds=4000,
            shadows=4000,
            seed=1,
        )
        for large in (0, 10**40)
    ]
    assert bounds[1] > 0.97 * bounds[0] > 0.8


@pytest.mark.parametrize("scale", [10**15, 10**20, 10**30])
def test_noise_of_any_size_is_seen_on_large_whole_numbers(scale):
    case = Case(
        name="scaled",
        release=lambda count, rng: count + scale * int(geometric(1.0, rng)),
        pair=(10**40, 10**40 + scale),
        epsilon=1.0,
    )
    assert bound(case, rounds=4000, shadows=4000, seed=1) > 0.8


def test_type_alone_is_a_leak():
    case = Case(
        name="type",
        release=lambda count, rng: Decimal(5) if count else 5.0,
        pair=(0, 1),
        epsilon=1.0,
    )
    assert bound(case, rounds=500, shadows=200, seed=1) > 3


def test_sparse_tensor_is_written_out():
    dense = pytest.importorskip("torch").tensor([0.0, 2.0])
    sparse = dense.to_sparse()
    np.testing.assert_array_equal(plain_output(sparse)["values"], [0.0, 2.0])
    assert plain_output(sparse)["layout"] != plain_output(dense)["layout"]


def test_copies_share_no_memory():
    numbers = np.zeros(2)
    kept = plain_output({"a": [numbers], "b": Record(1)})
    numbers[0] = 5
    assert kept["a"][0][0] == 0


@pytest.mark.parametrize(
    "value", [object(), (n for n in "ab"), len, int, Ellipsis], ids=lambda value: type(value).__name__
)
def test_unsupported_type_is_named_with_a_way_out(value):
    with pytest.raises(
        BadInput, match=rf"'\w+\.{type(value).__name__}', which is not supported; return"
    ) as caught:
        plain_output([{"a": value}])
    assert "\n" not in str(caught.value)


def test_lazy_polars_frame_names_the_way_out():
    frame = pytest.importorskip("polars", reason="needs polars").LazyFrame({"a": [1]})
    with pytest.raises(BadInput, match=r"return its .collect\(\)"):
        plain_output(frame)


def test_no_library_is_imported_for_its_values():
    code = (
        "import sys, leakgauge\n"
        "leakgauge.audit_mechanism(lambda n, rng: {n}, (1, 2), epsilon=1.0, rounds=50)\n"
        "print(sorted({'polars', 'torch', 'PIL'} & set(sys.modules)))"  # scikit-learn itself imports pandas
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
