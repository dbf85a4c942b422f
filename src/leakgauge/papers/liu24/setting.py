"""What all figures of Liu et al. (2024) have in common: the noise, the rules, and how they are drawn."""

from math import log, sqrt

import numpy as np

from leakgauge.pages.charts import paint

EPSILON = 0.5  # per observation
SCALE = 1 / EPSILON  # of the Laplace noise on one cell
DELTA = 1 / (2 * 1999)  # 1 / 2m for m = 1,999 people
SIGMA = sqrt(2 * log(1.25 / DELTA)) / EPSILON  # the classic calibration: 8.2543
MECHANISMS = {
    "laplace": f'{{ name = "laplace", epsilon = {EPSILON} }}',
    "gaussian": f'{{ name = "gaussian", epsilon = {EPSILON}, delta = {DELTA!r}, calibration = "classic" }}',
}
METRICS = {"laplace": "one_run", "gaussian": "dkw"}  # at this delta the one-run bound could show nothing
NOISES = tuple(MECHANISMS)
CONFIDENCE = 0.999  # there are many intervals
CELLS = np.arange(1.0, 141.0)  # positive observations
FEW_CELLS = np.concatenate([CELLS[:10], CELLS[11:40:2], CELLS[44::5]])  # where the optimum is computed
SIXTY = 60  # where the paper looks more closely
COLOURS = {
    "one_threshold": paint.SERIES[0],
    "two_threshold": paint.SERIES[1],
    "likelihood": paint.SERIES[2],
    "reference": paint.SERIES[4],
    "shadow_mlp": paint.SERIES[3],
}
