"""A torch module: rows in, logits out."""

from typing import Any

import numpy as np

from leakgauge.core.game import Reals

AT_ONCE = 10_000  # rows


def ask(module: Any, rows: Reals) -> Reals:
    """Its output for all rows, in the mode for use (no dropout), without gradients.

    Rows become numbers of the kind of its first weight; the mode it was in is restored.
    """
    import torch

    first = next(module.parameters(), torch.empty(0))
    training = module.training
    module.eval()
    try:
        with torch.no_grad():
            parts = [
                module(torch.as_tensor(rows[start : start + AT_ONCE], dtype=first.dtype, device=first.device))
                for start in range(0, len(rows), AT_ONCE)
            ]
            return np.asarray(torch.cat(parts).double().cpu().numpy())
    finally:
        module.train(training)
