"""The field for which a server rejected a document, by its reason, and the value that the document has there."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson

from lab.run.verify.refusal_reasons import HEAD, PLACE
from producers.json_values import JSON_NUMBER, dumped, loaded

WITHIN_ROOT: Final = "_doc"
FIELD: Final = r"\[(?P<field>[^\[\]]+)\]"
BEGINNING: Final = re.compile(r"(?:\[\d+:\d+\] )?(?:failed to parse: )?")
NAMING: Final = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        # DocumentParserContext and FieldMapper.parse: a preview of 255 characters, none of geo points.
        rf"failed to parse field {FIELD} of type \[[^\[\]]+\]"
        r"(?: in document with id '.*?'\. Preview of field's value: '(?P<preview>.*)'$)?",
        # DocumentParser: the name of the first brackets is whole, that of the second may be `null`.
        rf"(?P<object>object mapping) for {FIELD} tried to parse field \[",
        # StrictDynamicMappingException; OpenSearch also has strict_allow_templates.
        rf"mapping set to strict\w*, dynamic introduction of {FIELD} within \[(?P<within>[^\[\]]+)\] is not allowed",
        # FieldMapper.merge, of two bulk requests that add a field at the same time.
        rf"mapper {FIELD} cannot be changed from type \[",
        # DocumentParser of 7.17 and OpenSearch.
        rf"Could not dynamically add mapping for field {FIELD}\.",
        # Lucene's IndexingChain.
        r'Document contains at least one immense term in field="(?P<field>[^"]+)"',
        # DenseVectorFieldMapper.
        rf"The \[\w+\] field {FIELD} in doc \[",
        # MapperService.checkMappingDepth.
        rf"Limit of mapping depth \[\d+\] has been exceeded due to object field {FIELD}",
    )
)
"""Reasons that name a field, by the classes of Elasticsearch 7.17 to 9.5 and OpenSearch 2.19 and 3.8 that word them."""


@dataclass(frozen=True)
class FailedField:
    """A field for which a server rejected a document.

    Attributes:
        path: Its whole name, dotted.
        preview: The beginning of its value as the server has read it; `None` where the reason holds none.
        wants_object: True where the server expected an object.
    """

    path: str
    preview: str | None = None
    wants_object: bool = False

    def value_in(self, document: bytes | None) -> bytes | None:
        """The value that failed, as JSON: that of the document, else the preview; `None` where it is not known.

        Of an array it is the element that the reason quotes, if one is; else the whole array.
        """
        try:
            values = list(values_at(loaded(document or b"null"), self.path))
        except orjson.JSONDecodeError:
            values = []
        elements = [element for value in values for element in (value if isinstance(value, list) else [value])]
        if self.wants_object:
            # Without a value there is no object to parse: servers take it.
            failed = [element for element in elements if element is not None and not isinstance(element, dict)]
        else:
            failed = [element for element in elements if text_of(element) == self.preview]
        if failed:
            return dumped(failed[0])
        if self.preview and JSON_NUMBER.fullmatch(self.preview) and any(map(is_number, elements)):
            # In its own digits, of which a double may have lost some.
            return self.preview.encode()
        if values:
            return dumped(values[0] if len(values) == 1 else values)
        return None if self.preview is None else dumped(self.preview)


def failed_field(reason: str) -> FailedField | None:
    """The field that a reason names; `None` where it names none, or has words that are not known."""
    text = PLACE.sub("", reason)
    head = HEAD.match(text)
    begin = BEGINNING.match(text, head.end() if head else 0)
    for pattern in NAMING:
        if found := pattern.match(text, begin.end() if begin else 0):
            parts = found.groupdict()
            within = parts.get("within") or WITHIN_ROOT
            path = parts["field"] if within == WITHIN_ROOT else f"{within}.{parts['field']}"
            return FailedField(path, parts.get("preview"), wants_object="object" in parts)
    return None


def values_at(document: Any, path: str) -> Iterator[Any]:
    """The values at a dotted path, those in each element of an array on the way; names may themselves have dots."""
    if isinstance(document, list):
        for element in document:
            yield from values_at(element, path)
    elif isinstance(document, dict):
        for name, value in document.items():
            if name == path:
                yield value
            elif path.startswith(f"{name}."):
                yield from values_at(value, path[len(name) + 1 :])


def text_of(value: object) -> str:
    """A value as a server previews it."""
    return value if isinstance(value, str) else dumped(value).decode()


def is_number(value: object) -> bool:
    """Check that a JSON value is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)
