"""Table II: features, classes, members, non-members and rows for shadows, by our readers."""

from leakgauge.papers import comparison, data_sets, paper
from leakgauge.papers.humphries23 import member_groups
from leakgauge.papers.humphries23.attribute_bias import EDUCATION, GENDER
from leakgauge.papers.humphries23.experiment_figures import FILES
from leakgauge.papers.humphries23.plans import Experiment

SEED = 1  # of the split; sizes do not depend on it
TABLE = comparison.read_published(__package__).tables["table_2"]
EXPERIMENTS = {
    "adult cluster": member_groups.FIGURE_2.experiments[0],
    "compas cluster": member_groups.FIGURE_3.experiments[0],
    "adult education": EDUCATION.experiments[0.0],
    "adult gender": GENDER.experiments[0.0],
    "heart, Cleveland": member_groups.FIGURE_6.experiments[0],
    "heart, Hungary": member_groups.FIGURE_6.experiments[1],
    "heart, Switzerland": member_groups.FIGURE_6.experiments[2],
    "heart, VA Long Beach": member_groups.FIGURE_6.experiments[3],
    "students, Gabriel Pereira": member_groups.FIGURE_7.experiments[0],
    "census and adult": member_groups.FIGURE_9.experiments[1],
    "texas, region #3": member_groups.FIGURE_8.experiments[0],
}
REASONS = {
    "adult cluster": "Our k-means ends with 15,135 and 33,707 rows in the two clusters; the paper implies "
    "three fewer."
}
TEXAS = "texas, region #3"
NOT_TEXAS = "Location-30 is used instead of Texas, whose files are not available here."


def _table_2(played: paper.PlayedItem) -> paper.ItemResult:
    cells, missing = [], []
    for name, experiment in EXPERIMENTS.items():
        rows = experiment.data(played.scope)
        if rows is None:
            missing.append(name)
            continue
        sizes = dict(zip(TABLE.columns, _sizes(experiment, rows), strict=True))
        cells += [_cell(name, column, sizes[column], printed) for column, printed in TABLE.numbers(name)]
    note = f"Without their files (--data with {FILES}) there is no row for: {', '.join(missing)}."
    return paper.ItemResult(tuple(cells), (), (note,) if missing else ())


def _cell(
    name: str, column: str, ours: int, published: comparison.PublishedNumber
) -> comparison.ComparedNumber:
    differs = REASONS.get(name, "") if ours != published.value else ""
    return comparison.ComparedNumber(
        setting=f"{column}: {name}",
        ours=comparison.exact_number(ours),
        published=published,
        other_data=name == TEXAS,
        why=NOT_TEXAS if name == TEXAS else differs,
    )


def _sizes(experiment: Experiment, rows: data_sets.DataSet) -> tuple[int, ...]:
    """Features, classes, members, others and rows for shadows, of which there are at most n of each kind."""
    from pathlib import Path

    import numpy as np

    from leakgauge.domains.models.data.sources import load_table
    from leakgauge.domains.models.games.member_split import SplitSizes, read_dependence

    loaded = load_table(dict(rows.table), Path(), SEED)
    dependence = read_dependence(dict(experiment.dependence))
    members = experiment.members.get(paper.Scale.FULL)
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


TABLE_2 = paper.PaperItem(
    title="Table II: the experiments and their sizes",
    about="The sizes that our readers find in the published files, and those that the paper prints.",
    show=_table_2,
    notes=(
        (
            "The paper says that rows that occur twice were removed; its code does so for the census alone, "
            "and the printed sizes fit the code."
        ),
    ),
)
