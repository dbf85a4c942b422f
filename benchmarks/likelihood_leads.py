"""AUC of the likelihood attack with data of similar people, minus that of others on the same releases.

The others are the same attack with only the release (`zero`), the same attack at the usual rates
(`fit = "never"`), and `shadow_logistic`. Releases as in the tables of Guan et al. (2024): suppression, noise,
small groups. The people are split several times into pool and reference; AUC is that of each target over the
rounds of all splits, and differences have standard errors (in brackets). `own` is the accuracy at the own
threshold of the attack, and `calibrated` at one calibrated on the rounds of the other splits. Real data are
read from the folder that LEAKGAUGE_DATA names.

All others play in all settings: `zero`, which is slow, on few rounds of each split, and `shadow_logistic` on
one split and for few targets. The seed was not used while the attack was developed.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from benchmarks.measure import sized
from leakgauge import catalog
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations.challenger import Challenger, build
from leakgauge.domains.locations.knowledge import build as know
from leakgauge.domains.locations.release import LocationsBlock
from leakgauge.support.threads import single_threaded

ATTACKS = "leakgauge.domains.locations.attacks"
SEED = 730211
SPLITS, TARGETS = sized((12, 12), (2, 2))
ROUNDS, FEW_ROUNDS = sized((92, 5), (20, 2))  # of each split; thresholds are calibrated on 11 x 92 rounds
Array = NDArray[Any]


@dataclass(frozen=True)
class Place:
    """A data set, and how groups are drawn from it: groups are at most a third of the pool."""

    name: str
    data: dict[str, Any]
    group_size: int
    reference: int


MAY = ["2012-04-09", "2012-05-07"]
PLACES = (
    Place("city", {"source": "synthetic"}, 750, 2500),
    Place(
        "New York",
        {
            "source": "foursquare_nyc/foursquare_nyc_checkins.csv.gz",
            "columns": {"user": "user", "time": "timestamp", "lat": "lat", "lon": "lon"},
            "timezone": "America/New_York",
            "grid": [10, 10],
            "box": "p0.5",
            "window": MAY,
        },
        200,
        300,
    ),
    Place(
        "Kuala Lumpur",
        {
            "source": "foursquare_cities/foursquare_kuala_lumpur_checkins.parquet",
            "columns": {"time": "hour", "place": "region"},
            "time_unit": "h",
            "origin": "2012-04-02",
            "window": MAY,
        },
        500,
        1600,
    ),
    Place(
        "cabs",
        {
            "source": "cabspotting/cabspotting_2008-05-19_2008-06-08.parquet",
            "columns": {"user": "cab", "time": "ts", "lat": "lat_e5", "lon": "lon_e5"},
            "scale": 1e-5,
            "timezone": "America/Los_Angeles",
            "grid": [10, 10],
            "box": [37.70, -122.52, 37.82, -122.37],
            "window": ["2008-05-19", "2008-05-26"],
        },
        100,
        200,
    ),
)
NOISE = {"name": "laplace", "round": True, "clamp": True}
SETTINGS: dict[str, tuple[dict[str, Any], int | None]] = {  # mechanism, and group size if it is another one
    **{f"k = {k}": ({"name": "raw", "suppress": k}, None) for k in range(6)},
    **{f"epsilon {e:g}": ({**NOISE, "epsilon": e}, None) for e in (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)},
    "epsilon 1, k = 1": ({**NOISE, "epsilon": 1.0, "suppress": 1}, None),
    "k = 0, m = 50": ({"name": "raw"}, 50),
    "k = 1, m = 50": ({"name": "raw", "suppress": 1}, 50),
    "epsilon 1, m = 50": ({**NOISE, "epsilon": 1.0}, 50),
}


@dataclass(frozen=True)
class Rival:
    """An attacker: how many splits it plays, rounds of each, and targets, for it may be slow."""

    attack: str
    knowledge: str
    parameters: dict[str, Any]
    n_splits: int = SPLITS
    n_rounds: int = ROUNDS
    n_targets: int = TARGETS


LEADER = Rival("likelihood", "auxiliary", {})
RIVALS = {
    "zero": Rival("likelihood", "zero", {}, n_rounds=FEW_ROUNDS),
    "never": Rival("likelihood", "auxiliary", {"fit": "never"}),
    "shadow_logistic": Rival("shadow_logistic", "auxiliary", {}, n_splits=1, n_targets=4),
}
NOISY = ("epsilon 0.01", "epsilon 0.05", "epsilon 0.1")  # shadow_logistic takes up to a minute for a target
NOISY_TARGETS = 2


def run() -> str:
    """Measure the attack and its rivals."""
    with single_threaded():
        lines = [line for place in PLACES for line in of_place(place)]
    return "\n".join([f"{SPLITS} splits, {TARGETS} targets, {ROUNDS} rounds of each split", *lines])


def of_place(
    place: Place,
    settings: dict[str, Any] = SETTINGS,
    rivals: dict[str, Rival] = RIVALS,
    n_rounds: int = ROUNDS,
) -> Iterator[str]:
    """Yield a line for each setting, and one for their means."""
    folder = Path(os.environ.get("LEAKGAUGE_DATA", "."))
    if place.data["source"] != "synthetic" and not (folder / place.data["source"]).exists():
        yield f"- {place.name}: not measured, its file is not in the folder that LEAKGAUGE_DATA names"
        return
    made: dict[int, Challenger] = {}
    leads: dict[str, list[Lead]] = {name: [] for name in rivals}
    yield f"- {place.name}, groups of {place.group_size}, reference of {place.reference}"
    for words, (mechanism, size) in settings.items():
        size = size or place.group_size
        if size not in made:
            made[size] = _challenger(place, size)
        outcome = Outcomes.of(made[size], mechanism, size, rivals_in(words, rivals), n_rounds)
        for name in rivals:
            leads[name].append(outcome.lead(name))
        described = (f"{name} {some[-1]:.3f}" for name, some in leads.items())
        yield f"  - {words}: {'; '.join([outcome.described(), *described])}"
    yield f"  - mean lead: {', '.join(f'{name} {Lead.mean(some):.4f}' for name, some in leads.items())}"


def rivals_in(words: str, rivals: dict[str, Rival]) -> dict[str, Rival]:
    """Return the rivals in a setting: those that train play for fewer targets under much noise."""
    if words not in NOISY:
        return rivals
    return {
        name: replace(rival, n_targets=NOISY_TARGETS) if rival.n_targets < TARGETS else rival
        for name, rival in rivals.items()
    }


@dataclass(frozen=True, eq=False)
class Lead:
    """A difference of the AUC on common rounds, and what it is without each unit (jackknife)."""

    difference: float
    without: Array

    @classmethod
    def mean(cls, leads: Sequence["Lead"]) -> "Lead":
        """Return the mean over settings, which have the units in common."""
        return cls(
            float(np.mean([own.difference for own in leads])), np.mean([own.without for own in leads], axis=0)
        )

    @property
    def error(self) -> float:
        """The standard error."""
        return float(np.sqrt((self.without.size - 1) * np.var(self.without)))

    def __format__(self, form: str) -> str:
        return f"{self.difference:+{form}} ({self.error:{form}})"


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Membership and scores, splits x rounds x targets; rivals may have fewer of each."""

    members: Array
    leader: Array
    rivals: dict[str, Array]

    @classmethod
    def of(
        cls,
        made: Challenger,
        mechanism: dict[str, Any],
        size: int,
        rivals: dict[str, Rival],
        n_rounds: int = ROUNDS,
    ) -> "Outcomes":
        """Play all attackers on the same releases."""
        members, leader = [], []
        others: dict[str, list[Array]] = {name: [] for name in rivals}
        for split, challenger in enumerate(_splits(made, mechanism, size)):
            bits = challenger.flip(n_rounds, stream(100 * SEED + split, Role.BITS))
            members.append(bits)
            block = challenger.release(bits, stream(100 * SEED + split, Role.RELEASE))
            leader.append(_scores(challenger, block, replace(LEADER, n_rounds=n_rounds)))
            for name, rival in rivals.items():
                if split < rival.n_splits:
                    others[name].append(_scores(challenger, block, rival))
        return cls(
            np.array(members), np.array(leader), {name: np.array(some) for name, some in others.items()}
        )

    def auc(self) -> float:
        return _auc(self.members, self.leader)

    def described(self) -> str:
        """AUC and accuracies in words."""
        own, calibrated = self.accuracies()
        return f"AUC {self.auc():.3f}, own {own:.3f}, calibrated {calibrated:.3f}"

    def lead(self, name: str) -> Lead:
        """Return the lead over a rival; units are splits, or twentieths of the rounds of one split."""
        scores = self.rivals[name]
        n_splits, n_rounds, n_targets = scores.shape
        cut = *(part[:n_splits, :n_rounds, :n_targets] for part in (self.members, self.leader)), scores

        def difference(keep: Callable[[Array], Array]) -> float:
            members, ours, theirs = (keep(part) for part in cut)
            return _auc(members, ours) - _auc(members, theirs)

        if n_splits > 1:
            parts = [difference(lambda part, i=i: np.delete(part, i, axis=0)) for i in range(n_splits)]
        else:
            parts = [
                difference(lambda part, i=i: np.delete(part, np.arange(i, n_rounds, 20), axis=1))
                for i in range(20)
            ]
        return Lead(difference(lambda part: part), np.array(parts))

    def accuracies(self) -> tuple[float, float]:
        """Return the accuracy at threshold 0, and at thresholds calibrated on all other splits."""
        own, calibrated = [], []
        for split in range(len(self.members)):
            rest = np.arange(len(self.members)) != split
            for target in range(self.members.shape[2]):
                truth, scores = self.members[split, :, target], self.leader[split, :, target]
                threshold = _best_threshold(
                    self.members[rest, :, target].ravel(), self.leader[rest, :, target].ravel()
                )
                own.append(np.mean((scores >= 0) == truth))
                calibrated.append(np.mean((scores >= threshold) == truth))
        return float(np.mean(own)), float(np.mean(calibrated))


