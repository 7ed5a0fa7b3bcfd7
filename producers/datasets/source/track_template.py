"""Templates of a track of Rally, as text: Jinja2's language with helpers that only Rally has."""

from pathlib import Path
from typing import Any, Final

import jinja2
from jinja2.sandbox import SandboxedEnvironment

HELPERS: Final = """\
{% macro collect(parts) %}{{ rendered(parts) }}{% endmacro %}
{% macro exists_set_param() %}{% if varargs or kwargs %}{% endif %}{% endmacro %}
"""
"""Macros that tracks import; settings that need parameters stand outside of corpora, and are left out."""


def rendered(folder: Path, name: str) -> str:
    """A template of a track as text; what it does not know is `null`.

    Raises:
        OSError: A template cannot be read.
        ValueError: Jinja2 does not understand one.
    """
    helpers = jinja2.DictLoader({f"{program}.helpers": HELPERS for program in ("rally", "benchmark")})
    loader = jinja2.ChoiceLoader([helpers, jinja2.FileSystemLoader(folder)])
    environment = SandboxedEnvironment(loader=loader, undefined=_Unknown, autoescape=False)
    environment.filters = _Filters(environment.filters)

    def parts_of(parts: str | list[str]) -> str:
        patterns = [parts] if isinstance(parts, str) else parts
        names = [str(file.relative_to(folder)) for each in patterns for file in sorted(folder.glob(each))]
        return ",\n".join(environment.get_template(name).render() for name in names)

    environment.globals["rendered"] = parts_of
    try:
        return environment.get_template(name).render()
    except jinja2.TemplateError as error:
        raise ValueError(str(error)) from error


class _Filters(dict[str, Any]):
    """Filters of Jinja2; one that it does not have leaves its value as it is."""

    def __contains__(self, _: object) -> bool:
        return True

    def __missing__(self, name: str) -> Any:
        return lambda value=None, *_, **__: value

    def get(self, name: str, _: Any = None) -> Any:
        return self[name]


class _Unknown(jinja2.ChainableUndefined):
    """A parameter or helper that only Rally has."""

    def __str__(self) -> str:
        return "null"

    def _itself(self, *_: object, **__: object) -> "_Unknown":
        return self

    __call__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _itself  # type: ignore[assignment]
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __neg__ = __pos__ = _itself  # type: ignore[assignment]

    def _no(self, _: object) -> bool:
        return False

    __lt__ = __le__ = __gt__ = __ge__ = _no  # type: ignore[assignment]

    def __int__(self) -> int:  # type: ignore[override]
        return 0

    def __float__(self) -> float:  # type: ignore[override]
        return 0.0
