"""Figures 7 and 12: certificates of success over nominal epsilons, beside the measured success."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import TypeAlias

import numpy as np
from numpy.random import Generator

from leakgauge.domains.federated import certificates
from leakgauge.domains.federated.knowledge import ServerKnowledge
from leakgauge.domains.federated.neurons.network import CraftedNeuron
from leakgauge.domains.federated.neurons.perturbed_rows import perturbed_values
from leakgauge.papers import comparison, metric_intervals, paper
from leakgauge.papers.nguyen23 import data, plans
from leakgauge.papers.nguyen23.server import audit_setup
from leakgauge.papers.series_chart import dot_series, line_series, series_chart
from leakgauge.report.charts import chart_style
from leakgauge.report.page import Chart, Stroke

ENOUGH = 12_000  # perturbed rows of others, for rates
RED, BLUE = chart_style.SERIES[1], chart_style.SERIES[0]
BOUNDS: tuple[tuple[str, Callable[[certificates.NeuronCertificate], float], Stroke], ...] = (
    ("certified, Clopper and Pearson", lambda one: one.success, Stroke.LINE),
    ("certified, rows of a batch dependent", lambda one: one.success_of_any, Stroke.DASHED),
    ("certified, Hoeffding", lambda one: one.hoeffding_success, Stroke.DOTTED),
)
TARGETS = {paper.Scale.QUICK: 2, paper.Scale.FULL: 10}
RANGE = (
    "Hoeffding's inequality needs a range that is known before the draws, {wide:.0f} times the observed one "
    "here. By the observed range, which proves nothing, {share:.0%} of targets would count as certified."
)
NOTES = (
    (
        "Theorem 1 says that the neuron's mean value is above zero at the target, and not at others. It "
        "does not follow that the attack wins: what matters is how often the value is above zero, over a "
        "whole batch of other rows. Certified success is about this."
    ),
    (
        "For other rows, a certificate covers the noise on the attacker's rows. It applies to clients to "
        "the extent that their rows are similar."
    ),
    (
        "How much can be certified is limited by the draws: with q of them and no false alarm the FPR of a "
        "row is below 18.4 / q, and a batch of 100 multiplies that."
    ),
)


@dataclass(frozen=True)
class CertificatePair:
    """Two certificates of the same draws."""

    valid: certificates.NeuronCertificate  # by a range that was known before
    as_observed: certificates.NeuronCertificate  # by the range that was observed, which proves nothing

    @property
    def target(self) -> comparison.OurNumber:
        """The mean value at the target between its bounds; the upper one is as far away as the lower."""
        own, error = self.valid.own, self.valid.error
        return comparison.OurNumber(value=own.value, low=own.low(error), high=own.high(error))

    @property
    def others(self) -> comparison.OurNumber:
        """The mean value at other rows between its bounds."""
        others, error = self.valid.others, self.valid.error
        return comparison.OurNumber(value=others.value, low=others.low(error), high=others.high(error))


CertificatesByGame: TypeAlias = Mapping[plans.NominalGame, Sequence[CertificatePair]]  # one for each target


def mean_over_targets(
    proofs: Sequence[CertificatePair], of: Callable[[certificates.NeuronCertificate], float]
) -> float:
    """A proved bound, as a mean over targets."""
    return float(np.mean([of(proof.valid) for proof in proofs]))


def certify(server: ServerKnowledge, crafted: CraftedNeuron, place: int, rng: Generator) -> CertificatePair:
    """Draw the target 4,000 times, and every row of the attacker's, several times if they are few."""
    mechanism = server.training.mechanism
    own = perturbed_values(crafted, server.targets[[place]], certificates.DRAWS, mechanism, rng)
    often = -(-ENOUGH // len(server.rows))
    others = np.concatenate([perturbed_values(crafted, server.rows, 1, mechanism, rng) for _ in range(often)])
    least, most = certificates.value_range(crafted, *certificates.feature_bounds(server))
    observed = float(max(np.ptp(own), np.ptp(others)))
    valid, as_observed = (
        certificates.NeuronCertificate.of(own, others, width, server.training, certificates.CERTIFICATE_ERROR)
        for width in (most - least, observed)
    )
    return CertificatePair(valid, as_observed)


def panel_charts(
    series: plans.MechanismGames,
    scope: paper.Scope,
    panel: tuple[data.DataColumn, data.FeatureForm],
    proofs_by_game: CertificatesByGame,
    games: plans.VerdictsByGame,
) -> list[Chart]:
    """Values with their bounds, and certified beside measured success."""
    column, form = panel
    mine = [point for point in proofs_by_game if (point.column, point.form) == panel]
    if not mine:
        return []
    name = f"certified-{series.mechanism}-{column.name}-{form}".replace("_", "-")
    places = np.array([float(point.epsilon) for point in mine])
    values = [
        dot_series(
            "at the target", [(p.epsilon, _middle([x.target for x in proofs_by_game[p]])) for p in mine], RED
        ),
        dot_series(
            "at other rows", [(p.epsilon, _middle([x.others for x in proofs_by_game[p]])) for p in mine], BLUE
        ),
        line_series("zero", places, np.zeros(places.size), Stroke.DOTTED, chart_style.CHANCE),
    ]
    last = proofs_by_game[mine[-1]]
    shares = [
        line_series(
            label, places, np.array([mean_over_targets(proofs_by_game[p], of) for p in mine]), stroke, RED
        )
        for label, of, stroke in BOUNDS
    ]
    won = [(float(p.epsilon), metric_intervals.accuracy(games[p][plans.LIKELIHOOD])) for p in mine]
    return [
        series_chart(
            name,
            values,
            x_title="nominal ε",
            y_title="value of the chosen neuron",
            caption=f"{column.description(scope, form)}: mean value and bounds that hold but for δ = 1e-8, "
            "by a "
            "range known beforehand.",
            alternative=f"At ε = {mine[-1].epsilon} the mean at the target is "
            f"{_middle([x.target for x in last]).value:.2f}, at others "
            f"{_middle([x.others for x in last]).value:.2f}.",
        ),
        series_chart(
            f"{name}-success",
            [*shares, dot_series("measured", won, BLUE)],
            x_title="nominal ε",
            y_title="success",
            caption=f"{column.description(scope, form)}, batches of {column.batch}: certified and measured "
            "success.",
            alternative=f"At ε = {mine[-1].epsilon} {mean_over_targets(last, lambda one: one.success):.3f} "
            f"is certified and {won[-1][1].value:.3f} was measured.",
        ),
    ]


def _middle(numbers: Sequence[comparison.OurNumber]) -> comparison.OurNumber:
    """The mean over targets of a mean and of its bounds."""
    value, low, high = np.mean(
        [(number.value, number.low, number.high) for number in numbers], axis=0
    ).tolist()
    return comparison.OurNumber(value=value, low=low, high=high)


def _show(series: plans.MechanismGames, played: paper.PlayedItem) -> paper.ItemResult:
    scope = played.scope
    games = series.games(scope.scale, played.verdicts)
    proofs_by_game: dict[plans.NominalGame, list[CertificatePair]] = {}
    for point in games:
        setup = audit_setup(played.plans.values(), point.name(series.mechanism))
        rng = setup.rng()
        server, crafted = setup.craft(TARGETS[scope.scale])
        proofs_by_game[point] = [certify(server, neuron, place, rng) for place, neuron in enumerate(crafted)]
    cells = [
        cell
        for point in proofs_by_game
        for cell in _cells(series, scope, point, proofs_by_game[point], games)
    ]
    panels = [(column, form) for column in data.COLUMNS for form in data.FeatureForm]
    cells += [cell for panel in panels for cell in _smallest(scope, panel, proofs_by_game)]
    charts = [
        chart for panel in panels for chart in panel_charts(series, scope, panel, proofs_by_game, games)
    ]
    return paper.ItemResult(tuple(cells), tuple(charts), (data.data_note(scope),))


def _share(proofs: Sequence[CertificatePair], of: Callable[[CertificatePair], bool]) -> float:
    return float(np.mean([of(proof) for proof in proofs]))


def _cells(
    series: plans.MechanismGames,
    scope: paper.Scope,
    point: plans.NominalGame,
    proofs: Sequence[CertificatePair],
    games: plans.VerdictsByGame,
) -> list[comparison.ComparedNumber]:
    here = point.description(scope)
    first = 2 if series is plans.BITRAND else 1
    stated = "“given ε > 1”, section 5" if series is plans.BITRAND else "“given ε ≥ 1”, appendix D"
    said = (
        f" The paper says of trained neurons that it applies with δ = 1e-8, {stated}."
        if point.epsilon >= first
        else ""
    )
    wide = float(np.median([proof.valid.own.width / proof.as_observed.own.width for proof in proofs]))
    why = RANGE.format(wide=wide, share=_share(proofs, lambda proof: proof.as_observed.holds))
    won = metric_intervals.accuracy(games[point][plans.LIKELIHOOD])
    success, hoeffding, tpr, fpr = (
        mean_over_targets(proofs, attrgetter(name)) for name in ("success", "hoeffding_success", "tpr", "fpr")
    )
    errors = [proof.valid.smallest_error for proof in proofs]
    least = "no δ" if None in errors else f"δ = {max(error for error in errors if error is not None):.1e}"
    return [
        comparison.ComparedNumber(
            setting=f"share of targets for which theorem 1 applies: {here}",
            ours=comparison.exact_number(_share(proofs, lambda proof: proof.valid.holds)),
            why=f"{why} The smallest that would do for all of them: {least}.{said}",
        ),
        comparison.ComparedNumber(
            setting=f"certified success: {here}",
            ours=comparison.exact_number(success),
            why=f"By rates of activation: TPR at least {tpr:.3f}, FPR of a row at most {fpr:.4f} (Clopper "
            f"and Pearson, δ = 1e-8 each); by Hoeffding's bounds {hoeffding:.3f}. Measured over all targets: "
            f"{won.value:.3f}.",
        ),
    ]


def _smallest(
    scope: paper.Scope, panel: tuple[data.DataColumn, data.FeatureForm], proofs_by_game: CertificatesByGame
) -> list[comparison.ComparedNumber]:
    """Corollary 1: the smallest epsilon for which theorem 1 applies to all targets."""
    column, form = panel
    epsilons = [
        point.epsilon
        for point, proofs in proofs_by_game.items()
        if (point.column, point.form) == panel and all(proof.valid.holds for proof in proofs)
    ]
    if not epsilons:
        return []
    return [
        comparison.ComparedNumber(
            setting="smallest nominal ε at which all targets are certified: "
            f"{column.description(scope, form)}",
            ours=comparison.exact_number(min(epsilons)),
            why="Among the nominal ε that were examined.",
        )
    ]


def _item(series: plans.MechanismGames, title: str, about: str) -> paper.PaperItem:
    return paper.PaperItem(
        title=title, about=about, shared_runs=(series.run,), show=partial(_show, series), notes=NOTES
    )


FIGURE_7 = _item(
    plans.BITRAND,
    "Figure 7: certified success under BitRand",
    "4,000 perturbations of the target and at least 12,000 perturbed rows of the attacker's, with "
    "Hoeffding's bounds on the mean value of the likelihood neuron and bounds on how often it is active; "
    "δ = 1e-8 each.",
)
FIGURE_12 = _item(plans.OME, "Figure 12: certified success under OME", "The same under OME.")