def _challenger(place: Place, size: int) -> Challenger:
    table = {
        "group_size": size,
        "relation": "replace_one",
        "reference": place.reference,
        "splits": SPLITS,
        "per_day": 10,
        "targets": {"n": TARGETS, "min_visits": 10},
    }
    folder = Path(os.environ.get("LEAKGAUGE_DATA", "."))
    return build(data=place.data, challenger=table, mechanism={"name": "raw"}, folder=folder, seed=SEED)


def _splits(made: Challenger, mechanism: dict[str, Any], size: int) -> Iterator[Challenger]:
    """Yield the challenger of each split, with another mechanism."""
    from leakgauge.domains.locations.plan_tables import read_mechanism_table, with_group_size

    chain: Any = with_group_size(read_mechanism_table(mechanism, made.table), size)
    for one in made.by_split:
        yield replace(one, chain=chain)


def _scores(challenger: Challenger, block: LocationsBlock, rival: Rival) -> Array:
    knows: Any = know(rival.knowledge, {}, challenger, 1)
    knows = replace(knows, sketches=knows.sketches[: rival.n_targets])
    scorer = catalog.build(ATTACKS, "Attack", rival.attack, rival.parameters).study(
        knows, stream(1, Role.STUDY)
    )
    view = knows.view(block).of_rounds(np.arange(rival.n_rounds))
    return np.asarray(scorer.score(view, stream(1, Role.SCORE)))


def _auc(members: Array, scores: Array) -> float:
    """Return the mean over targets, with the rounds of all splits together."""
    found = []
    for truth, own in zip(members.reshape(-1, members.shape[-1]).T, scores.reshape(-1, scores.shape[-1]).T):
        n = truth.sum()
        found.append((rankdata(own)[truth].sum() - n * (n + 1) / 2) / (n * (truth.size - n)))
    return float(np.mean(found))


def _best_threshold(members: Array, scores: Array) -> float:
    order = np.argsort(scores)
    missed = np.concatenate([[0], np.cumsum(members[order])]) / members.sum()
    rejected = np.concatenate([[0], np.cumsum(~members[order])]) / (~members).sum()
    edges = np.concatenate([[-np.inf], (scores[order][1:] + scores[order][:-1]) / 2, [np.inf]])
    return float(edges[np.argmax(rejected - missed)])
