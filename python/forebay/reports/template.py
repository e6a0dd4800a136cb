"""Pages from templates: HTML in which every value is escaped."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any


def rendered(
    template: str, filters: Mapping[str, Callable[..., object]] | None = None, **values: Any
) -> str:
    """The page of a template of this package. Raises ImportError without Jinja2."""
    from jinja2 import Environment, PackageLoader

    environment = Environment(autoescape=True, loader=PackageLoader("forebay", "reports"))
    environment.filters.update(filters or {})
    return environment.get_template(template).render(**values)


def embedded(values: Any) -> str:
    """Plain values as JSON without characters that could end an HTML element."""
    text = json.dumps(values)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
