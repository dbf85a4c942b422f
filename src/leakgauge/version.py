"""The version, on its own so that building needs no import."""

VERSION = "0.1.0"
