"""Outputs that name one of several options."""

import numpy as np

from leakgauge.core.game import Reals


def chosen(outputs: Reals, log_probabilities: Reals) -> Reals:
    """Look up the probabilities of the chosen options; what is no option has none."""
    shape = np.broadcast_shapes(outputs.shape, log_probabilities.shape[:-1])
    n_options = log_probabilities.shape[-1]
    outputs = np.broadcast_to(outputs, shape)
    possible = (outputs == np.floor(outputs)) & (outputs >= 0) & (outputs < n_options)
    places = np.where(possible, outputs, 0).astype(np.int64)[..., None]
    table = np.broadcast_to(log_probabilities, (*shape, n_options))
    return np.where(possible, np.take_along_axis(table, places, axis=-1)[..., 0], -np.inf)
