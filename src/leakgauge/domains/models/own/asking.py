"""Ask the model that a plan names, once, about all records."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.core.loading import Loader
from leakgauge.domains.models.own import callables, onnx_file
from leakgauge.domains.models.own.answers import Answers, from_outputs
from leakgauge.domains.models.own.words import Output

WHERE = "challenger.model"
PICKLED = (".pkl", ".pickle", ".joblib", ".pt", ".pth", ".ckpt", ".sav", ".model")


@dataclass(frozen=True, eq=False)
class Asked:
    """What a model said, what it calls its classes, and what tells it from another one."""

    answers: Answers
    classes: Sequence[Any] | None
    digest: str


def ask_model(named: str, output: Output | None, rows: Reals, folder: Path) -> Asked:
    """Ask "module:name" of the plan's folder, or an ONNX file there; nothing is ever unpickled."""
    where = f"{WHERE} = {named!r}"
    if named.endswith(onnx_file.ENDING):
        path = folder / named
        if not path.is_file():
            raise BadInput(f"{where}: there is no such file in {folder}; check the path")
        said = onnx_file.ask(path, rows, where)
        words, usual = sha256(path.read_bytes()).hexdigest(), None
    elif named.endswith(PICKLED):
        raise BadInput(
            f"{where}: such a file is not opened here, for it may run any code; write a module that loads "
            'it, and name what it loads: model = "module:name"'
        )
    else:
        loader = Loader(folder)
        said = callables.ask(_loaded(loader, named), rows, where)
        words = "\n".join(f"{name}\n{text}" for name, text in sorted(loader.sources.items()))
        usual = said.usual
    answers = from_outputs(said.outputs, len(rows), where, output, usual)
    digest = sha256(f"{named}\n{words}".encode(errors="surrogatepass")).hexdigest()
    return Asked(answers, said.classes, digest)


def _loaded(loader: Loader, named: str) -> Any:
    """What a plan names; a module that asks for torch where there is none says how to get it."""
    try:
        return loader.load(named, WHERE)
    except BadInput as error:
        if isinstance(error.__cause__, ModuleNotFoundError) and error.__cause__.name == "torch":
            raise BadInput(f"{error}; run: pip install 'leakgauge[ml]'") from error
        raise
