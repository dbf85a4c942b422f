"""The plans of Guan et al. (2024): attacks, releases, data and games; verdicts by game."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from leakgauge.papers import data_sets, paper
from leakgauge.report.charts import chart_style
from leakgauge.verdict import Verdict

GROUP = 1_000
THRESHOLDS = (0, 1, 2, 3, 4, 5)  # figure 7
EPSILONS = (0.1, 0.5, 1.0, 5.0, 10.0)  # figure 8
USER_DAY = "user-day"
TARGETS = {paper.Scale.QUICK: 3, paper.Scale.FULL: 50}
# one release serves all targets; the paper: 100 for each
ROUNDS = {paper.Scale.QUICK: 330, paper.Scale.FULL: 1_000}
LEAST_VISITS = 10  # of a target
CONFIDENCE = 0.95
CDR_TARGETS, CDR_ROUNDS = 2, 100  # at --scale quick
ELSEWHERE_TARGETS = 2  # at --scale quick: four weeks have four times the cells to learn from
RAW_TARGETS = 8  # at --scale quick: without noise learning is fast
GRID = (10, 10)
# Of places, in the city that stands in for Milan: of 1,000 people, 99.0 % of the counts above 0 are at most
# 5, after the daily cap that all games use (figure 15).
CITY_POPULARITY = 0.25
FIRST_WEEK = ("2013-11-01", "2013-11-08")
FOUR_WEEKS = ("2012-04-09", "2012-05-07")
Key: TypeAlias = tuple[str, str]  # audit and label


@dataclass(frozen=True, kw_only=True)
class AttackVariant:
    """An attack with its knowledge, as in a plan, and how the page shows it."""

    label: str
    description: str
    attack: str
    knowledge: str
    colour: str
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)  # further keys of the attack
    known: Mapping[str, Any] = field(default_factory=dict, hash=False)  # further keys of the knowledge

    @property
    def attack_table(self) -> dict[str, Any]:
        """One entry of `attacks` in a plan."""
        return {
            "name": self.attack,
            "knowledge": {"name": self.knowledge, **self.known},
            **self.options,
            "label": self.label,
        }

    def extended(
        self,
        label: str,
        *,
        options: Mapping[str, Any] | None = None,
        known: Mapping[str, Any] | None = None,
        colour: str = "",
    ) -> "AttackVariant":
        """Return the same attack with further options or other knowledge, and the label extended."""
        return replace(
            self,
            label=f"{self.label}-{label}",
            description=f"{self.description}, {label}",
            options={**self.options, **(options or {})},
            known=known or self.known,
            colour=colour or self.colour,
        )


def _likelihood_variant(knowledge: str, colour: str) -> AttackVariant:
    return AttackVariant(
        label=f"likelihood-{knowledge}",
        description=f"likelihood, {knowledge}",
        attack="likelihood",
        knowledge=knowledge,
        colour=colour,
    )


KNOCK_KNOCK = AttackVariant(
    label="knock-knock",
    description="Knock-Knock",
    attack="shadow_logistic",
    knowledge="auxiliary",
    colour=chart_style.SERIES[0],
)
ZERO_KNOWLEDGE = AttackVariant(
    label="zero-knowledge",
    description="zero-knowledge",
    attack="shadow_logistic",
    knowledge="zero",
    colour=chart_style.SERIES[1],
    options={"marginals": "guan24"},
)
ZERO_DECONVOLUTION = AttackVariant(
    label="zero-knowledge-deconvolution",
    description="zero-knowledge with deconvolution",
    attack="shadow_logistic",
    knowledge="zero",
    colour=chart_style.SERIES[5],
)
LIKELIHOOD = _likelihood_variant("auxiliary", chart_style.SERIES[2])
LIKELIHOOD_ZERO = _likelihood_variant("zero", chart_style.SERIES[3])
INFORMED = _likelihood_variant("informed", chart_style.SERIES[4])
PAPER_ATTACKS = (KNOCK_KNOCK, ZERO_KNOWLEDGE)
OUR_ATTACKS = (LIKELIHOOD, LIKELIHOOD_ZERO, INFORMED)
ALL_ATTACKS = (*PAPER_ATTACKS, *OUR_ATTACKS)


@dataclass(frozen=True, kw_only=True)
class ReleaseSetting:
    """How counts are published: noise, rounding and clamping with it, suppression; and of how many people.

    Without ``epsilon`` there is no noise; without ``m`` the group is as large as is usual at a place.
    """

    k: int = 0
    epsilon: float | None = None
    unit: str = "event"
    m: int | None = None

    def played_as(self, per_day: int) -> "ReleaseSetting":
        """The event-level release of figure 8 that has the same noise, if there is one; otherwise this one.

        Noise for a day of at most n visits is that for a visit with an n-th of the epsilon.
        """
        if self.epsilon is None or self.unit != USER_DAY or self.epsilon / per_day not in EPSILONS:
            return self
        return replace(self, epsilon=self.epsilon / per_day, unit="event")

    @property
    def name(self) -> str:
        """As part of the name of an audit."""
        noise = [] if self.epsilon is None else [f"{self.unit}={self.epsilon:g}"]
        size = [] if self.m is None else [f"m={self.m}"]
        return ",".join([*noise, f"k={self.k}", *size])

    @property
    def description(self) -> str:
        """On the page."""
        noise = [] if self.epsilon is None else [f"{self.unit} ε = {self.epsilon:g}"]
        suppressed = [f"k = {self.k}"] if self.k or not noise else []
        size = [] if self.m is None else [f"m = {self.m:,}"]
        return ", ".join([*noise, *suppressed, *size])

    @property
    def mechanism_table(self) -> dict[str, Any]:
        """The mechanism of a plan."""
        if self.epsilon is None:
            return {"name": "raw", "suppress": self.k}
        return {
            "name": "laplace",
            "epsilon": self.epsilon,
            "unit": self.unit,
            "round": True,
            "clamp": True,
            "suppress": self.k,
        }


@dataclass(frozen=True, kw_only=True)
class LocationDataSet:
    """A data set, and how groups are drawn from it; ``stands_for`` names the column of the paper."""

    data: data_sets.DataSet
    group: int = GROUP
    reference: int | float = 2_500  # people, or a share of them
    per_day: int = 10
    stands_for: str = "Milan"
    weeks: int = 1

    @property
    def name(self) -> str:
        return self.data.name

    @property
    def description(self) -> str:
        return self.data.description

    def challenger_table(
        self, targets: int, *, group: int | None = None, least: int = LEAST_VISITS
    ) -> dict[str, Any]:
        """The challenger of a plan: groups of these people, and targets of ``least`` visits or more."""
        return {
            "group_size": group or self.group,
            "splits": 1,  # as in the paper
            "relation": "replace_one",
            "reference": self.reference,
            "per_day": self.per_day,
            "targets": {"n": targets, "min_visits": least},
        }

    @property
    def is_original(self) -> bool:
        """Whether these are the data of the paper."""
        return self.data.name == "milan"

    @property
    def is_further(self) -> bool:
        """Whether these data stand for none of the paper's."""
        return not self.is_original and self.data.table["source"] != "synthetic"

    @property
    def why_not(self) -> str:
        """Why a number that the paper prints cannot be compared with ours; empty if it can."""
        if self.is_original:
            return ""
        if self.stands_for == "CDR":
            return "The call records are private; we use a synthetic city of the same size."
        return f"The tweets of Milan were not given; we use {self.description}."


