"""Whether the output of a release depends on its input at all, so that there is something to audit."""

import pickletools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import astuple, is_dataclass
from hashlib import sha256
from itertools import zip_longest
from typing import Any
from zlib import crc32

import cloudpickle
import numpy as np
import scipy

from leakgauge.core.arrays import Reals
from leakgauge.domains.blackbox.plain_output import plain_output
from leakgauge.domains.blackbox.release import ReleaseFunction
from leakgauge.support.global_rng import call_seeded

STATES = 200  # of the random generator, from which both inputs are tried
REPEATED_STATES = 20  # from which an input is tried with its rows repeated
MOST_REPEATS, MOST_ROWS = 1000, 100_000
SAMPLE = 100  # outputs of each input, where a release draws from a generator of its own
SHAPES = 20  # outputs of each input whose types and labels are compared
CHANCE = 1e-3  # that two samples of one distribution are taken for different


def why_input_is_ignored(function: ReleaseFunction, pair: tuple[Any, Any]) -> str | None:
    """Say why nothing could be learnt from any output; nothing as soon as one depends on the input.

    Both inputs are tried from the same states of the random generator, then the same with their rows
    repeated, so that a release that withholds small counts is not taken for one that ignores everything.
    A release with a generator of its own gives two outputs on one input: then samples are compared. A call
    that fails is left to the rounds, which say where it did.
    """
    try:
        for state in range(STATES):
            without, with_target = (_output(function, given, state) for given in pair)
            if without != with_target:
                if _output(function, pair[0], state) == without:
                    return None
                return _why_samples_are_alike(function, pair)
    except Exception:
        return None
    if without == list(value_texts(None)):
        return None  # what returns nothing is refused by the attacks
    for given in _with_repeated_rows(pair):
        try:
            if any(
                _output(function, given, state) != _output(function, pair[0], state)
                for state in range(REPEATED_STATES)
            ):
                return None
        except Exception:
            return None
    return (
        f"with and without the person the output was the same in {STATES} of {STATES} calls: nothing was "
        "audited; check that the release uses the input that it is given"
    )


def unread_of_output(function: ReleaseFunction, pair: tuple[Any, Any]) -> tuple[str, ...]:
    """Name what tells the two inputs apart, or might, and is in no number that an attack reads.

    Of the same output in all states nobody knows what the target adds. Types, labels and order are those of
    the pickled output without its numbers: they tell if they are the same in all outputs on one input, and
    others on the other.
    """
    found: list[str] = []
    try:
        if all(
            _output(function, pair[0], state) == _output(function, pair[1], state) for state in range(STATES)
        ):
            found.append(
                "what the target adds: with and without it the output was the same in "
                f"{STATES} of {STATES} calls"
            )
        shapes = [{_structure(_call(function, given, state)) for state in range(SHAPES)} for given in pair]
    except Exception:  # the rounds say where a call fails
        return tuple(found)
    if shapes[0] != shapes[1] and max(map(len, shapes)) == 1:
        found.append("types and labels of the output, which are others with the target than without it")
    return tuple(found)


def _structure(value: Any) -> str:
    """The opcodes of a pickled value and its texts, without numbers and places in memory."""
    kinds = []
    for opcode, argument, _ in pickletools.genops(cloudpickle.dumps(value)):
        name = opcode.name
        if "INT" in name or "LONG" in name:
            name = "whole number"
        if not any(word in name for word in ("FRAME", "GET", "PUT", "MEMOIZE", "BYTES")):
            kinds.append(f"{name} {argument}" if isinstance(argument, str) else name)
    return " ".join(kinds)


def _why_samples_are_alike(function: ReleaseFunction, pair: tuple[Any, Any]) -> str | None:
    """Compare outputs on an input with those on its repeated rows, which any release of rows tells apart."""
    repeated = list(_with_repeated_rows(pair))
    plain = [_numbers(function, pair[0], SAMPLE)]
    for given in repeated:
        try:
            if _differ(plain[0], _numbers(function, given, SAMPLE), CHANCE / len(repeated)):
                return None
        except Exception:
            return None
    if not repeated:
        return None
    return (
        f"the output was distributed alike in {SAMPLE} calls and in {SAMPLE} calls with the rows repeated: "
        "nothing was audited; check that the release uses the input that it is given"
    )


