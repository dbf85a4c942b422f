"""Parameters of slow tests: a few with every change, all of them every night."""

from collections.abc import Iterable
from typing import Any

import pytest


def others_at_night(cases: Iterable[Any], *by_day: Any) -> list[Any]:
    """Leave the named cases with every change; the others run every night."""
    cases = list(cases)
    unknown = [case for case in by_day if case not in cases]
    if unknown:
        raise ValueError(f"no such cases: {unknown}")
    return [case if case in by_day else _at_night(case) for case in cases]


def _at_night(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.nightly)
