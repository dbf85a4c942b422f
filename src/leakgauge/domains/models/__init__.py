"""Trained classifiers, with or without noise, also where the rows they are trained on are not independent."""

MECHANISMS = {
    "dp_adam": "Gaussian noise on clipped gradients, Adam (Abadi et al. 2016).",
    "dp_sgd": "Gaussian noise on clipped gradients, plain descent (Abadi et al. 2016).",
    "none": "Training without noise; nothing is promised.",
    "laplace": None,  # noise on the mean of a feature
    "geometric": None,
    "gaussian": None,
}

DEFAULT_ATTACKS = (
    {"name": "loss_threshold", "threshold": "average", "label": "loss-average"},
    {"name": "lira"},
)