def _output(function: ReleaseFunction, given: Any, state: int) -> list[str]:
    """The output from one state of the random generator, as texts that identify it."""
    return list(value_texts(_plain(function, given, state)))


def _plain(function: ReleaseFunction, given: Any, state: int) -> Any:
    return plain_output(_call(function, given, state))


def _call(function: ReleaseFunction, given: Any, state: int) -> Any:
    with redirect_stdout(sys.stderr):
        return call_seeded(lambda rng: function(given, rng), np.random.default_rng(state))


def _with_repeated_rows(pair: tuple[Any, Any]) -> Iterator[Any]:
    """Both inputs with all rows repeated, and with the rows repeated that one has and the other has not."""
    for given, other in (pair, pair[::-1]):
        if (rows := _row_selector(given)) is None:
            continue
        select, n_rows = rows
        times = min(MOST_REPEATS, MOST_ROWS // max(n_rows, 1))
        if n_rows and times > 1:
            yield select(np.repeat(np.arange(n_rows), times))
        if isinstance(given, (list, tuple, np.ndarray)) and times > 1:
            known = {" ".join(value_texts(row)) for row in other}
            unknown = [place for place in range(n_rows) if " ".join(value_texts(given[place])) not in known]
            yield select(np.append(np.arange(n_rows), np.repeat(np.array(unknown, dtype=int), times)))


def _row_selector(given: Any) -> tuple[Callable[[Any], Any], int] | None:
    """How to take rows of an input by their places, and how many it has; nothing where it has none."""
    match given:
        case list() | tuple():
            return lambda places: type(given)(given[place] for place in places), len(given)
        case np.ndarray() if given.ndim:
            return lambda places: given[places], len(given)
        case _ if hasattr(given, "iloc"):  # of pandas
            return lambda places: given.iloc[places], len(given)
        case _ if hasattr(given, "with_row_index"):  # of polars
            return lambda places: given[places.tolist()], len(given)
    return None


def _numbers(function: ReleaseFunction, given: Any, n: int) -> Reals:
    """Outputs as rows of numbers; what has fewer of them than others ends in NaN."""
    rows = [list(_leaves(_plain(function, given, state))) for state in range(n)]
    return np.array(list(zip_longest(*rows, fillvalue=np.nan)), dtype=np.float64)


def _leaves(value: Any) -> Iterator[float]:
    match value:
        case bool() | int() | float() | np.generic():
            yield float(value)
        case Mapping():
            for key in value:
                yield from _leaves(value[key])
        case list() | tuple() | np.ndarray():
            for item in value:
                yield from _leaves(item)
        case _:
            yield float(crc32(" ".join(value_texts(value)).encode(errors="surrogatepass")))


def _differ(first: Reals, second: Reals, chance: float) -> bool:
    """Whether the numbers at some place are distributed differently (Kolmogorov and Smirnov)."""
    if len(first) != len(second):
        return True
    p_values: Sequence[float] = [
        scipy.stats.ks_2samp(np.nan_to_num(a, nan=-np.inf), np.nan_to_num(b, nan=-np.inf)).pvalue
        for a, b in zip(first, second)
    ]
    return min(p_values, default=1.0) < chance / max(len(p_values), 1)


def value_texts(value: Any) -> Iterator[str]:
    """Yield texts that identify a value; for unknown types, the hash of its pickle."""
    name = type(value).__name__
    match value:
        case np.ndarray() if value.dtype.kind != "O":
            yield f"{name} {value.dtype} {value.shape} {sha256(value.tobytes()).hexdigest()}"
        case str() | bytes() | int() | float() | complex() | None | np.generic():
            yield f"{name} {value!r}"
        case Mapping():
            yield f"{name} {len(value)}"
            for key, item in value.items():
                yield from value_texts(key)
                yield from value_texts(item)
        case list() | tuple() | np.ndarray():
            yield f"{name} {len(value)}"
            for item in value:
                yield from value_texts(item)
        case set() | frozenset():
            yield f"{name} {sorted(' '.join(value_texts(item)) for item in value)}"
        case _ if is_dataclass(value) and not isinstance(value, type):
            yield name
            yield from value_texts(astuple(value))
        case _:
            yield f"{name} {sha256(cloudpickle.dumps(value)).hexdigest()}"
