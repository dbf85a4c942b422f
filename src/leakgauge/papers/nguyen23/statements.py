"""What Nguyen et al. (2023) say in words, and how a number of ours stands beside it."""

from dataclasses import replace

from leakgauge.papers.comparison import Agreement, ComparedNumber, OurNumber, PublishedNumber
from leakgauge.papers.nguyen23.data import DataColumn
from leakgauge.papers.published_numbers import read_published

PUBLISHED = read_published(__package__)
BUGS = (
    "The published evaluation loses the sign bit when decoding, draws one mask of flips for all rows of a "
    "batch, which raises the TNR, repeats most of its games, attacks one target, and chooses the epoch on "
    "rows that it then counts. Here every row has noise of its own, there are several targets, and the "
    "adversary chooses on its own rows."
)
OTHER_DATA = "Other rows than the paper's."


def claim_number(
    setting: str, ours: OurNumber, published: PublishedNumber | None, why: str
) -> ComparedNumber:
    """A number beside a statement; ``why`` is said where they differ, or where there is none."""
    cell = ComparedNumber(setting=setting, ours=ours, published=published)
    needed = cell.verdict is Agreement.DIFFERS or published is None
    return replace(cell, why=why) if needed and why else cell


def success_claim_bitrand(column: DataColumn, epsilon: float) -> PublishedNumber | None:
    """The success that section 5 states for this column."""
    if epsilon >= 9:
        return PUBLISHED["bitrand_success_from_9"]
    if epsilon >= 5:
        return PUBLISHED["bitrand_success_from_5"]
    return PUBLISHED[f"bitrand_success_from_3_{column.name}"] if epsilon >= 3 else None


def success_claim_ome(column: DataColumn, epsilon: float) -> PublishedNumber | None:  # noqa: ARG001
    """The success that appendix D states for this column, whatever epsilon."""
    return PUBLISHED[f"ome_success_{column.name}"]


def tnr_claim(column: DataColumn, epsilon: float) -> PublishedNumber | None:
    """The TNR that section 5 states, except for ImageNet at small epsilon."""
    return None if column.stands_for == "ImageNet" and epsilon <= 4 else PUBLISHED["bitrand_tnr"]
