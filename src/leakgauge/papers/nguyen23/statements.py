"""What Nguyen et al. (2023) say in words, and how a number of ours stands beside it."""

from dataclasses import replace

from leakgauge.papers.comparison import Agreement, Claim, ComparedNumber, OurNumber, PublishedNumber
from leakgauge.papers.nguyen23.data import DataColumn

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
        return PublishedNumber(
            value=0.985, places=3, where="“near perfect”, 0.99 from ε = 9 on, section 5", claim=Claim.ABOVE
        )
    if epsilon >= 5:
        return PublishedNumber(
            value=0.77, places=2, where="“≥ 0.77” from ε = 5 on, section 5", claim=Claim.ABOVE
        )
    if epsilon >= 3:
        where = f"{column.stands_for} at ε of 3 and 4, “at least”, section 5"
        return PublishedNumber(value=column.at_3, places=2, where=where, claim=Claim.ABOVE)
    return None


def success_claim_ome(column: DataColumn, epsilon: float) -> PublishedNumber | None:  # noqa: ARG001 (it does not matter there)
    """The success that appendix D states for this column, whatever epsilon."""
    said = "more than 95 %" if column.under_ome >= 0.95 else "about 90 %"
    where = f"{column.stands_for} under OME, “{said}”, appendix D"
    return PublishedNumber(value=column.under_ome, places=3, where=where, claim=Claim.ABOVE)


def tnr_claim(column: DataColumn, epsilon: float) -> PublishedNumber | None:
    """The TNR that section 5 states, but for ImageNet at small epsilon."""
    if column.stands_for == "ImageNet" and epsilon <= 4:
        return None
    return PublishedNumber(value=0.5, places=1, where="“greater than 0.5”, section 5", claim=Claim.ABOVE)
