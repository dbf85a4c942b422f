"""Mechanisms that keep their promise, and mechanisms that do not: what the audit of a black box is tried on.

Every case names the promise and, where it is known, the true epsilon (at the promised delta) of its pair.
Continuous noise is added to values of some size, or put on a grid afterwards, wherever a case is to be free
of floating-point leaks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, log
from typing import Any

import numpy as np
from numpy.random import Generator


@dataclass(frozen=True, kw_only=True)
class Case:
    """A release, a pair of neighbours, and what was promised."""

    name: str
    release: Callable[[Any, Generator], Any]
    pair: tuple[Any, Any]  # without the target, with the target
    epsilon: float  # promised
    delta: float = 0.0
    truth: float | None = None  # of this pair, at that delta

    def __str__(self) -> str:
        return self.name


def on_grid(values: Any) -> Any:
    """Round to a grid much coarser than floats, much finer than any noise here."""
    return np.round(np.asarray(values) * 1024) / 1024


def geometric(epsilon: float, rng: Generator, size: Any = None) -> Any:
    """Two-sided geometric noise (Ghosh, Roughgarden and Sundararajan 2009)."""
    stop = 1 - exp(-epsilon)
    return rng.geometric(stop, size) - rng.geometric(stop, size)


# ------------------------------------------------------------------ correct


def laplace(value: Any, rng: Generator) -> Any:
    return value + rng.laplace(size=np.shape(value))


def laplace_on_grid(value: float, rng: Generator) -> float:
    return float(on_grid(value + rng.laplace()))


def gaussian(value: float, rng: Generator) -> float:
    return value + rng.normal(scale=3.7304)  # epsilon 1, delta 1e-5 (Balle and Wang 2018)


def geometric_count(count: int, rng: Generator) -> int:
    return count + int(geometric(1.0, rng))


def randomized_response(truth: bool, rng: Generator) -> bool:
    return truth if rng.random() < exp(1) / (1 + exp(1)) else not truth


def noisy_max(queries: Any, rng: Generator) -> int:
    return int(np.argmax(queries + rng.laplace(scale=2.0, size=len(queries))))


def sparse_vector(queries: Any, rng: Generator, epsilon: float = 1.0, c: int = 1) -> list[bool]:
    """Algorithm 1 of Lyu, Su and Li (2017), threshold 0.5."""
    threshold = 0.5 + rng.laplace(scale=2 / epsilon)
    answers = []
    for query in queries:
        answers.append(bool(query + rng.laplace(scale=4 * c / epsilon) >= threshold))
        if sum(answers) == c:
            break
    return answers


def exponential(scores: Any, rng: Generator, factor: float = 0.5) -> str:
    weights = np.exp(factor * np.asarray(scores, dtype=float))
    return "abcdefgh"[int(np.searchsorted(np.cumsum(weights / weights.sum()), rng.random()))]


def histogram(counts: Any, rng: Generator) -> Any:
    return counts + geometric(1.0, rng, len(counts))


def snapping(value: float, rng: Generator) -> float:
    return float(np.clip(np.round((value + rng.laplace()) * 2) / 2, -5.0, 5.0))


def split_answers(record: Any, rng: Generator) -> dict[str, Any]:
    count, total, largest = record
    return {
        "count": float(on_grid(count + rng.laplace(scale=3.0))),
        "total": float(on_grid(total + rng.laplace(scale=3.0))),
        "more": {"largest": float(on_grid(largest + rng.laplace(scale=3.0)))},
    }


def rappor(choice: int, rng: Generator, epsilon: float = 1.0) -> list[int]:
    keep = exp(epsilon / 2) / (1 + exp(epsilon / 2))
    truth = np.arange(8) == choice
    return (truth ^ (rng.random(8) > keep)).astype(int).tolist()


def truncated_geometric(count: int, rng: Generator) -> int:
    return int(np.clip(count + geometric(1.0, rng), 0, 6))


def in_words(count: int, rng: Generator) -> str:
    return f"about {count + int(geometric(1.0, rng))} people"


def noisy_suppression(count: int, rng: Generator) -> int | None:
    noisy = count + int(geometric(1.0, rng))
    return noisy if noisy >= 5 else None


def constant(value: Any, rng: Generator) -> list[Any]:
    return [1, 2.5, "text", None, {"a": True}]


def pure_noise(value: Any, rng: Generator) -> Any:
    return rng.normal(size=6)


def laplace_vector(values: Any, rng: Generator) -> Any:
    return on_grid(values + rng.laplace(scale=10.0, size=10))


def staircase_free_mean(data: Any, rng: Generator) -> float:
    """Noisy sum over noisy count, half of the budget each; numbers in [0, 1]."""
    total = float(np.sum(data)) + rng.laplace(scale=2.0)
    return float(on_grid(total / max(1.0, len(data) + rng.laplace(scale=2.0))))


_OPTIONS = ((0,) + (1,) * 7, (1,) + (0,) * 7)

CORRECT = (
    Case(name="laplace", release=laplace, pair=(100.0, 101.0), epsilon=1.0, truth=1.0),
    Case(name="laplace on a grid", release=laplace_on_grid, pair=(0.0, 1.0), epsilon=1.0, truth=1.0),
    Case(name="gaussian", release=gaussian, pair=(100.0, 101.0), epsilon=1.0, delta=1e-5, truth=1.0),
    Case(name="geometric", release=geometric_count, pair=(0, 1), epsilon=1.0, truth=1.0),
    Case(name="randomized response", release=randomized_response, pair=(False, True), epsilon=1.0, truth=1.0),
    Case(
        name="noisy max",
        release=noisy_max,
        pair=(np.array([1.0, 0, 0, 0, 0]), np.array([0.0, 1, 1, 1, 1])),
        epsilon=1.0,
    ),
    Case(
        name="sparse vector",
        release=sparse_vector,
        pair=((1, 1, 0, 0, 1, 0, 1, 1), (0, 0, 1, 1, 0, 1, 0, 0)),
        epsilon=1.0,
    ),
    Case(
        name="exponential",
        release=exponential,
        pair=_OPTIONS,
        epsilon=1.0,
        truth=log(exp(0.5) * (1 + 7 * exp(0.5)) / (exp(0.5) + 7)),
    ),
    Case(
        name="histogram",
        release=histogram,
        pair=(np.array([5, 3, 0, 9, 1]), np.array([5, 4, 0, 9, 1])),
        epsilon=1.0,
        truth=1.0,
    ),
    Case(name="snapping", release=snapping, pair=(0.0, 1.0), epsilon=1.0, truth=1.0),
    Case(
        name="split answers",
        release=split_answers,
        pair=((10.0, 50.0, 6.0), (11.0, 51.0, 7.0)),
        epsilon=1.0,
        truth=1.0,
    ),
    Case(name="rappor", release=rappor, pair=(2, 5), epsilon=1.0, truth=1.0),
    Case(name="truncated geometric", release=truncated_geometric, pair=(2, 3), epsilon=1.0, truth=1.0),
    Case(name="in words", release=in_words, pair=(12, 13), epsilon=1.0, truth=1.0),
    Case(name="noisy suppression", release=noisy_suppression, pair=(4, 5), epsilon=1.0, truth=1.0),
    Case(name="constant", release=constant, pair=(0, 1), epsilon=0.0, truth=0.0),
    Case(name="pure noise", release=pure_noise, pair=(0, 1), epsilon=0.0, truth=0.0),
    Case(
        name="laplace vector",
        release=laplace_vector,
        pair=(np.zeros(10), np.ones(10)),
        epsilon=1.0,
        truth=1.0,
    ),
    Case(
        name="noisy mean",
        release=staircase_free_mean,
        pair=(np.array([0.2, 0.9, 0.4]), np.array([0.2, 0.9, 0.4, 1.0])),
        epsilon=1.0,
    ),
)


# ------------------------------------------------------------------- broken


def wrong_sensitivity(value: float, rng: Generator) -> float:
    return value + rng.laplace()  # a record moves the sum by 2


def sparse_no_threshold_noise(queries: Any, rng: Generator) -> list[bool]:
    """The threshold is exact, and the query noise is not scaled for many answers above it."""
    return [bool(query + rng.laplace(scale=2.0) >= 0.5) for query in queries]


def sparse_no_query_noise(queries: Any, rng: Generator) -> list[bool]:
    """Algorithm 5 of Lyu, Su and Li (2017): only the threshold is noisy."""
    threshold = 0.5 + rng.laplace(scale=2.0)
    return [bool(query >= threshold) for query in queries]


def sparse_not_scaled(queries: Any, rng: Generator) -> list[str]:
    """Algorithm 4 there: a quarter of the budget for the threshold, noise not scaled by c = 4."""
    threshold = 0.5 + rng.laplace(scale=4.0)
    answers: list[str] = []
    for query in queries:
        answers.append("above" if query + rng.laplace(scale=4 / 3) >= threshold else "below")
        if answers.count("above") == 4:
            break
    return answers


def sparse_no_cut(queries: Any, rng: Generator) -> list[bool]:
    """Algorithm 6 there: neither scaled nor ever stopped."""
    threshold = 0.5 + rng.laplace(scale=2.0)
    return [bool(query + rng.laplace(scale=2.0) >= threshold) for query in queries]


def sparse_with_value(queries: Any, rng: Generator) -> list[float | None]:
    """Algorithm 3 there: the noisy value that passed the threshold is published."""
    threshold = 0.5 + rng.laplace(scale=2.0)
    answers: list[float | None] = []
    for query in queries:
        noisy = query + rng.laplace(scale=2.0)
        answers.append(float(on_grid(noisy)) if noisy >= threshold else None)
        if noisy >= threshold:
            break
    return answers


def max_value(queries: Any, rng: Generator) -> float:
    return float(on_grid(np.max(queries + rng.laplace(scale=2.0, size=len(queries)))))


def max_value_and_index(queries: Any, rng: Generator) -> tuple[int, float]:
    noisy = queries + rng.laplace(scale=2.0, size=len(queries))
    return int(np.argmax(noisy)), float(on_grid(np.max(noisy)))


def shared_noise(values: Any, rng: Generator) -> Any:
    return values + rng.laplace()


def dependent_noise(values: Any, rng: Generator) -> Any:
    first, second = rng.laplace(scale=4.0, size=2)
    return values + np.array([first + second, first, second])


def local_scale(data: Any, rng: Generator) -> float:
    return float(np.median(data) + rng.laplace(scale=max(np.ptp(data), 0.1)))


def exact_suppression(count: int, rng: Generator) -> int:
    return count + int(geometric(1.0, rng)) if count >= 5 else 0


def naive_floats(value: float, rng: Generator) -> float:
    return value + rng.laplace()


def naive_float_vector(values: Any, rng: Generator) -> Any:
    return values + rng.laplace(scale=8.0, size=len(values))


def unsplit_budget(record: Any, rng: Generator) -> dict[str, float]:
    return {f"q{i}": float(on_grid(value + rng.laplace())) for i, value in enumerate(record)}


def prefix_sums(data: Any, rng: Generator) -> Any:
    return np.cumsum(data) + rng.laplace(size=len(data))


def reused_noise(values: Any, rng: Generator) -> list[float]:
    noise = rng.laplace()
    return [values[0] + noise, values[1] - noise]


def reused_scaled_noise(values: Any, rng: Generator) -> list[float]:
    noise = rng.laplace()
    return [values[0] + noise, values[1] + 3 * noise, rng.normal()]


def seeded_by_data(data: Any, rng: Generator) -> float:
    return float(np.sum(data) + np.random.default_rng(int(np.sum(data))).laplace())


def length_of_data(data: Any, rng: Generator) -> list[float]:
    return [float(on_grid(value + rng.laplace(scale=5.0))) for value in data]


def none_in_one_world(count: int, rng: Generator) -> int | None:
    noisy = count + int(geometric(1.0, rng))
    return None if count == 3 and rng.random() < 0.05 else noisy


def missing_key(counts: dict[str, int], rng: Generator) -> dict[str, int]:
    return {place: count + int(geometric(1.0, rng)) for place, count in counts.items() if count > 0}


def key_order(counts: dict[str, int], rng: Generator) -> dict[str, int]:
    places = sorted(counts, key=lambda place: -counts[place])
    return {place: counts[place] + int(geometric(1.0, rng)) for place in places}


def rounded_first(value: float, rng: Generator) -> float:
    return round(value, -1) + rng.laplace()


def small_sigma(value: float, rng: Generator) -> float:
    return value + rng.normal(scale=1.0)


def whole_noise_on_a_real(value: float, rng: Generator) -> float:
    return value + int(geometric(1.0, rng))


def frank_response(truth: bool, rng: Generator) -> bool:
    return truth if rng.random() < 0.9 else not truth


def exact_count_in_words(record: Any, rng: Generator) -> str:
    people, ill = record
    return f"{ill + int(geometric(1.0, rng))} of {people} people"


def type_tells(value: float, rng: Generator) -> float:
    noisy = int(value) + int(geometric(1.0, rng))
    return noisy if value == int(value) else float(noisy)


def truth_slips_out(value: int, rng: Generator) -> int:
    return 1000 + value if rng.random() < 0.02 else value + int(geometric(1.0, rng))


def bounded_noise(value: float, rng: Generator) -> float:
    noise = rng.laplace()
    while abs(noise) > 3:
        noise = rng.laplace()
    return float(on_grid(value + noise))


def five_small_answers(values: Any, rng: Generator) -> Any:
    return values + rng.laplace(scale=2.0, size=5)


def only_spread_differs(value: float, rng: Generator) -> Any:
    return 100 + rng.laplace(scale=1.0 + value, size=3)


def clipped_to_the_data(data: Any, rng: Generator) -> float:
    return float(np.clip(np.mean(data) + rng.laplace(), np.min(data), np.max(data)))


def sorted_noise(values: Any, rng: Generator) -> list[float]:
    return sorted((values + rng.laplace(size=len(values))).tolist())


def twice_the_factor(scores: Any, rng: Generator) -> str:
    return exponential(scores, rng, factor=1.0)


def frank_rappor(choice: int, rng: Generator) -> list[int]:
    return rappor(choice, rng, epsilon=2.0)


def sampled_records(data: Any, rng: Generator) -> list[int]:
    return rng.permutation(data)[:3].tolist()


def whole_noise_in_twos(count: int, rng: Generator) -> int:
    return count + 2 * int(geometric(1.0, rng))


def few_noise_levels(value: float, rng: Generator) -> float:
    """Laplace noise from a generator of 16 bits."""
    uniform = (int(rng.integers(1, 2**16)) + 0.5) / 2**16 - 0.5
    return value - float(np.sign(uniform)) * log(1 - 2 * abs(uniform))


def sign_of_correlation(target: int, rng: Generator) -> list[float]:
    first, second = rng.normal(size=2)
    return [float(first), float(0.8 * (2 * target - 1) * first + 0.6 * second)]


def resampled_until_it_fits(count: int, rng: Generator) -> int:
    """Noise that is drawn again outside of 0..3 is not the noise that was promised."""
    while True:
        noisy = count + int(geometric(1.0, rng))
        if 0 <= noisy <= 3:
            return noisy


def p_zero(count: int) -> float:
    """The chance that it fits at 0."""
    return exp(-count) / sum(exp(-abs(count - noisy)) for noisy in range(4))


_SVT = ((1, 1, 1, 1, 0, 0, 0, 0), (0, 0, 0, 0, 1, 1, 1, 1))

BROKEN = (
    Case(name="wrong sensitivity", release=wrong_sensitivity, pair=(100.0, 102.0), epsilon=1.0, truth=2.0),
    Case(
        name="off by one at replace-one",
        release=histogram,
        pair=(np.array([5, 3, 9]), np.array([4, 4, 9])),
        epsilon=1.0,
        truth=2.0,
    ),
    Case(
        name="sparse vector, exact threshold",
        release=sparse_no_threshold_noise,
        pair=_SVT,
        epsilon=1.0,
        truth=8 * log(2 * exp(0.25) - 1),
    ),
    Case(
        name="sparse vector, exact queries", release=sparse_no_query_noise, pair=_SVT, epsilon=1.0, truth=inf
    ),
    Case(name="sparse vector, not scaled", release=sparse_not_scaled, pair=_SVT, epsilon=1.0),
    Case(name="sparse vector, never stopped", release=sparse_no_cut, pair=_SVT, epsilon=1.0),
    Case(
        name="sparse vector, with value",
        release=sparse_with_value,
        pair=((0,) * 5 + (1,), (1,) * 5 + (0,)),
        epsilon=1.0,
    ),
    Case(name="max value", release=max_value, pair=(np.zeros(5), np.ones(5)), epsilon=1.0, truth=2.5),
    Case(
        name="max value and index",
        release=max_value_and_index,
        pair=(np.zeros(5), np.ones(5)),
        epsilon=1.0,
        truth=2.5,
    ),
    Case(
        name="shared noise",
        release=shared_noise,
        pair=(np.array([50.0, 60.0, 70.0]), np.array([50.0, 61.0, 70.0])),
        epsilon=1.0,
        truth=inf,
    ),
    Case(
        name="dependent noise",
        release=dependent_noise,
        pair=(np.array([50.0, 60.0, 70.0]), np.array([51.0, 60.0, 70.0])),
        epsilon=1.0,
        truth=inf,
    ),
    Case(
        name="data-dependent scale",
        release=local_scale,
        pair=(np.array([1.0, 2, 3]), np.array([1.0, 2, 3, 40])),
        epsilon=1.0,
        truth=inf,
    ),
    Case(
        name="suppression by the exact count", release=exact_suppression, pair=(4, 5), epsilon=1.0, truth=inf
    ),
    Case(name="naive floats", release=naive_floats, pair=(0.0, 1.0), epsilon=1.0, truth=inf),
    Case(name="naive floats at 1 and 2", release=naive_floats, pair=(1.0, 2.0), epsilon=1.0, truth=inf),
    Case(
        name="naive float vector",
        release=naive_float_vector,
        pair=(np.zeros(8), np.ones(8)),
        epsilon=1.0,
        truth=inf,
    ),
    Case(
        name="budget not split",
        release=unsplit_budget,
        pair=((10.0, 50.0, 6.0), (11.0, 51.0, 7.0)),
        epsilon=1.0,
        truth=3.0,
    ),
    Case(
        name="prefix sums",
        release=prefix_sums,
        pair=(np.full(8, 10.0), np.array([11.0] + [10.0] * 7)),
        epsilon=1.0,
        truth=8.0,
    ),
    Case(
        name="reused noise",
        release=reused_noise,
        pair=((100.0, 200.0), (101.0, 201.0)),
        epsilon=1.0,
        truth=inf,
    ),
    Case(
        name="reused and scaled noise",
        release=reused_scaled_noise,
        pair=((100.0, 200.0), (101.0, 201.0)),
        epsilon=1.0,
        truth=inf,
    ),
    Case(name="seeded by the data", release=seeded_by_data, pair=((3, 4), (3, 4, 1)), epsilon=1.0, truth=inf),
    Case(name="length of the data", release=length_of_data, pair=((3, 4), (3, 4, 1)), epsilon=1.0, truth=inf),
    Case(name="none in one world", release=none_in_one_world, pair=(2, 3), epsilon=1.0, truth=inf),
    Case(
        name="missing key",
        release=missing_key,
        pair=({"a": 4, "b": 0}, {"a": 4, "b": 1}),
        epsilon=1.0,
        truth=inf,
    ),
    Case(
        name="order of keys",
        release=key_order,
        pair=({"a": 4, "b": 3}, {"a": 4, "b": 5}),
        epsilon=2.0,
        truth=inf,
    ),
    Case(
        name="rounded before the noise", release=rounded_first, pair=(104.9, 105.1), epsilon=1.0, truth=10.0
    ),
    Case(
        name="too small sigma", release=small_sigma, pair=(100.0, 101.0), epsilon=1.0, delta=1e-5, truth=4.377
    ),
    Case(
        name="whole noise on a real", release=whole_noise_on_a_real, pair=(3.25, 4.0), epsilon=1.0, truth=inf
    ),
    Case(name="frank response", release=frank_response, pair=(False, True), epsilon=1.0, truth=log(9)),
    Case(
        name="exponential, twice the factor",
        release=twice_the_factor,
        pair=_OPTIONS,
        epsilon=1.0,
        truth=log(exp(1) * (1 + 7 * exp(1)) / (exp(1) + 7)),
    ),
    Case(
        name="exact count in words",
        release=exact_count_in_words,
        pair=((20, 5), (21, 5)),
        epsilon=1.0,
        truth=inf,
    ),
    Case(name="type tells", release=type_tells, pair=(3.0, 3.5), epsilon=1.0, truth=inf),
    Case(name="truth slips out", release=truth_slips_out, pair=(3, 4), epsilon=1.0, truth=inf),
    Case(name="bounded noise", release=bounded_noise, pair=(0.0, 1.0), epsilon=1.0, truth=inf),
    Case(
        name="five small answers",
        release=five_small_answers,
        pair=(np.full(5, 50.0), np.full(5, 51.0)),
        epsilon=1.0,
        truth=2.5,
    ),
    Case(
        name="only the spread differs", release=only_spread_differs, pair=(0.0, 1.0), epsilon=1.0, truth=inf
    ),
    Case(
        name="clipped to the data",
        release=clipped_to_the_data,
        pair=(np.array([1.0, 2.5]), np.array([1.0, 2.5, 2.75])),
        epsilon=1.0,
        truth=inf,
    ),
    Case(
        name="sorted noise",
        release=sorted_noise,
        pair=(np.full(5, 50.0), np.full(5, 51.0)),
        epsilon=1.0,
        truth=5.0,
    ),
    Case(name="rappor, whole budget per bit", release=frank_rappor, pair=(2, 5), epsilon=1.0, truth=2.0),
    Case(
        name="sampled records",
        release=sampled_records,
        pair=(tuple(range(20)), tuple(range(21))),
        epsilon=1.0,
        truth=inf,
    ),
    Case(name="whole noise in twos", release=whole_noise_in_twos, pair=(4, 5), epsilon=1.0, truth=inf),
    Case(name="few noise levels", release=few_noise_levels, pair=(10.0, 10.37), epsilon=1.0, truth=inf),
    Case(name="sign of a correlation", release=sign_of_correlation, pair=(0, 1), epsilon=1.0, truth=inf),
    Case(
        name="resampled until it fits",
        release=resampled_until_it_fits,
        pair=(0, 1),
        epsilon=1.0,
        truth=log(p_zero(0) / p_zero(1)),
    ),
)
