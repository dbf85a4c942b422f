"""Figures 4 and 5: a share of the members has an attribute that half of the others have."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from leakgauge.papers import comparison, data_sets, metric_intervals, paper
from leakgauge.papers.humphries23 import experiment_figures, member_groups, plans
from leakgauge.papers.series_chart import ChartSeries, dot_series, line_series, series_chart
from leakgauge.report.charts import chart_style
from leakgauge.report.page import Chart, Stroke

CHART_EPSILON = 1.0
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
PLAYED_EPSILON = 1.0  # the epsilon that is simulated at every scale


def bias_charts(
    name: str, words: str, games: Mapping[tuple[float, float | None], plans.VerdictsByLabel]
) -> tuple[Chart, ...]:
    """Advantages and accuracies by share at epsilon 1; where there are more, advantages by epsilon too."""
    here = {share: verdicts for (share, epsilon), verdicts in games.items() if epsilon == CHART_EPSILON}
    charts = [_advantages(name, words, here), _accuracies(name, words, here)]
    if len({epsilon for _, epsilon in games}) > 1:
        charts.append(_by_epsilon(name, words, games))
    return tuple(charts)


def _advantages(name: str, words: str, here: Mapping[float, plans.VerdictsByLabel]) -> Chart:
    traces: list[ChartSeries] = [
        dot_series(
            plans.ATTACK_NAMES[label],
            [
                (share, experiment_figures.advantage(verdicts[label]))
                for share, verdicts in here.items()
                if label in verdicts
            ],
            colour,
        )
        for label, colour in experiment_figures.COLOURS.items()
    ]
    ends = np.array([0.0, 1.0])
    traces.append(line_series("nothing", ends, np.zeros(2), Stroke.DOTTED, chart_style.CHANCE))
    texts = [
        f"{share:.0%}: {experiment_figures.advantage(verdicts[plans.AVERAGE]).value:.3f}"
        for share, verdicts in here.items()
    ]
    return series_chart(
        f"{name}-advantage",
        traces,
        x_title=f"share of members {words}",
        y_title="advantage, TPR - FPR",
        caption=f"Advantage by the share of members {words}, ε = {CHART_EPSILON:g}; 95 % intervals over "
        "repeats.",
        alternative=f"Advantage of the average threshold by share. {'; '.join(texts)}.",
    )


def _accuracies(name: str, words: str, here: Mapping[float, plans.VerdictsByLabel]) -> Chart:
    traces = [
        dot_series(
            part_words,
            [
                (share, comparison.exact_number(experiment_figures.model_accuracies(verdicts)[part]))
                for share, verdicts in here.items()
                if part in experiment_figures.model_accuracies(verdicts)
            ],
            chart_style.SERIES[number],
        )
        for number, (part, part_words) in enumerate(experiment_figures.PARTS.items())
    ]
    return series_chart(
        f"{name}-accuracy",
        traces,
        x_title=f"share of members {words}",
        y_title="accuracy of the model",
        caption=f"Accuracy on members, non-members and rows with the members' bias, ε = {CHART_EPSILON:g}.",
        alternative="Accuracy by share: validation rows that have the members' bias are predicted as well as "
        "members, others are not.",
    )


def _by_epsilon(
    name: str, words: str, games: Mapping[tuple[float, float | None], plans.VerdictsByLabel]
) -> Chart:
    shares = sorted({share for share, _ in games})
    traces: list[ChartSeries] = [
        dot_series(
            f"p = {share:g}",
            [
                (
                    experiment_figures.epsilon_position(plans.DependenceGame("", epsilon)),
                    experiment_figures.advantage(verdicts[plans.AVERAGE]),
                )
                for (one, epsilon), verdicts in games.items()
                if one == share
            ],
            colour,
        )
        for share, colour in zip(shares, chart_style.colours(len(shares)), strict=True)
    ]
    traces.append(experiment_figures.bound_series())
    return series_chart(
        f"{name}-by-epsilon",
        traces,
        x_title="nominal ε (10,000 stands for training without noise)",
        y_title="advantage, TPR - FPR",
        caption=f"Advantage of the average threshold by ε, p being the share of members {words}.",
        alternative="Advantage by nominal ε for each share; shares differ more than epsilons do.",
        log=True,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class BiasedAttribute:
    """An attribute of Adult, and the shares that are simulated at --scale quick."""

    name: str
    group: str
    value: str
    description: str
    quick: tuple[float, ...]
    # repeats, where more are needed
    more: Mapping[float, Mapping[paper.Scale, int]] = field(default_factory=dict)

    @property
    def experiments(self) -> dict[float, plans.Experiment]:
        """One for each share of members."""
        return {share: self._experiment(share) for share in SHARES}

    def audits(self, scope: paper.Scope) -> list[paper.AuditTable]:
        return [audit for experiment in self.experiments.values() for audit in experiment.audits(scope)]

    def games(self, played: paper.PlayedItem) -> dict[tuple[float, float | None], plans.VerdictsByLabel]:
        """Verdicts by share and epsilon."""
        return {
            (share, game.epsilon): verdicts
            for share, experiment in self.experiments.items()
            for game, verdicts in experiment_figures.verdicts_of(experiment, played).items()
        }

    def _experiment(self, share: float) -> plans.Experiment:
        return plans.Experiment(
            name=f"adult-{self.name}-{share * 100:.0f}",
            description=f"Adult, {share:.0%} of members {self.description}",
            data=partial(data_sets.adult, group=self.group, duplicates=member_groups.KEEP),
            dependence={"name": "bias", "group": self.group, "value": self.value, "share": share},
            stand_in={"name": "bias", "group": "component", "value": "0", "share": share},
            members=dict.fromkeys(paper.Scale, 10_000),
            validation=2_500,
            epsilons={paper.Scale.QUICK: (PLAYED_EPSILON,), paper.Scale.FULL: plans.ALL_EPSILONS},
            controlled=False,
            shadows=True,
            only_full=share not in self.quick,
            repeats={**plans.REPEATS, **self.more.get(share, {})},
        )


GENDER = BiasedAttribute(
    name="gender",
    group="sex",
    value="Male",
    description="men",
    quick=(0.0, 0.5, 1.0),
    more={1.0: {paper.Scale.QUICK: 5}},
)
EDUCATION = BiasedAttribute(
    name="education", group="education", value="low", description="of low education", quick=(0.0, 1.0)
)


class _AttributeClaims:
    """Statements about one attribute."""

    def __init__(self, attribute: BiasedAttribute, played: paper.PlayedItem) -> None:
        self.attribute, self.found = attribute, attribute.games(played)
        self.real = next(iter(attribute.experiments.values())).is_real(played.scope)

    def at(
        self, label: str, share: float, published: comparison.PublishedNumber, of: str = "stated"
    ) -> list[comparison.ComparedNumber]:
        """A statement about the advantage at one share."""
        if (verdicts := self.found.get((share, PLAYED_EPSILON))) is None:
            return []
        what = f"{of}: advantage, {plans.ATTACK_NAMES[label]}, {self._place(share, PLAYED_EPSILON)}"
        return [
            experiment_figures.claim_number(
                what, experiment_figures.advantage(verdicts[label]), published, real=self.real
            )
        ]

    def apart(
        self,
        label: str,
        first: tuple[float, float | None],
        second: tuple[float, float | None],
        published: comparison.PublishedNumber | str,
    ) -> list[comparison.ComparedNumber]:
        """A statement about the difference of two advantages, each at a share and an epsilon.

        ``published`` may be words without a number.
        """
        if first not in self.found or second not in self.found:
            return []
        ours = metric_intervals.difference(
            *(experiment_figures.advantage(self.found[place][label]) for place in (first, second))
        )
        names = [self._place(share, epsilon) for share, epsilon in (first, second)]
        what = f"advantage, {plans.ATTACK_NAMES[label]}: {names[0]} minus {names[1]}"
        if isinstance(published, str):
            return [experiment_figures.worded_number(what, ours, published, real=self.real)]
        return [experiment_figures.claim_number(what, ours, published, real=self.real)]

    def accuracy(
        self, share: float, first: str, second: str, published: comparison.PublishedNumber | str
    ) -> list[comparison.ComparedNumber]:
        """A statement about the difference of two accuracies of the model, or words without a number."""
        useful = (
            {}
            if (share, PLAYED_EPSILON) not in self.found
            else experiment_figures.model_accuracies(self.found[share, PLAYED_EPSILON])
        )
        if first not in useful or second not in useful:
            return []
        apart = useful[first] - useful[second]
        ours = comparison.exact_number(apart)
        what = f"accuracy on {first} minus on {second}, {self._place(share, PLAYED_EPSILON)}"
        if isinstance(published, str):
            return [experiment_figures.worded_number(what, ours, published, real=self.real)]
        return [
            experiment_figures.claim_number(what, ours, published, "Means over few repeats.", real=self.real)
        ]

    def _place(self, share: float, epsilon: float | None) -> str:
        game = plans.DependenceGame("", epsilon)
        return f"{share:.0%} of members {self.attribute.description}, {game.description}"


def _stated(
    value: float, where: str, claim: comparison.Claim = comparison.Claim.EQUAL, places: int = 2
) -> comparison.PublishedNumber:
    return comparison.PublishedNumber(value=value, places=places, where=where, claim=claim)


def _gender(played: paper.PlayedItem) -> paper.ItemResult:
    claims = _AttributeClaims(GENDER, played)
    negative = "“for bias levels p ≥ 0.75 … negative”, section IV-C"
    cells = [
        *claims.at(plans.AVERAGE, 0.75, _stated(0.0, negative, comparison.Claim.AT_MOST)),
        *claims.at(plans.AVERAGE, 1.0, _stated(0.0, negative, comparison.Claim.AT_MOST)),
        *claims.apart(
            plans.AVERAGE,
            (0.0, PLAYED_EPSILON),
            (0.5, PLAYED_EPSILON),
            _stated(0.0, "figure 4, falls with p", comparison.Claim.ABOVE),
        ),
        *claims.apart(
            plans.AVERAGE,
            (0.5, PLAYED_EPSILON),
            (1.0, PLAYED_EPSILON),
            _stated(0.0, "figure 4, falls with p", comparison.Claim.ABOVE),
        ),
        *claims.apart(
            plans.AVERAGE,
            (0.0, 0.1),
            (0.5, None),
            "The paper calls the two similar (section IV-C).",
        ),
        *claims.accuracy(
            1.0,
            "others",
            "members",
            _stated(0.0, "“higher than for members”, section IV-C", comparison.Claim.ABOVE),
        ),
        *(
            cell
            for share in SHARES
            for cell in claims.accuracy(
                share,
                "members",
                "validation",
                "The paper calls the two very similar (section IV-C).",
            )
        ),
    ]
    return _shown(GENDER, played, cells)


def _education(played: paper.PlayedItem) -> paper.ItemResult:
    claims = _AttributeClaims(EDUCATION, played)
    cells = [
        *claims.apart(
            plans.OPTIMAL,
            (1.0, PLAYED_EPSILON),
            (0.0, PLAYED_EPSILON),
            _stated(0.0, "figure 5, rises with p", comparison.Claim.ABOVE),
        ),
        *claims.accuracy(
            0.0,
            "others",
            "members",
            _stated(0.0, "“higher than in members”, section IV-C", comparison.Claim.ABOVE),
        ),
    ]
    if (verdicts := claims.found.get((1.0, 0.1))) is not None:
        breaks = _stated(
            experiment_figures.advantage_bound(0.1),
            "“breaking the DP bound”, section IV-C",
            comparison.Claim.ABOVE,
            3,
        )
        what = f"advantage, {plans.ATTACK_NAMES[plans.OPTIMAL]}, 100% of members of low education, ε = 0.1"
        cells.append(
            experiment_figures.claim_number(
                what, experiment_figures.advantage(verdicts[plans.OPTIMAL]), breaks, real=claims.real
            )
        )
    return _shown(EDUCATION, played, cells)


def _shown(
    attribute: BiasedAttribute, played: paper.PlayedItem, stated: list[comparison.ComparedNumber]
) -> paper.ItemResult:
    experiments = tuple(attribute.experiments.values())
    plain = [
        cell for experiment in experiments for cell in experiment_figures.measured_numbers(experiment, played)
    ]
    charts = bias_charts(attribute.name, attribute.description, attribute.games(played))
    return paper.ItemResult(
        (*stated, *plain), charts, experiment_figures.data_notes(played.scope, experiments)
    )


FIGURE_4 = paper.PaperItem(
    title="Figure 4: Adult, a share of the members are men",
    about="Members are 10,000 rows of Adult, p of them men; of 10,000 non-members half are. This column is "
    "not among the features. Men are harder to predict: with p = 1 losses of members are higher than those "
    "of others, and an attack that regards a low loss as a sign of membership does worse than guessing. We "
    "report this negative advantage as it is, neither clipped nor flipped.",
    audits=GENDER.audits,
    show=_gender,
    notes=(member_groups.LABELS, member_groups.OTHERS_THRESHOLD, member_groups.NO_SHADOWS),
)
FIGURE_5 = paper.PaperItem(
    title="Figure 5: Adult, a share of the members have low education",
    about="The same by education, whose two columns are not among the features.",
    audits=EDUCATION.audits,
    show=_education,
    notes=(
        (
            "The paper's text counts some college as high education, its code as low; table II fits the "
            "code, and so do we: 33,070 rows are low."
        ),
    ),
)
