"""Render the templates of assets/: their values are escaped, unless they are Markup."""

from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from sbert_app.settings import ASSETS

_TEMPLATES = Environment(loader=FileSystemLoader(ASSETS), autoescape=True, undefined=StrictUndefined)


def render(template: str, **values: Any) -> str:
    """Fill in a template. Raises UndefinedError for a missing value."""
    return _TEMPLATES.get_template(template).render(values)