CITY = LocationDataSet(
    data=data_sets.DataSet(
        name="city",
        description="a synthetic city",
        table={
            "source": "synthetic",
            "users": 4840,
            "sites": 100,
            "epochs": 168,
            "visits": 21.5,  # before the daily cap, which leaves 19.1
            "popularity": CITY_POPULARITY,
        },
    )
)
CDR = LocationDataSet(
    data=data_sets.DataSet(
        name="cdr-city",
        description="a synthetic city of the size of the call records",
        table={
            "source": "synthetic",
            "users": 11000,
            "sites": 500,
            "epochs": 720,
            "visits": 130,  # before the daily cap, which leaves 122
            "layout": "irregular",
            "spacing": 550,
        },
    ),
    reference=5_000,
    per_day=20,
    stands_for="CDR",
)


def main_place(scope: paper.Scope) -> LocationDataSet:
    """Milan, if its file is in the folder of the data sets; otherwise a synthetic city of the same size."""
    verdicts = data_sets.milan(scope, GRID, FIRST_WEEK)
    return CITY if verdicts is None else LocationDataSet(data=verdicts)


def substitutes(scope: paper.Scope) -> tuple[LocationDataSet, ...]:
    """Other real data, used where Milan is not given; New York is too small for groups of 1,000."""
    if main_place(scope).is_original:
        return ()
    malaysia = data_sets.kuala_lumpur(scope, FOUR_WEEKS)
    york = data_sets.new_york(scope, GRID, FOUR_WEEKS)
    return (
        *([] if malaysia is None else [LocationDataSet(data=malaysia, reference=0.5, weeks=4)]),
        *([] if york is None else [LocationDataSet(data=york, reference=0.5, group=400, weeks=4)]),
    )


