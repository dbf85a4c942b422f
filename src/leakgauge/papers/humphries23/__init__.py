"""Humphries et al. (2023): membership inference where records depend on one another."""

from leakgauge.papers.paper import Paper

PAPER = Paper(
    package=__name__,
    title="Investigating Membership Inference Attacks under Data Dependencies",
    authors="Humphries, Oya, Tulloch, Rafuse, Goldberg, Hengartner and Kerschbaum",
    year=2023,
    items={
        "figure_1": "figure_1:FIGURE_1",
        "table_2": "table_2:TABLE_2",
        "figure_2": "member_groups:FIGURE_2.item",
        "figure_3": "member_groups:FIGURE_3.item",
        "figure_4": "attribute_bias:FIGURE_4",
        "figure_5": "attribute_bias:FIGURE_5",
        "figure_6": "member_groups:FIGURE_6.item",
        "figure_7": "member_groups:FIGURE_7.item",
        "figure_8": "member_groups:FIGURE_8.item",
        "figure_9": "member_groups:FIGURE_9.item",
    },
)
