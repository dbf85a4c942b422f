"""The likelihood attack compared with classifiers trained on shadow releases: same rounds, training included.

The classifiers are `shadow_logistic` and a direct implementation of it: people summed one by one, all columns
given to scikit-learn. What would take very long is timed on few releases and scaled up: each takes the same
time.

With rates fitted to every release, a fifth of the time of the likelihood attack under suppression is for one
reading of the 3.4 million published counts, and two fifths for shadows that only bounds on epsilon need.
`shadow_logistic` draws none for them: it is comparable with the attack without them.

What depends on the reference alone is computed once for it, in the first, unmeasured call: rates and their
variation for the likelihood attack, the visitors of each cell for `shadow_logistic`.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from benchmarks.measure import Timing, ratio, repeat, sized
from benchmarks.synthetic_traces import one_at_a_time
from leakgauge import catalog
from leakgauge.core.game import Adversary, play
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations.challenger import Challenger, build
from leakgauge.domains.locations.data.traces import Traces
from leakgauge.domains.locations.knowledge import ZeroKnowledge
from leakgauge.domains.locations.knowledge import build as know
from leakgauge.domains.locations.mobility.simulated_people import SimulatedPeople
from leakgauge.domains.locations.partial_traces import PartialTrace
from leakgauge.domains.locations.release import LocationsView
from leakgauge.domains.locations.shadows.simulator import PublicParameters
from leakgauge.referee.metrics.auc_mean import Metric
from leakgauge.support.threads import single_threaded

ATTACKS = "leakgauge.domains.locations.attacks"
ROUNDS, FEW, TARGETS, TRACES = sized((200, 2, 20, 5_000), (4, 1, 2, 2_000))
CHAINS = {
    "epsilon 1": {"name": "laplace", "epsilon": 1.0, "round": True, "clamp": True},
    "epsilon 0.5": {"name": "laplace", "epsilon": 0.5, "round": True, "clamp": True},
    "suppression of 1": {"name": "raw", "suppress": 1},
}
LIKELIHOODS: dict[str, dict[str, Any]] = {
    "likelihood at usual rates": {"fit": "never", "shadows": 0},
    "likelihood, rates fitted to every release": {},
    "the same without shadows for bounds on epsilon": {"shadows": 0},
}


def run() -> str:
    with single_threaded():  # as in a run
        lines = [line for name in CHAINS for line in _auxiliary(name)]
        return "\n".join([*lines, *_zero("epsilon 1")])


def _auxiliary(name: str) -> Iterator[str]:
    yield (
        f"100 x 168, groups of 1,000, {name}, {ROUNDS} rounds; goal: likelihood 50 x as fast for one "
        "target as shadow_logistic with 400 + 100 shadows at usual rates, 20 x with fitted ones, mean AUC "
        "not lower"
    )
    alone, many = _Game(CHAINS[name], 1, "auxiliary"), _Game(CHAINS[name], TARGETS, "auxiliary")
    book = repeat(partial(_by_the_book, alone.held.reference, alone.held.public, alone.held.sketches[0]), 3)
    for game, n, whose in ((alone, 1, "one target"), (many, TARGETS, f"each of {TARGETS} targets")):
        slow = _scaled(game.timed("shadow_logistic", 3), 1 / n)
        yield f"- {whose}: by the book {book}, shadow_logistic {slow}"
        for words, parameters in LIKELIHOODS.items():
            quick = _scaled(game.timed("likelihood", 5, **parameters), 1 / n)
            yield f"  - {words} {quick}: {ratio(book, quick)}, {ratio(slow, quick)}"
    aucs = {words: many.auc("likelihood", **parameters) for words, parameters in LIKELIHOODS.items()}
    aucs["shadow_logistic"] = many.auc("shadow_logistic")
    yield f"- mean AUC: {', '.join(f'{attack} {auc:.3f}' for attack, auc in aucs.items())}"


def _zero(name: str) -> Iterator[str]:
    yield f"zero knowledge, {name}, one target, {ROUNDS} rounds; goal: one estimate per release 500 x as fast"
    game = _Game(CHAINS[name], 1, "zero")
    book = _scaled(repeat(partial(_book_of_a_release, game.held, game.seen().whole[0]), 3), ROUNDS)
    few = _Game(CHAINS[name], 1, "zero", FEW).timed("shadow_logistic", 3, reuse=False)
    slow, quick = _scaled(few, ROUNDS / FEW), game.timed("likelihood", 5)
    yield (
        f"- one classifier per release by the book {book}, ours {slow}; one estimate per release {quick}: "
        f"{ratio(book, quick)}, {ratio(slow, quick)}"
    )


class _Game:
    """A challenger, and somebody who knows something of it."""

    def __init__(
        self, mechanism: dict[str, Any], n_targets: int, knowledge: str, n_rounds: int = ROUNDS
    ) -> None:
        setting = {
            "group_size": 1000,
            "reference": 2500,
            "splits": 1,
            "targets": {"n": n_targets, "min_visits": 10},
        }
        data = {"source": "synthetic"}
        made = build(data=data, challenger=setting, mechanism=mechanism, folder=Path(), seed=1)
        self.challenger: Challenger = made
        self.held: Any = know(knowledge, {}, made, 1)
        self.n_rounds = n_rounds

    def seen(self) -> LocationsView:
        """Releases that are all drawn and that nobody has looked at: a block keeps what was found in it."""
        members = self.challenger.flip(self.n_rounds, stream(1, Role.BITS))
        seen: LocationsView = self.held.view(self.challenger.release(members, stream(1, Role.RELEASE)))
        seen.whole.sum()
        return seen

    def timed(self, attack: str, times: int, **parameters: Any) -> Timing:
        blocks = [self.seen() for _ in range(times + 1)]
        return repeat(
            lambda: self._study(attack, parameters).score(blocks.pop(), stream(1, Role.SCORE)), times
        )

    def auc(self, attack: str, **parameters: Any) -> float:
        adversary = Adversary(self.held, self._study(attack, parameters))
        return Metric()(play(self.challenger, {"it": adversary}, 1, range(ROUNDS), 0)["it"]).value

    def _study(self, attack: str, parameters: dict[str, Any]) -> Any:
        return catalog.build(ATTACKS, "Attack", attack, parameters).study(self.held, stream(1, Role.STUDY))


def _book_of_a_release(held: ZeroKnowledge, release: np.ndarray) -> object:
    rng = np.random.default_rng(1)
    said = SimulatedPeople(marginals="raw")
    made = one_at_a_time(said.habits(release, held.public), TRACES, held.public.map, rng)
    cells = [sorted(place * held.public.map.n_epochs + epoch for place, epoch in trace) for trace in made]
    starts = np.concatenate([[0], np.cumsum([len(trace) for trace in cells])])
    columns = np.concatenate([np.array(trace, dtype=np.int64) for trace in cells])
    shape = (TRACES, held.public.map.n_cells)
    visits = csr_array((np.ones(columns.size, np.uint8), columns, starts), shape=shape)
    return _by_the_book(Traces(visits, held.public.map), held.public, held.sketches[0])


def _by_the_book(people: Traces, public: PublicParameters, sketch: PartialTrace) -> object:
    """Guan et al. (2024), section 5.2: 200 pairs that share their noise, 100 shadows to check by."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(1)
    own = np.zeros(public.map.n_cells, np.int16)
    own[sketch.cells] = 1
    dense = people.visits.toarray()
    rows = []
    for i in range(300):
        total = np.zeros(public.map.n_cells, np.int16)
        for person in rng.choice(people.n_people, public.n_expected_others, replace=False):
            total += dense[person]
        seed = rng.integers(2**31)
        counts = (total + own, total) if i < 200 else (total,)
        rows += [public.chain.sample(some, np.random.default_rng(seed)) for some in counts]
    scaled = StandardScaler().fit_transform(np.array(rows))
    model = LogisticRegression(solver="liblinear", l1_ratio=1.0, tol=1e-4, random_state=0)
    model.fit(scaled[:400], np.tile([1, 0], 200))
    return model.decision_function(scaled[400:])


def _scaled(timing: Timing, factor: float) -> Timing:
    return Timing(tuple(seconds * factor for seconds in timing.seconds))
