import json

import jinja2
import pytest
from markupsafe import Markup

from leakgauge.pages.markup import json_in_html, render_html

NASTY = [
    "\ud800",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "a & b",
    "]]>",
    "\u2028",
    "{{ 7 * 7 }}",
    "'\"",
]


@pytest.mark.parametrize("text", NASTY)
def test_data_come_back_whole_and_hold_no_sign_of_html(text):
    written = json_in_html({text: [text]})
    assert json.loads(written) == {text: [text]}
    assert not {"<", ">", "&", "\u2028"} & set(written)


@pytest.mark.parametrize("text", NASTY)
def test_a_value_is_text_and_never_template_or_markup(text):
    written = render_html("{{ text }}", text=text)
    assert "<" not in written
    assert "49" not in written


def test_markup_is_kept():
    assert render_html("{{ text }}", text=Markup("<b>")) == "<b>"


def test_a_forgotten_value_is_an_error():
    with pytest.raises(jinja2.UndefinedError):
        render_html("{{ missing }}")


def test_a_number_that_json_lacks_is_an_error():
    with pytest.raises(ValueError):
        json_in_html(float("nan"))
