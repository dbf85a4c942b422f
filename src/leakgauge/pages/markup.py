"""Text and data on their way into HTML: nothing a user wrote can become part of the page's own code."""

import json
from functools import lru_cache
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def render_html(template: str, **values: Any) -> Markup:
    """Fill a template; every value that is not ``Markup`` is escaped.

    >>> render_html("<b>{{ name }}</b>", name="<script>")
    Markup('<b>&lt;script&gt;</b>')
    """
    return Markup(_compiled(template).render(**values))


def json_in_html(value: Any) -> Markup:
    """JSON that cannot end the element it stands in.

    >>> json_in_html("</script>")
    Markup('"\\\\u003c/script\\\\u003e"')
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return Markup(text.translate(_ESCAPES))


@lru_cache
def _compiled(template: str) -> Template:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(template)
