"""Counts per place and hour of the people in a group."""

DEFAULT_ATTACKS = (
    {"name": "likelihood", "knowledge": "informed"},
    {"name": "likelihood", "knowledge": "auxiliary"},
    {"name": "likelihood", "knowledge": "zero"},
    {"name": "one_threshold", "knowledge": "auxiliary"},
)
