"""Numbers that Guan et al. (2024) print: means over 50 targets, with their standard errors."""

from dataclasses import dataclass

from leakgauge.papers.guan24.plans import (
    EPSILONS,
    KNOCK_KNOCK,
    THRESHOLDS,
    USER_DAY,
    ZERO_KNOWLEDGE,
    AttackVariant,
    ReleaseSetting,
)

CDR_COLUMN, MILAN_COLUMN = "CDR", "Milan"


@dataclass(frozen=True, kw_only=True)
class PrintedNumber:
    """One number of a table, and its standard error."""

    column: str  # the data
    release: ReleaseSetting
    variant: AttackVariant
    value: float
    error: float
    places: int = 3


def _columns(text: str) -> list[list[float]]:
    return [[float(number) for number in line.split()] for line in text.strip().splitlines()]


def _accuracy_table(rows: str, releases: list[ReleaseSetting]) -> tuple[PrintedNumber, ...]:
    """Tables 3 to 5: for each data set Knock-Knock and zero-knowledge, each with its error."""
    heads = [
        (CDR_COLUMN, KNOCK_KNOCK),
        (CDR_COLUMN, ZERO_KNOWLEDGE),
        (MILAN_COLUMN, KNOCK_KNOCK),
        (MILAN_COLUMN, ZERO_KNOWLEDGE),
    ]
    return tuple(
        PrintedNumber(column=column, release=release, variant=variant, value=row[2 * i], error=row[2 * i + 1])
        for release, row in zip(releases, _columns(rows), strict=True)
        for i, (column, variant) in enumerate(heads)
    )


def _auc_table(column: str, k: int, rows: str) -> tuple[PrintedNumber, ...]:
    """Tables 6 to 9: by size of the group."""
    return tuple(
        PrintedNumber(
            column=column,
            release=ReleaseSetting(k=k, m=None if row[0] == 1000 else int(row[0])),
            variant=variant,
            value=row[1 + 2 * i],
            error=row[2 + 2 * i],
        )
        for row in _columns(rows)
        for i, variant in enumerate((KNOCK_KNOCK, ZERO_KNOWLEDGE))
    )


ACCURACIES = {
    "table_3": _accuracy_table(
        """
        .980 .012 .991 .008 .990 .005 .990 .003
        .907 .028 .879 .025 .767 .018 .700 .017
        .807 .031 .827 .026 .683 .019 .631 .013
        .685 .032 .687 .031 .600 .016 .550 .009
        .597 .024 .603 .027 .566 .011 .512 .003
        .543 .018 .528 .019 .536 .010 .500 .000
        """,
        [ReleaseSetting(k=k) for k in THRESHOLDS],
    ),
    "table_4": _accuracy_table(
        """
        .588 .019 .555 .014 .539 .006 .549 .007
        .848 .028 .791 .019 .744 .010 .634 .007
        .920 .026 .907 .018 .850 .016 .594 .008
        .906 .035 .934 .019 .881 .022 .660 .018
        .923 .029 .934 .018 .920 .021 .671 .019
        """,
        [ReleaseSetting(epsilon=epsilon) for epsilon in EPSILONS],
    ),
    "table_5": _accuracy_table(
        """
        .502 .014 .502 .010 .497 .006 .496 .006
        .508 .014 .526 .016 .517 .006 .519 .006
        .533 .014 .539 .014 .534 .006 .544 .007
        .723 .020 .676 .018 .746 .009 .680 .008
        .874 .025 .825 .019 .870 .014 .777 .018
        """,
        [ReleaseSetting(epsilon=epsilon, unit=USER_DAY) for epsilon in EPSILONS],
    ),
}
AUCS = {
    "table_6": _auc_table(
        CDR_COLUMN,
        0,
        """
        100 1.000 .000 1.000 .000
        500 1.000 .000 1.000 .000
        1000 1.000 .000 .999 .001
        2000 .997 .003 .994 .006
        3000 .988 .011 .977 .021
        """,
    ),
    "table_7": _auc_table(
        MILAN_COLUMN,
        0,
        """
        100 1.000 .000 1.000 .000
        500 1.000 .000 1.000 .000
        1000 .995 .002 1.000 .000
        2000 .977 .011 1.000 .000
        """,
    ),
    "table_8": _auc_table(
        CDR_COLUMN,
        1,
        """
        100 .856 .019 .779 .041
        500 .961 .008 .987 .003
        1000 .981 .007 .976 .010
        2000 .979 .010 .965 .013
        3000 .973 .011 .938 .016
        """,
    ),
    "table_9": _auc_table(
        MILAN_COLUMN,
        1,
        """
        100 .756 .020 .701 .046
        500 .889 .018 .885 .025
        1000 .916 .015 .919 .016
        2000 .981 .009 .972 .007
        """,
    ),
}
# Knock-Knock and zero-knowledge, of the 1, 2, 3 most visited places and of all: values, then their errors.
PLACES_ONLY = {
    ("table_10", CDR_COLUMN): (
        (0.542, 0.538, 0.531, 0.525, 0.524, 0.528, 0.515, 0.510),
        (0.04, 0.03, 0.02, 0.02, 0.03, 0.02, 0.02, 0.02),
    ),
    ("table_10", MILAN_COLUMN): (
        (0.576, 0.628, 0.614, 0.560, 0.518, 0.553, 0.568, 0.556),
        (0.02, 0.03, 0.03, 0.03, 0.02, 0.02, 0.02, 0.04),
    ),
    ("table_11", CDR_COLUMN): (
        (0.571, 0.611, 0.647, 0.825, 0.512, 0.527, 0.514, 0.516),
        (0.05, 0.05, 0.06, 0.05, 0.02, 0.01, 0.02, 0.01),
    ),
    ("table_11", MILAN_COLUMN): (
        (0.682, 0.764, 0.822, 0.860, 0.542, 0.524, 0.542, 0.545),
        (0.03, 0.03, 0.03, 0.02, 0.02, 0.02, 0.02, 0.02),
    ),
}
