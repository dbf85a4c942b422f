"""Table 1 and figure 9: epochs until a neuron is trained, and success after each, without local noise."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from leakgauge.domains.federated.attacks.trained_neuron import Attack
from leakgauge.domains.federated.neurons.neuron_training import NeuronTrainer, TrainedNeuron
from leakgauge.papers import comparison, metric_intervals, paper
from leakgauge.papers.nguyen23 import data, plans, server
from leakgauge.papers.series_chart import line_series, series_chart
from leakgauge.report.charts import chart_style
from leakgauge.report.page import Chart, Stroke
from leakgauge.support.table_reader import read_dataclass
from leakgauge.verdict import Verdict

NEURONS = (5, 500, 1_000, 2_000)  # r
LIMIT = {paper.Scale.QUICK: 1_000, paper.Scale.FULL: 20_000}  # epochs
TARGETS = {paper.Scale.QUICK: 4, paper.Scale.FULL: 25}
ENOUGH = 1_000  # rows of the attacker at --scale quick, where there are more
FORM = data.FeatureForm.NON_NEGATIVE  # as the paper's
OTHER_ROWS = (
    "The rows and the weights of classes are different, and the end of training is decided on the "
    "attacker's own rows: only the trend can be compared."
)
HELD_BACK = (
    "Measured on rows that were held back, with the bias as trained; the paper measures on the rows on "
    "which it chose the epoch. With the bias midway between the target and the next row, as the server "
    "sets it here, it wins the games of table 1."
)


def _audits(scope: paper.Scope) -> list[paper.AuditTable]:
    attacks: list[dict[str, Any]] = [
        {"name": "trained_neuron", "neurons": r, "epochs": LIMIT[scope.scale], "label": f"r-{r}"}
        for r in NEURONS
    ]
    return [
        plans.audit_table(
            audit_name(column),
            scope,
            column,
            FORM,
            {"name": "none"},
            [*attacks, plans.likelihood_attack(column, FORM)],
            challenger=_reference(scope, column),
            targets=TARGETS[scope.scale],
        )
        for column in data.COLUMNS
    ]


RUN = paper.PaperRun(name="without_noise", audits=_audits)


def audit_name(column: data.DataColumn) -> str:
    """Of the audit of a column."""
    return f"without-noise-{column.name}"


def _reference(scope: paper.Scope, column: data.DataColumn) -> dict[str, Any]:
    many = column is data.CIFAR_10 or column.data(scope, FORM) is data.GENERATED[FORM]
    return {"reference": ENOUGH} if many and scope.scale is paper.Scale.QUICK else {}


def _table_1(played: paper.PlayedItem) -> paper.ItemResult:
    verdicts = {(verdict.audit, verdict.label): verdict for verdict in played.verdicts}
    cells = []
    for column in data.COLUMNS:
        mine = {
            r: verdicts[audit_name(column), f"r-{r}"]
            for r in NEURONS
            if (audit_name(column), f"r-{r}") in verdicts
        }
        cells += [*_epochs(played.scope, column, mine), *_trends(played.scope, column, mine)]
        if built := verdicts.get((audit_name(column), plans.LIKELIHOOD)):
            cells.append(
                comparison.ComparedNumber(
                    setting=f"success, likelihood neuron, no epoch: {column.description(played.scope, FORM)}",
                    ours=metric_intervals.accuracy(built),
                )
            )
    return paper.ItemResult(tuple(cells), (), (data.data_note(played.scope),))


def _of(verdict: Verdict, name: str) -> float:
    return (verdict.studied or {})[name]


def _epochs(
    scope: paper.Scope, column: data.DataColumn, mine: Mapping[int, Verdict]
) -> list[comparison.ComparedNumber]:
    cells = []
    for units, printed in data.PUBLISHED.tables["table_1"].numbers(column.stands_for):
        if (r := int(units)) not in mine:
            continue
        share = _of(mine[r], "separated")
        ended = (
            ""
            if share == 1
            else (f" At that time {1 - share:.0%} of targets were not yet separated from all rows.")
        )
        cells += [
            comparison.ComparedNumber(
                setting=f"epochs, r = {r}: {column.description(scope, FORM)}",
                ours=comparison.exact_number(_of(mine[r], "epochs_mean")),
                published=printed,
                other_data=True,
                why=f"{OTHER_ROWS}{ended}",
            ),
            data.claim_number(
                f"success, r = {r}: {column.description(scope, FORM)}",
                metric_intervals.accuracy(mine[r]),
                data.PUBLISHED["table_1_success"],
                "A client's row that is similar to the target, and was not trained on, activates the "
                f"neuron.{ended}",
            ),
        ]
    return cells


def _trends(
    scope: paper.Scope, column: data.DataColumn, mine: Mapping[int, Verdict]
) -> list[comparison.ComparedNumber]:
    """That more neurons take fewer epochs."""
    stated = comparison.PublishedNumber(
        value=0.0, where="“increasing r helps”, appendix D", claim=comparison.Claim.ABOVE
    )
    return [
        data.claim_number(
            f"epochs, r = {few} minus r = {many}: {column.description(scope, FORM)}",
            comparison.exact_number(_of(mine[few], "epochs_mean") - _of(mine[many], "epochs_mean")),
            stated,
            "A difference of a few epochs, for few targets, may be chance.",
        )
        for few, many in pairwise(NEURONS)
        if few in mine and many in mine
    ]


TABLE_1 = paper.PaperItem(
    title="Table 1: epochs until the neuron is trained, without local noise",
    about="A network with r units is trained to separate one target from all rows of the attacker; training "
    "ends at the first epoch that does. Then games are simulated, without noise on rows.",
    shared_runs=(RUN,),
    show=_table_1,
    notes=(
        (
            "At --scale quick training ends after 1,000 epochs at the latest, for four targets and at most "
            "1,000 rows of the attacker."
        ),
    ),
)


def _figure_9(played: paper.PlayedItem) -> paper.ItemResult:
    scope, cells, charts = played.scope, [], []
    for column in data.COLUMNS:
        trained = _train(server.audit_setup(played.plans.values(), audit_name(column)))
        last = trained.history[-1]
        cells.append(
            data.claim_number(
                f"success at the last epoch, {trained.epochs}: {column.description(scope, FORM)}",
                comparison.exact_number(last.won),
                data.PUBLISHED["figure_9_success"],
                HELD_BACK,
            )
        )
        charts.append(_chart(scope, column, trained))
    return paper.ItemResult(tuple(cells), tuple(charts), (data.data_note(scope),))


def _train(setup: server.AuditSetup) -> TrainedNeuron:
    """Train the neuron of the first target again, to record its epochs."""
    attack = read_dataclass(Attack, setup.attacks[f"r-{NEURONS[-1]}"], "trained_neuron")
    rng = setup.rng()
    trainer = NeuronTrainer.of(setup.server, attack.options(noisy=False), rng)
    return trainer((0, int(rng.integers(2**63))))


def _chart(scope: paper.Scope, column: data.DataColumn, trained: TrainedNeuron) -> Chart:
    epochs = np.arange(1.0, len(trained.history) + 1)
    rows = (
        ("success", [epoch.won for epoch in trained.history], Stroke.LINE, chart_style.SERIES[0]),
        ("TPR", [epoch.tpr for epoch in trained.history], Stroke.DASHED, chart_style.SERIES[1]),
        ("TNR", [epoch.tnr for epoch in trained.history], Stroke.DOTTED, chart_style.SERIES[2]),
    )
    return series_chart(
        f"figure-9-{column.name}",
        [
            line_series(label, epochs, np.array(values), stroke, colour)
            for label, values, stroke, colour in rows
        ],
        x_title="epoch",
        y_title="share of games",
        caption=f"{column.description(scope, FORM)}, r = {NEURONS[-1]}, batches of {column.batch}: the "
        "neuron after each epoch, on rows that were held back.",
        alternative=f"After {trained.epochs} epochs success is {trained.history[-1].won:.3f}.",
    )


FIGURE_9 = paper.PaperItem(
    title="Figure 9: success during training, without local noise",
    about="The neuron of one target with r = 2,000 units in the first layer, after each epoch of training.",
    shared_runs=(RUN,),
    show=_figure_9,
)
