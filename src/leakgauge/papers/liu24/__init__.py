"""Liu et al. (2024): simple attacks on noisy location counts, and what networks learn instead of them."""

from leakgauge.papers.liu24.accuracy_by_cells import (
    FIGURE_1,
    FIGURE_13,
    FIGURE_14,
    FIGURE_17,
    FIGURE_19,
    FIGURE_20,
)
from leakgauge.papers.liu24.crossover import CROSSOVER
from leakgauge.papers.liu24.figure_6 import FIGURE_6
from leakgauge.papers.liu24.figure_7 import FIGURE_7
from leakgauge.papers.liu24.figure_16 import FIGURE_16
from leakgauge.papers.liu24.figure_22 import FIGURE_22
from leakgauge.papers.liu24.network_weights import (
    FIGURE_12,
    FIGURE_15,
    FIGURE_23,
    FIGURE_24,
    FIGURE_25,
    FIGURE_26,
)
from leakgauge.papers.liu24.other_data import ELSEWHERE
from leakgauge.papers.liu24.roc_curves import FIGURE_18, FIGURE_21, FIGURE_27
from leakgauge.papers.liu24.score_distributions import FIGURE_8, FIGURE_9, FIGURE_10
from leakgauge.papers.paper import Paper

PAPER = Paper(
    title="Sub-optimal Learning in Meta-Classifier Attacks: A Study of Membership Inference on "
    "Differentially Private Location Aggregates",
    authors="Liu, Guepin, Shilov and de Montjoye",
    year=2024,
    items={
        "figure_1": FIGURE_1,
        "figure_6": FIGURE_6,
        "figure_7": FIGURE_7,
        "crossover": CROSSOVER,
        "figure_8": FIGURE_8,
        "figure_9": FIGURE_9,
        "figure_10": FIGURE_10,
        "figure_12": FIGURE_12,
        "figure_13": FIGURE_13,
        "figure_14": FIGURE_14,
        "figure_15": FIGURE_15,
        "figure_16": FIGURE_16,
        "figure_17": FIGURE_17,
        "figure_18": FIGURE_18,
        "figure_19": FIGURE_19,
        "figure_20": FIGURE_20,
        "figure_21": FIGURE_21,
        "figure_22": FIGURE_22,
        "figure_23": FIGURE_23,
        "figure_24": FIGURE_24,
        "figure_25": FIGURE_25,
        "figure_26": FIGURE_26,
        "figure_27": FIGURE_27,
        "elsewhere": ELSEWHERE,
    },
)
