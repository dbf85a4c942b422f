"""Liu et al. (2024): threshold attacks on noisy location counts, and what networks learn instead."""

from leakgauge.papers.paper import Paper

PAPER = Paper(
    package=__name__,
    title="Sub-optimal Learning in Meta-Classifier Attacks: A Study of Membership Inference on "
    "Differentially Private Location Aggregates",
    authors="Liu, Guepin, Shilov and de Montjoye",
    year=2024,
    items={
        "figure_1": "accuracy_by_cells:FIGURE_1",
        "figure_6": "figure_6:FIGURE_6",
        "figure_7": "figure_7:FIGURE_7",
        "crossover": "figure_7:CROSSOVER",
        "figure_8": "score_distributions:FIGURE_8",
        "figure_9": "score_distributions:FIGURE_9",
        "figure_10": "score_distributions:FIGURE_10",
        "figure_12": "network_weights:FIGURE_12",
        "figure_13": "accuracy_by_cells:FIGURE_13",
        "figure_14": "accuracy_by_cells:FIGURE_14",
        "figure_15": "network_weights:FIGURE_15",
        "figure_16": "figure_16:FIGURE_16",
        "figure_17": "accuracy_by_cells:FIGURE_17",
        "figure_18": "roc_curves:FIGURE_18",
        "figure_19": "accuracy_by_cells:FIGURE_19",
        "figure_20": "accuracy_by_cells:FIGURE_20",
        "figure_21": "roc_curves:FIGURE_21",
        "figure_22": "figure_22:FIGURE_22",
        "figure_23": "network_weights:FIGURE_23",
        "figure_24": "network_weights:FIGURE_24",
        "figure_25": "network_weights:FIGURE_25",
        "figure_26": "network_weights:FIGURE_26",
        "figure_27": "roc_curves:FIGURE_27",
        "elsewhere": "other_data:ELSEWHERE",
    },
)
