"""Draw the map of the source tree for architecture.md: ``python docs/pictures/source_tree.py``.

The layers and their order are those of the import contract in pyproject.toml.
"""

import tomllib
from html import escape
from pathlib import Path

FOLDER = Path(__file__).parent
PICTURE = FOLDER / "source-tree.svg"
PROJECT = FOLDER.parent.parent / "pyproject.toml"
CONTRACT = "imports go one way"

PURPOSE = {  # what each layer does, and the files or folders to open first
    "cli": (
        "one file = one command: parses, calls one function, prints",
        "run · judge · expose · reproduce …",
    ),
    "pytest_plugin": ("the fixture assert_private", ""),
    "papers": ("one folder per paper: its plans, its published numbers, its figures", "paper · reproduction"),
    "frame_audits": ("audit_counts and audit_queries, of data frames in memory", ""),
    "draft": ("drafts a plan from a file of the user, and previews its answer", ""),
    "parameter_search": ("the most useful settings under a limit: leakgauge.tune", "tune · search"),
    "api": ("what leakgauge.run and leakgauge.expose do", ""),
    "report": ("verdicts → one HTML file; computes no statistic", "run_report · page · sections/"),
    "summary": ("the two answers of a run, promise and risk, and its exit code", ""),
    "risk": ("how well an attacker does, compared with the owner's limits", ""),
    "limits": ("what the owner allows, from a plan or a policy file", ""),
    "exposure": ("how exposed every person is, computed without simulation", ""),
    "runner": (
        "plan → blocks of rounds → files, on one machine or a cluster",
        "run · play_block · block_store",
    ),
    "verdict": ("the estimates of one attacker beside what was promised", ""),
    "promise_tests": ("the tests that a promise faces, and the rounds they need", ""),
    "plan": ("a TOML file or a dict, checked; one audit per point of a sweep", ""),
    "plan_schema": ("the JSON Schema of plans, from the dataclasses that check them", ""),
    "catalog_entries": ("what a plan may name, with parameters", ""),
    "sweep": ("the points of a sweep over lists of values", ""),
    "catalog": ("finds an implementation by the name of its file", ""),
    "domains": ("one folder for each kind of release, always with the same files", ""),
    "strategies": ("parts of attacks that at least two domains use", ""),
    "referee": ("statistics of trials", "metrics/"),
    "mechanisms": ("noise with its exact distribution", "one file = one mechanism"),
    "theory": ("bounds and exact optima: what a guarantee allows", "tradeoff · composition · gdp …"),
    "support": ("technical helpers: files, tables, progress, workers", "table_reader · files · progress …"),
    "core": ("the membership game itself; imports nothing else", "game · guarantee · randomness …"),
}
DOMAINS = {
    "blackbox": "any function",
    "locations": "counts per place",
    "queries": "a query service",
    "federated": "clients' gradients",
    "models": "trained models",
}
DOMAIN_FILES = ("plan_tables", "data", "challenger", "release", "knowledge", "guarantee", "attacks/")

WIDTH, MARGIN, NAME_WIDTH, ROW, GAP = 960, 24, 130, 38, 6
DOMAINS_ROW = 128
STYLE = """
.paper { fill: #ffffff } .box { fill: #eef3f8; stroke: #b9c6d3 } .inner { fill: #ffffff; stroke: #b9c6d3 }
.name { fill: #1c2127; font: bold 14px DejaVu Sans Mono, Menlo, Consolas, monospace }
.text { fill: #1c2127; font: 13px DejaVu Sans, Verdana, sans-serif }
.soft { fill: #545d68; font: 12px DejaVu Sans Mono, Menlo, Consolas, monospace }
.arrow { stroke: #545d68; stroke-width: 2; fill: none } .head { fill: #545d68 }
@media (prefers-color-scheme: dark) {
  .paper { fill: #1e2129 } .box { fill: #2b313c; stroke: #4d5866 } .inner { fill: #1e2129; stroke: #4d5866 }
  .name, .text { fill: #eef1f5 } .soft { fill: #b4bdc9 } .arrow { stroke: #b4bdc9 } .head { fill: #b4bdc9 }
}
"""


def layers() -> list[list[str]]:
    """The layers from top to bottom; those side by side do not import one another."""
    contracts = tomllib.loads(PROJECT.read_text())["tool"]["importlinter"]["contracts"]
    contract = next(contract for contract in contracts if contract["name"] == CONTRACT)
    return [[name.strip() for name in layer.split("|")] for layer in contract["layers"]]


def draw() -> str:
    """The picture as SVG; the same tree gives the same text."""
    shapes, y = [], MARGIN
    width = WIDTH - 2 * MARGIN - 60  # room for the arrow on the right
    for layer in layers():
        height = DOMAINS_ROW if "domains" in layer else ROW
        each = (width - GAP * (len(layer) - 1)) / len(layer)
        for place, name in enumerate(layer):
            shapes += _layer(name, MARGIN + place * (each + GAP), y, each, height)
        y += height + GAP
    height = y - GAP + MARGIN
    shapes += _arrow(WIDTH - MARGIN - 28, MARGIN, y - GAP)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" role="img">\n'
        f"<title>The layers of leakgauge</title>\n<style>{STYLE}</style>\n"
        f'<rect class="paper" width="{WIDTH}" height="{height}"/>\n' + "\n".join(shapes) + "\n</svg>\n"
    )


def _layer(name: str, x: float, y: float, width: float, height: float) -> list[str]:
    about, files = PURPOSE[name]
    line = y + 24
    shapes = [_box("box", x, y, width, height), _text("name", x + 12, line, name)]
    if width < WIDTH / 2:
        return [*shapes, _text("text", x + 12 + NAME_WIDTH * 0.85, line, about)]
    shapes.append(_text("text", x + 12 + NAME_WIDTH, line, about))
    if files:
        shapes.append(_text("soft", x + width - 12, line, files, anchor="end"))
    return shapes + (_domains(x + 12, y + 38, width - 24) if name == "domains" else [])


def _domains(x: float, y: float, width: float) -> list[str]:
    each = (width - GAP * (len(DOMAINS) - 1)) / len(DOMAINS)
    shapes = []
    for place, (name, about) in enumerate(DOMAINS.items()):
        left = x + place * (each + GAP)
        shapes += [
            _box("inner", left, y, each, 50),
            _text("name", left + 10, y + 21, name),
            _text("text", left + 10, y + 40, about),
        ]
    return [*shapes, _text("soft", x, y + 75, f"in each, where needed: {' · '.join(DOMAIN_FILES)}")]


def _arrow(x: float, top: float, bottom: float) -> list[str]:
    turned = f"translate({x + 20:g} {(top + bottom) / 2:g}) rotate(90)"
    return [
        f'<path class="arrow" d="M{x:g} {top:g}V{bottom - 12:g}"/>',
        f'<path class="head" d="M{x - 7:g} {bottom - 12:g}h14l-7 12z"/>',
        f'<text class="text" text-anchor="middle" transform="{turned}">imports go down only</text>',
    ]


def _box(style: str, x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="{style}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5"/>'


def _text(style: str, x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text class="{style}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'


if __name__ == "__main__":
    PICTURE.write_text(draw())
