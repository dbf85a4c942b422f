"""How to reproduce the run: seed, versions, plan and command."""

from collections.abc import Mapping
from pathlib import Path

from leakgauge.report import judged_run, number_format, page
from leakgauge.report.adversary_names import clip

ORDER = 90
LONGEST_PLAN, MOST_VERSIONS, MOST_SEEDS = 50_000, 60, 5
UNKNOWN = "not recorded"

_TEMPLATE = """
<p>All random numbers of leakgauge come from the seed: the same {{ subject }} with the same versions gives
the same results, on any machine and with any number of workers. Noise that came from elsewhere, such as a
live service, differs each time.</p>
{% if command %}
<p>{% if saved %}Save the plan below as <code>{{ saved }}</code>, then run:{% else %}Run:{% endif %}</p>
<pre class="command"><code>{{ command }}</code></pre>
{% elif subject == "plan" %}
<p class="note">The command that made these verdicts was not recorded.</p>
{% endif %}
<dl class="settings">
<div><dt>Seed</dt><dd>{{ seed }}</dd></div>
{% if subject == "plan" %}
<div><dt>Digest of plan, data and code</dt><dd><code>{{ digest }}</code></dd></div>
{% endif %}
{% for digest, audits in data %}
<div><dt>Digest of your data and code</dt><dd><code>{{ digest }}</code> <span class="note">({{ audits
}})</span>
</dd></div>
{% endfor %}
<div><dt>Versions</dt><dd>
{% for name, version in versions %}{{ name }} {{ version }}{% if not loop.last %}, {% endif %}{% endfor %}
{% if not versions %}not recorded{% endif %}</dd></div>
</dl>
{% if plan %}
<h3>The plan</h3>
<pre class="plan" tabindex="0"><code>{{ plan }}</code></pre>
{% if cut %}
<p class="note">Cut after {{ cut }} characters; the run folder holds the whole plan.</p>
{% endif %}
{% endif %}
"""


def section(run: judged_run.JudgedRun) -> page.Section:
    """Everything that is needed to repeat the run."""
    verdicts = run.verdicts
    name, text = _plan(run.manifest.get("plan"))
    given = run.manifest.get("command")
    seeds = list(dict.fromkeys(verdict.seed for verdict in verdicts))
    written = [
        str(seed) for seed in ([run.manifest["seed"]] if run.manifest.get("seed") is not None else seeds)
    ]
    html = page.render_html(
        _TEMPLATE,
        subject="call" if run.without_plan else "plan",
        command=clip(given, 1000) if given else f"leakgauge run {name}" if name else "",
        saved=(_plan_of(str(given)) if given else name) if text else "",
        seed=", ".join(written[:MOST_SEEDS]),
        digest=clip(run.manifest.get("digest") or UNKNOWN),
        data=_by_digest(_pairs(run.manifest.get("data"))),
        versions=_pairs(run.manifest.get("versions")),
        plan=text[:LONGEST_PLAN],
        cut=number_format.count(LONGEST_PLAN) if len(text) > LONGEST_PLAN else "",
    )
    return page.Section("How to reproduce it", html)


def _plan(given: object) -> tuple[str, str]:
    """The name and the text of a plan, given as text or as the path of a file."""
    if not given:
        return "", ""
    if isinstance(given, Path) or (isinstance(given, str) and given.endswith(".toml") and "\n" not in given):
        path = Path(given)
        return clip(path.name), path.read_text(encoding="utf-8") if path.is_file() else ""
    return "plan.toml", str(given)


def _plan_of(command: str) -> str:
    """The plan file in a command."""
    return next((clip(word) for word in command.split() if word.endswith(".toml")), "plan.toml")


def _by_digest(audits: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Each digest once, with the audits that it is of: points of a sweep share theirs."""
    names: dict[str, list[str]] = {}
    for name, digest in audits:
        names.setdefault(digest, []).append(name)
    return [(digest, clip(", ".join(every), 200)) for digest, every in names.items()]


def _pairs(given: object) -> list[tuple[str, str]]:
    if not isinstance(given, Mapping):
        return []
    return [(clip(key), clip(value)) for key, value in list(given.items())[:MOST_VERSIONS]]
