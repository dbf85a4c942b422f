"""Table II: features, classes, members, non-members and rows for shadows, by our readers."""

from dataclasses import dataclass

from leakgauge.papers.comparison import ComparedNumber, PublishedNumber, exact_number
from leakgauge.papers.data_sets import DataSet
from leakgauge.papers.humphries23.attribute_bias import EDUCATION, GENDER
from leakgauge.papers.humphries23.experiment_figures import FILES
from leakgauge.papers.humphries23.member_groups import (
    FIGURE_2,
    FIGURE_3,
    FIGURE_6,
    FIGURE_7,
    FIGURE_8,
    FIGURE_9,
)
from leakgauge.papers.humphries23.plans import Experiment
from leakgauge.papers.paper import ItemResult, PaperItem, PlayedItem, Scale

SEED = 1  # of the split; sizes do not depend on it
COLUMNS = ("features", "classes", "members", "non-members", "rows for shadows")
N = 10_000


@dataclass(frozen=True)
class ExperimentSizes:
    """A row of the table: what the paper prints, and the experiment that is ours."""

    words: str
    experiment: Experiment
    printed: tuple[int | None, ...]
    why: str = ""


ROWS = (
    ExperimentSizes(
        "adult cluster",
        FIGURE_2.experiments[0],
        (104, 2, N, N, 15_132),
        "Our k-means ends with 15,135 and 33,707 rows in the two clusters; the paper implies three fewer.",
    ),
    ExperimentSizes("compas cluster", FIGURE_3.experiments[0], (15, 2, 2_000, 2_000, None)),
    ExperimentSizes("adult education", EDUCATION.experiments[0.0], (87, 2, N, N, 10_772)),
    ExperimentSizes("adult gender", GENDER.experiments[0.0], (103, 2, N, N, 11_192)),
    *(
        ExperimentSizes(f"heart, {name}", experiment, (22, 2, members, 920 - members, None))
        for (name, members), experiment in zip(
            (("Cleveland", 303), ("Hungary", 294), ("Switzerland", 123), ("VA Long Beach", 200)),
            FIGURE_6.experiments[:4],
            strict=True,
        )
    ),
    ExperimentSizes("students, Gabriel Pereira", FIGURE_7.experiments[0], (42, 2, 423, 226, None)),
    ExperimentSizes("census and adult", FIGURE_9.experiments[1], (100, 2, N, N, 20_000)),
)
TEXAS = ExperimentSizes("texas, region #3", FIGURE_8.experiments[0], (269, 100, N, N, 20_000))
NOT_TEXAS = "Location-30 stands in for Texas, whose files are not here."


def _table_2(played: PlayedItem) -> ItemResult:
    cells = []
    missing = []
    for row in (*ROWS, TEXAS):
        rows = row.experiment.data(played.scope)
        if rows is None:
            missing.append(row.words)
            continue
        for column, ours, printed in zip(COLUMNS, _sizes(row.experiment, rows), row.printed, strict=True):
            if printed is not None:
                cells.append(_cell(row, column, ours, printed))
    note = f"Without their files (--data with {FILES}) these have no row: {', '.join(missing)}."
    return ItemResult(tuple(cells), (), (note,) if missing else ())


def _cell(row: ExperimentSizes, column: str, ours: int, printed: int) -> ComparedNumber:
    published = PublishedNumber(value=float(printed), places=0, where="table II")
    if row is TEXAS:
        return ComparedNumber(
            setting=f"{column}: {row.words}",
            ours=exact_number(ours),
            published=published,
            comparable=False,
            why=NOT_TEXAS,
        )
    why = row.why if ours != printed else ""
    return ComparedNumber(
        setting=f"{column}: {row.words}", ours=exact_number(ours), published=published, why=why
    )


def _sizes(experiment: Experiment, rows: DataSet) -> tuple[int, ...]:
    """Features, classes, members, others and rows for shadows, of which there are at most n of each kind."""
    from pathlib import Path

    import numpy as np

    from leakgauge.domains.models.data.sources import load_table
    from leakgauge.domains.models.games.dependence import read_dependence
    from leakgauge.domains.models.games.member_split import SplitSizes

    loaded = load_table(dict(rows.table), Path(), SEED)
    dependence = read_dependence(dict(experiment.dependence))
    members = experiment.members.get(Scale.FULL)
    split = dependence.split(
        loaded, SplitSizes(members=members, most_rest=members), np.random.default_rng(SEED)
    )
    return (
        loaded.rows.shape[1],
        loaded.n_classes,
        split.members.size,
        split.others.size,
        split.rest.size,
    )


TABLE_2 = PaperItem(
    title="Table II: the experiments and their sizes",
    about="What our readers make of the published files, beside what the paper prints.",
    show=_table_2,
    notes=(
        (
            "The paper says that rows that occur twice were removed; its code does so for the census alone, "
            "and the printed sizes fit the code."
        ),
    ),
)
