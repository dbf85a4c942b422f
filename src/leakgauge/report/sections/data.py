"""How the data behind the audits were read: how many rows were used, and which were skipped."""

from leakgauge.report import judged_run, page
from leakgauge.report.adversary_names import clip, whole_sentences

ORDER = 65
MOST_NOTES, MOST_AUDITS, LONGEST = 20, 4, 400

_TEMPLATE = """
<p>Invalid rows were skipped; their line numbers are listed, never their content. {{ omitted }}</p>
<ul>
{% for note in notes %}
<li>{{ note.text }} <span class="note">({{ note.audits }})</span></li>
{% endfor %}
</ul>
"""


def section(run: judged_run.JudgedRun) -> page.Section | None:
    """One line for each file that was read; nothing where there was none."""
    notes = run.manifest.get("notes") or {}
    if not notes:
        return None
    shown = [
        {"text": whole_sentences(text, LONGEST), "audits": _names(audits)} for text, audits in notes.items()
    ]
    omitted = (
        f"Shown are {MOST_NOTES} of {len(shown)} files; manifest.json holds them all."
        if len(shown) > MOST_NOTES
        else ""
    )
    return page.Section("The data", page.render_html(_TEMPLATE, notes=shown[:MOST_NOTES], omitted=omitted))


def _names(audits: list[str]) -> str:
    """The audits of one file, shortened where a sweep has many."""
    named = ", ".join(clip(name) for name in audits[:MOST_AUDITS])
    more = f" and {len(audits) - MOST_AUDITS} more" if len(audits) > MOST_AUDITS else ""
    return f"{'audit' if len(audits) == 1 else 'audits'} {named}{more}"
