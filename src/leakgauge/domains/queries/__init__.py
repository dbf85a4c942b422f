"""A table behind an oracle that answers noisy counts and sums of chosen records."""

MECHANISMS = {"laplace": None, "gaussian": None, "geometric": None, "opendp": None}  # the noise of one answer

DEFAULT_ATTACKS = (
    {"name": "split_likelihood"},
    {"name": "split_midpoint"},
    {"name": "split_t_test"},
)
