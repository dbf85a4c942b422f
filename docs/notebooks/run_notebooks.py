"""Run the notebooks of this folder and write a page for each: ``python docs/notebooks/run_notebooks.py``.

Names of notebooks may follow. Needs nbclient and ipykernel. Each notebook is written back with its outputs,
and beside it a Markdown page with the same outputs, which the documentation shows. The tests run the
notebooks every night and compare the outputs.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
_NUMBER = {"execution_count", "id"}


def notebooks() -> list[Path]:
    """All notebooks of this folder."""
    return sorted(FOLDER.glob("*.ipynb"))


def execute(path: Path) -> dict[str, Any]:
    """Run a notebook from its first cell in a new kernel on this machine; return it with its outputs."""
    import nbclient
    import nbformat

    book = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(book, timeout=600, kernel_name="python3").execute()
    return tidy(json.loads(nbformat.writes(book)))


def tidy(book: dict[str, Any]) -> dict[str, Any]:
    """The notebook without what changes from run to run: times, versions, the remains of progress bars."""
    cells = []
    for number, cell in enumerate(book["cells"], start=1):
        kept = {**cell, "metadata": {}, "id": f"cell-{number}"}
        if cell["cell_type"] == "code":
            kept["execution_count"] = None
            kept["outputs"] = joined([_tidy_output(one) for one in cell["outputs"] if _is_shown(one)])
        cells.append(kept)
    return {**book, "cells": cells, "metadata": {"kernelspec": KERNEL}, "nbformat": 4, "nbformat_minor": 5}


def joined(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Outputs with neighbouring pieces of one stream as one: where a kernel cuts them is chance."""
    found: list[dict[str, Any]] = []
    for one in outputs:
        last = found[-1] if found else {}
        if one["output_type"] == "stream" == last.get("output_type") and one["name"] == last["name"]:
            found[-1] = {**last, "text": _text(last["text"]) + _text(one["text"])}
        else:
            found.append(one)
    return found


def _is_shown(output: dict[str, Any]) -> bool:
    """Whether an output is more than the place where a progress bar was, or how long something may take."""
    if output["output_type"] == "stream":
        return output["name"] == "stdout"
    return output["output_type"] != "display_data" or any(
        _text(data).strip() for kind, data in output["data"].items() if kind != "text/plain"
    )


def _tidy_output(output: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in output.items() if key not in _NUMBER}
    if output["output_type"] == "execute_result":
        kept["execution_count"] = None
    if "data" in output and len(output["data"]) > 1:  # the picture says what the text would
        kept["data"] = {kind: _text(data) for kind, data in output["data"].items() if kind != "text/plain"}
    return kept


def _text(data: Any) -> str:
    return data if isinstance(data, str) else "".join(data)


def page(book: dict[str, Any], name: str) -> tuple[str, dict[str, str]]:
    """The Markdown page of a notebook, and the pictures that it shows, by file name."""
    parts, pictures = [], dict[str, str]()
    for cell in book["cells"]:
        source = _text(cell["source"]).strip()
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts += [_shown(output, name, pictures) for output in cell["outputs"]]
    link = f"This page is [a notebook]({name}.ipynb) that was run as you see it."
    head, *rest = parts
    return "\n\n".join([head, link, *rest]) + "\n", pictures


def _shown(output: dict[str, Any], name: str, pictures: dict[str, str]) -> str:
    if output["output_type"] == "stream":
        return f"```text\n{_text(output['text']).rstrip()}\n```"
    data = {kind: _text(text) for kind, text in output["data"].items()}
    if "image/svg+xml" in data:
        file = f"{name}-{len(pictures) + 1}.svg"
        pictures[file] = data["image/svg+xml"]
        return f"![How often each attacker is right, beside limit and promise]({file})"
    if "text/html" in data:  # without blank lines, at which Markdown would end the block
        return "<div>" + re.sub(r"\n\s*\n+", "\n", data["text/html"].strip()) + "</div>"
    return f"```text\n{data['text/plain'].rstrip()}\n```"


def write(path: Path, book: dict[str, Any]) -> None:
    """Write a notebook, its page and its pictures."""
    path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    text, pictures = page(book, path.stem)
    path.with_suffix(".md").write_text(text, encoding="utf-8")
    for file, svg in pictures.items():
        (path.parent / file).write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    chosen = sys.argv[1:] or [path.stem for path in notebooks()]
    for one in chosen:
        write(FOLDER / f"{one}.ipynb", execute(FOLDER / f"{one}.ipynb"))
