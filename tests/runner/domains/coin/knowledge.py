"""What one may know about a coin."""

from dataclasses import dataclass

from leakgauge.support.table_reader import read_dataclass


@dataclass(frozen=True, kw_only=True)
class Nothing:
    """Only what comes out."""

    shift: float = 0.0

    def view(self, played):
        return played


@dataclass(frozen=True, kw_only=True)
class Little:
    """Hardly more."""

    def view(self, played):
        return played


KINDS = {"nothing": Nothing, "little": Little}


def build(name, parameters, challenger, seed):
    return read_dataclass(KINDS[name], parameters, f"knowledge {name!r}")
