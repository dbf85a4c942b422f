"""Guan et al. (2024): membership attacks on location counts without any auxiliary knowledge."""

from leakgauge.papers.paper import Paper

PAPER = Paper(
    package=__name__,
    title="A Zero Auxiliary Knowledge Membership Inference Attack on Aggregate Location Data",
    authors="Guan, Guépin, Cretu and de Montjoye",
    year=2024,
    items={
        "figure_4": "marginal_estimates:FIGURE_4",
        "figure_5": "marginal_estimates:FIGURE_5",
        "figure_6": "population_figures:FIGURE_6",
        "figure_7": "suppression:FIGURE_7",
        "figure_8": "laplace_noise:FIGURE_8",
        "figure_9": "partial_knowledge:FIGURE_9",
        "figure_10": "shadow_sampling:FIGURE_10",
        "figure_11": "group_sizes:FIGURE_11",
        "figure_12": "shadow_sampling:FIGURE_12",
        "figure_13": "marginal_estimates:FIGURE_13",
        "figure_14": "population_figures:FIGURE_14",
        "figure_15": "population_figures:FIGURE_15",
        "figure_16": "population_figures:FIGURE_16",
        "figure_17": "marginal_estimates:FIGURE_17",
        "table_3": "suppression:TABLE_3",
        "table_4": "laplace_noise:TABLE_4",
        "table_5": "laplace_noise:TABLE_5",
        "table_6": "group_sizes:TABLE_6",
        "table_7": "group_sizes:TABLE_7",
        "table_8": "group_sizes:TABLE_8",
        "table_9": "group_sizes:TABLE_9",
        "table_10": "partial_knowledge:TABLE_10",
        "table_11": "partial_knowledge:TABLE_11",
        "unknown_positions": "unknown_positions:UNKNOWN_POSITIONS",
    },
)