def place_note(scope: paper.Scope, *, cdr: bool = True) -> str:
    """Say which data were used."""
    private = _cdr_note(scope) if cdr else ""
    if main_place(scope).is_original:
        return f"Simulated on the first week of Social Pulse Milano, on a grid of 10 x 10 places.{private}"
    others = " and ".join(f"{place.description} (groups of {place.group:,})" for place in substitutes(scope))
    besides = f", some settings on {others} too" if others else ""
    return (
        "Simulated on a substitute, a synthetic city of the size of the Milan data (4,840 people, 100 "
        "places, 168 hours; after the daily cap of 10, 19.1 visits on average, and 99.0 % of the counts "
        "above 0 of 1,000 people are at most 5)"
        f"{besides}: social-pulse-milano.geojson is not in the folder of the data sets (--data). Values that "
        "the paper measured on Milan are shown but not compared, in tables and in the text. Limits and "
        f"orders that the text states are judged on this city, and only shown beside other data.{private}"
    )


def _cdr_note(scope: paper.Scope) -> str:
    quick = (
        " At this scale only the likelihood attack is simulated there in most settings, for two targets, "
        "because learning from 360,000 cells takes long; what the paper says of its own attacks there is "
        "listed as not simulated."
        if scope.scale is paper.Scale.QUICK
        else ""
    )
    return (
        " The call records (CDR) are private: their values are shown beside those of a synthetic city of the "
        "same size (11,000 people, 500 places, 720 hours, 122 visits on average after the daily cap of 20) "
        f"and not compared; limits and orders that the text states are judged on it.{quick}"
    )


@dataclass(frozen=True, kw_only=True)
class AggregateGame:
    """One audit: a data set, a release, and the attacks on it."""

    place: LocationDataSet
    release: ReleaseSetting
    attacks: Sequence[AttackVariant]
    least: int = LEAST_VISITS

    @property
    def name(self) -> str:
        return audit_name(self.place, self.release, self.least)

    def audit_table(self, scale: paper.Scale) -> paper.AuditTable:
        """The audit of a plan."""
        targets, rounds = TARGETS[scale], ROUNDS[scale]
        if scale is paper.Scale.QUICK and self.place.stands_for == "CDR":
            targets, rounds = CDR_TARGETS, CDR_ROUNDS
        elif scale is paper.Scale.QUICK and self.place.weeks > 1:
            targets = ELSEWHERE_TARGETS
        elif scale is paper.Scale.QUICK and self.release.epsilon is None:
            targets = RAW_TARGETS
        return {
            "name": self.name,
            "domain": "locations",
            "rounds": rounds,
            "block": -(-rounds // 2) if scale is paper.Scale.QUICK else 100,
            "data": dict(self.place.data.table),
            "challenger": self.place.challenger_table(targets, group=self.release.m, least=self.least),
            "mechanism": self.release.played_as(self.place.per_day).mechanism_table,
            "metrics": {"confidence": CONFIDENCE},
            "attacks": [variant.attack_table for variant in self.attacks],
        }


def audit_name(place: LocationDataSet, release: ReleaseSetting, least: int = LEAST_VISITS) -> str:
    """The name of the audit of a release; the same release has the same name in every run."""
    active = "" if least == LEAST_VISITS else f",least={least}"
    return f"{place.name}@{release.played_as(place.per_day).name}{active}"


def audit_tables(scope: paper.Scope, games: Iterable[AggregateGame]) -> list[paper.AuditTable]:
    """The audits of some games."""
    return [game.audit_table(scope.scale) for game in games]


@dataclass(frozen=True, eq=False)
class GameVerdicts:
    """Verdicts by audit and attack."""

    verdicts: Mapping[Key, Verdict]

    def find(
        self,
        place: LocationDataSet,
        release: ReleaseSetting,
        variant: AttackVariant,
        least: int = LEAST_VISITS,
    ) -> Verdict | None:
        """Return the verdict of a game, if it was simulated."""
        return self.verdicts.get((audit_name(place, release, least), variant.label))


def game_verdicts(verdicts: Iterable[Verdict]) -> GameVerdicts:
    """Sort verdicts."""
    return GameVerdicts({(verdict.audit, verdict.label): verdict for verdict in verdicts})
