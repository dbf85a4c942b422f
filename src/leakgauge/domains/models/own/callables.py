"""Models in memory: anything with predict_proba, a torch module, or a function of rows."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.domains.models.own import torch_module
from leakgauge.domains.models.own.words import Output


@dataclass(frozen=True, eq=False)
class Said:
    """What came back, the classes it is about where the model names them, and what such models return."""

    outputs: Any
    classes: Sequence[Any] | None = None
    usual: Output | None = None


def ask(model: Any, rows: Reals, where: str) -> Said:
    """Ask about all rows at once; whatever goes wrong in there is told in one line."""
    if isinstance(model, type):
        raise BadInput(f"{where}: this is the class {model.__name__}; name a model that was trained")
    try:
        if _is_module(model):
            return Said(torch_module.ask(model, rows), usual="logits")
        if hasattr(model, "predict_proba"):
            return Said(model.predict_proba(rows), getattr(model, "classes_", None))
        if callable(model):
            return Said(model(rows))
    except Exception as error:
        told = " ".join(str(error).split())[:300]
        raise BadInput(
            f"{where}: asked about {len(rows)} rows of {rows.shape[1]} features, it raised "
            f"{type(error).__name__}: {told}"
        ) from error
    raise BadInput(
        f"{where}: this is of type {type(model).__name__}; it must have predict_proba, or be a torch "
        "module or a function of rows"
    )


def _is_module(model: Any) -> bool:
    torch = sys.modules.get("torch")  # whoever made a module has loaded it
    return torch is not None and isinstance(model, torch.nn.Module)
