"""Counts per place and hour of the people in a group."""

MECHANISMS = {  # what a plan may name; nothing: see the mechanism itself
    "laplace": None,
    "gaussian": None,
    "geometric": None,
    "raw": "No noise: true counts, perhaps rounded, clamped or suppressed.",
    "own": 'A pipeline of one\'s own: release = "module:function", from counts and a generator to counts.',
}

DEFAULT_ATTACKS = (
    {"name": "likelihood", "knowledge": "informed"},
    {"name": "likelihood", "knowledge": "auxiliary"},
    {"name": "likelihood", "knowledge": "zero"},
    {"name": "one_threshold", "knowledge": "auxiliary"},
)
