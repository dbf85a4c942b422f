"""Figures 4 and 5: a share of the members has an attribute that half of the others have."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from leakgauge.papers import data_sets, measured
from leakgauge.papers.comparison import Cell, Published, Says, exactly
from leakgauge.papers.humphries23.bias_charts import bias_charts
from leakgauge.papers.humphries23.clusters import KEEP, LABELS, NO_SHADOWS, OTHERS_THRESHOLD
from leakgauge.papers.humphries23.experiments import Experiment, Game, Verdicts
from leakgauge.papers.humphries23.figures import data_notes
from leakgauge.papers.humphries23.judging import (
    accuracies,
    advantage,
    bound,
    judged,
    plain_cells,
    played_games,
)
from leakgauge.papers.humphries23.setting import ALL, AVERAGE, NAMES, OPTIMAL, REPEATS
from leakgauge.papers.paper import Item, Played, Scale, Scope, Shown

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
AT = 1.0  # the epsilon that is played at every scale
SIMILAR = 0.02  # accuracies that are “very similar” are no further apart


@dataclass(frozen=True, kw_only=True, eq=False)
class Attribute:
    """An attribute of Adult, and the shares that are played at --scale quick."""

    name: str
    group: str
    value: str
    words: str
    quick: tuple[float, ...]
    more: Mapping[float, Mapping[Scale, int]] = field(default_factory=dict)  # repeats, where few say little

    @property
    def experiments(self) -> dict[float, Experiment]:
        """One for each share of members."""
        return {share: self._experiment(share) for share in SHARES}

    def plan(self, scope: Scope) -> str:
        return "".join(experiment.plan(scope) for experiment in self.experiments.values())

    def games(self, played: Played) -> dict[tuple[float, float | None], Verdicts]:
        """Verdicts by share and epsilon."""
        return {
            (share, game.epsilon): verdicts
            for share, experiment in self.experiments.items()
            for game, verdicts in played_games(experiment, played).items()
        }

    def _experiment(self, share: float) -> Experiment:
        return Experiment(
            name=f"adult-{self.name}-{share * 100:.0f}",
            words=f"Adult, {share:.0%} of members {self.words}",
            data=partial(data_sets.adult, more=f'group = "{self.group}", {KEEP}'),
            dependence=f'name = "bias", group = "{self.group}", value = "{self.value}", share = {share}',
            stand_in=f'name = "bias", group = "component", value = "0", share = {share}',
            members=dict.fromkeys(Scale, 10_000),
            validation=2_500,
            epsilons={Scale.QUICK: (AT,), Scale.FULL: ALL},
            controlled=False,
            shadows=True,
            only_full=share not in self.quick,
            repeats={**REPEATS, **self.more.get(share, {})},
        )


GENDER = Attribute(
    name="gender",
    group="sex",
    value="Male",
    words="men",
    quick=(0.0, 0.5, 1.0),
    more={1.0: {Scale.QUICK: 5}},
)
EDUCATION = Attribute(
    name="education", group="education", value="low", words="of low education", quick=(0.0, 1.0)
)


class _Said:
    """Statements about one attribute."""

    def __init__(self, attribute: Attribute, played: Played) -> None:
        self.attribute, self.found = attribute, attribute.games(played)
        self.real = next(iter(attribute.experiments.values())).is_real(played.scope)

    def at(self, label: str, share: float, published: Published, of: str = "stated") -> list[Cell]:
        """Of the advantage at one share."""
        if (verdicts := self.found.get((share, AT))) is None:
            return []
        what = f"{of}: advantage, {NAMES[label]}, {self._words(share)}, {Game('', AT).words}"
        return [judged(what, advantage(verdicts[label]), published, real=self.real)]

    def apart(
        self,
        label: str,
        first: tuple[float, float | None],
        second: tuple[float, float | None],
        published: Published,
    ) -> list[Cell]:
        """Of the difference of two advantages, each at a share and an epsilon."""
        if first not in self.found or second not in self.found:
            return []
        ours = measured.difference(*(advantage(self.found[place][label]) for place in (first, second)))
        names = [f"{self._words(share)}, {Game('', epsilon).words}" for share, epsilon in (first, second)]
        what = f"advantage, {NAMES[label]}: {names[0]} less {names[1]}"
        return [judged(what, ours, published, real=self.real)]

    def accuracy(self, share: float, first: str, second: str, published: Published) -> list[Cell]:
        """Of the difference of two accuracies of the model."""
        useful = {} if (share, AT) not in self.found else accuracies(self.found[share, AT])
        if first not in useful or second not in useful:
            return []
        apart = useful[first] - useful[second]
        ours = exactly(abs(apart) if published.says is Says.AT_MOST else apart)
        what = f"accuracy on {first} less on {second}, {self._words(share)}, {Game('', AT).words}"
        return [judged(what, ours, published, "Means over few repeats.", real=self.real)]

    def _words(self, share: float) -> str:
        return f"{share:.0%} of members {self.attribute.words}"


def _stated(value: float, where: str, says: Says = Says.EQUAL, places: int = 2) -> Published:
    return Published(value=value, places=places, where=where, says=says)


def _gender(played: Played) -> Shown:
    said = _Said(GENDER, played)
    negative = "“for bias levels p ≥ 0.75 … negative”, section IV-C"
    cells = [
        *said.at(AVERAGE, 0.0, _stated(0.09, "figure 4, p = 0, about; no number is printed")),
        *said.at(AVERAGE, 0.5, _stated(0.0, "figure 4, p = 0.5, an IID experiment")),
        *said.at(AVERAGE, 0.75, _stated(0.0, negative, Says.AT_MOST)),
        *said.at(AVERAGE, 1.0, _stated(0.0, negative, Says.AT_MOST)),
        *said.apart(AVERAGE, (0.0, AT), (0.5, AT), _stated(0.0, "figure 4, falls with p", Says.ABOVE)),
        *said.apart(AVERAGE, (0.5, AT), (1.0, AT), _stated(0.0, "figure 4, falls with p", Says.ABOVE)),
        *said.apart(
            AVERAGE,
            (0.0, 0.1),
            (0.5, None),
            _stated(0.0, "“similar advantage”, section IV-C", places=1),
        ),
        *said.accuracy(
            1.0, "others", "members", _stated(0.0, "“higher than for members”, section IV-C", Says.ABOVE)
        ),
        *(
            cell
            for share in SHARES
            for cell in said.accuracy(
                share, "members", "validation", _stated(SIMILAR, "“very similar”, section IV-C", Says.AT_MOST)
            )
        ),
    ]
    return _shown(GENDER, played, cells)


def _education(played: Played) -> Shown:
    said = _Said(EDUCATION, played)
    high = "figure 5, p = 1, 0.07 to 0.10; no number is printed"
    cells = [
        *said.at(
            OPTIMAL,
            0.0,
            _stated(0.0, "“perform poorly for low values of p”, section IV-C; figure 5, about 0"),
        ),
        *said.at(OPTIMAL, 1.0, _stated(0.07, high, Says.ABOVE), "stated, from"),
        *said.at(OPTIMAL, 1.0, _stated(0.10, high, Says.AT_MOST), "stated, to"),
        *said.apart(OPTIMAL, (1.0, AT), (0.0, AT), _stated(0.0, "figure 5, rises with p", Says.ABOVE)),
        *said.accuracy(
            0.0, "others", "members", _stated(0.0, "“higher than in members”, section IV-C", Says.ABOVE)
        ),
    ]
    if (verdicts := said.found.get((1.0, 0.1))) is not None:
        breaks = _stated(bound(0.1), "“breaking the DP bound”, section IV-C", Says.ABOVE, 3)
        what = f"advantage, {NAMES[OPTIMAL]}, 100% of members of low education, ε = 0.1"
        cells.append(judged(what, advantage(verdicts[OPTIMAL]), breaks, real=said.real))
    return _shown(EDUCATION, played, cells)


def _shown(attribute: Attribute, played: Played, stated: list[Cell]) -> Shown:
    experiments = tuple(attribute.experiments.values())
    plain = [cell for experiment in experiments for cell in plain_cells(experiment, played)]
    charts = bias_charts(attribute.name, attribute.words, attribute.games(played))
    return Shown((*stated, *plain), charts, data_notes(played.scope, experiments))


FIGURE_4 = Item(
    title="Figure 4: Adult, a share of the members are men",
    about="Members are 10,000 rows of Adult, p of them men; of 10,000 non-members half are. The column that "
    "says so is not among the features. Men are harder to predict: with p = 1 losses of members are higher "
    "than those of others, and an attack that takes a low loss for membership does worse than guessing. That "
    "is reported as it is: negative, neither clipped nor flipped.",
    plan=GENDER.plan,
    show=_gender,
    notes=(LABELS, OTHERS_THRESHOLD, NO_SHADOWS),
)
FIGURE_5 = Item(
    title="Figure 5: Adult, a share of the members have low education",
    about="The same by education, whose two columns are not among the features.",
    plan=EDUCATION.plan,
    show=_education,
    notes=(
        (
            "The paper's text counts some college as high education, its code as low; table II fits the "
            "code, and so do we: 33,070 rows are low."
        ),
    ),
)
