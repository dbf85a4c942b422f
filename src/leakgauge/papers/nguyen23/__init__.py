"""Nguyen et al. (2023): a dishonest server against federated clients with local differential privacy."""

from leakgauge.papers.paper import Paper

PAPER = Paper(
    package=__name__,
    title="Active Membership Inference Attack under Local Differential Privacy in Federated Learning",
    authors="Nguyen, Lai, Tran, Phan and Thai",
    year=2023,
    items={
        "figure_5": "attack_success:FIGURE_5",
        "figure_6": "figure_6:FIGURE_6",
        "figure_7": "certified_success:FIGURE_7",
        "figure_8": "crafted_weights:FIGURE_8",
        "figure_9": "training_epochs:FIGURE_9",
        "table_1": "training_epochs:TABLE_1",
        "figure_10": "figure_10:FIGURE_10",
        "figure_11": "attack_success:FIGURE_11",
        "figure_12": "certified_success:FIGURE_12",
        "figure_13": "figure_13:FIGURE_13",
        "figure_14": "crafted_weights:FIGURE_14",
        "exact": "exact_epsilon:EXACT",
        "hinges": "hinges:HINGES_ITEM",
    },
    single_threaded=True,
)
