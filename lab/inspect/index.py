"""The index that a connector writes to: its settings, and the fields of its mapping that cost most by their kind."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lab.clients.elasticsearch import in_effect

SHOWN = {
    "number_of_shards": "shards",
    "number_of_replicas": "replicas",
    "refresh_interval": "refresh",
    "translog.durability": "translog",
    "codec": "codec",
    "mode": "mode",
    "default_pipeline": "pipeline",
    "final_pipeline": "final pipeline",
}
"""Settings of an index that bear on indexing, without `index.` → what they are called on the screen."""
NONE = {"", "_none"}
MANY_FIELDS = 300
"""Fields, multi-fields counted: beyond, a mapping costs by its size alone."""
COSTLY = {"search_as_you_type": 1, "dense_vector": 1, "knn_vector": 1, "completion": 4, "nested": 5}
"""Types of fields that cost much → rank, the dearest first."""
GRAMS = re.compile(r"n_?gram|shingle", re.IGNORECASE)


@dataclass(frozen=True)
class InspectedIndex:
    """The index, data stream or alias that grew most.

    Attributes:
        settings: Flat, without `index.`, with the defaults.
        stated: Those of them that are set.
    """

    name: str
    settings: Mapping[str, Any]
    mapping: Mapping[str, Any]
    stated: Mapping[str, Any] = field(default_factory=dict)

    def setting(self, name: str) -> str:
        """A setting in effect; empty where it is not set or not known."""
        value = str(self.settings.get(name, ""))
        return "" if value in NONE else value

    @property
    def shown(self) -> dict[str, str]:
        """The settings that bear on indexing, as they are in effect."""
        return {name: value for name in SHOWN if (value := self.setting(name))}

    @property
    def is_time_series(self) -> bool:
        """Check that it makes the id of a document of its dimensions and time."""
        return self.setting("mode") == "time_series"

    @property
    def replicas(self) -> int:
        """Copies of each shard beside the primary."""
        return int(self.setting("number_of_replicas") or 0)

    @property
    def blocks(self) -> list[str]:
        """Blocks that are set."""
        on = (name for name, value in self.settings.items() if value == "true")
        return sorted(name.removeprefix("blocks.") for name in on if name.startswith("blocks."))

    @property
    def fields(self) -> list[tuple[str, str, Mapping[str, Any]]]:
        """Name, type and definition of each field, of objects and multi-fields too."""
        return list(fields_of(self.mapping.get("properties", {})))

    @property
    def counts(self) -> dict[str, int]:
        """Fields by what they are: all that are indexed or stored, and those of costly types."""
        kinds = [kind for _, kind, _ in self.fields if kind != "object"]
        return {"all": len(kinds)} | {
            kind: kinds.count(kind) for kind in ("text", "keyword", "nested") if kind in kinds
        }

    @property
    def costly(self) -> list[str]:
        """Fields that cost much by their kind, the dearest kind first."""
        costs = ((*cost_of(kind, of, self.gram_analyzers), name) for name, kind, of in self.fields)
        named = [f"{name}: {why}" for _, name, why in sorted((rank, name, why) for rank, why, name in costs if why)]
        many = self.counts["all"]
        return [*named, f"{many:,} fields"] if many > MANY_FIELDS else named

    @property
    def gram_analyzers(self) -> frozenset[str]:
        """Analyzers of the index that make n-grams or shingles of each word, by tokenizer or filter."""
        analysis = [(name.split("."), str(of)) for name, of in self.settings.items() if name.startswith("analysis.")]
        parts = {
            path[2] for path, of in analysis if path[1] != "analyzer" and path[3:] == ["type"] and GRAMS.search(of)
        }
        return frozenset(
            path[2]
            for path, of in analysis
            if path[1] == "analyzer" and path[3:4] in (["tokenizer"], ["filter"])
            for word in re.findall(r"[\w-]+", of)
            if word in parts or GRAMS.search(word)
        )


def inspected_index(name: str, answer: Mapping[str, Any], mapping: Mapping[str, Any]) -> InspectedIndex:
    """An index out of its part of the answer to `_settings`, flat and with defaults, and its mapping."""
    settings, stated = (
        {key.removeprefix("index."): value for key, value in values.items()}
        for values in (in_effect(answer), answer.get("settings", {}))
    )
    return InspectedIndex(name, settings, mapping, stated)


def fields_of(properties: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Name, type and definition of each field below, the names with a prefix."""
    for name, of in properties.items():
        yield f"{prefix}{name}", str(of.get("type", "object")), of
        yield from fields_of(of.get("properties", {}), f"{prefix}{name}.")
        yield from fields_of(of.get("fields", {}), f"{prefix}{name}.")


def cost_of(kind: str, of: Mapping[str, Any], gram_analyzers: frozenset[str]) -> tuple[int, str]:
    """Rank of a costly kind and what it is; an empty text for a field of no costly kind.

    Each kind here makes several terms of one word, or a document or graph node of one value (Elasticsearch's pages of
    the field types). A plain `text` or `keyword` is none.
    """
    if of.get("index") is False:
        return 9, ""
    if kind == "text":
        analyzer = str(of.get("analyzer", "default"))
        if analyzer in gram_analyzers or GRAMS.search(analyzer):
            return 0, f"n-grams (analyzer {analyzer})"
        if "index_prefixes" in of:
            return 2, "index_prefixes"
        if of.get("index_phrases") is True:
            return 3, "index_phrases"
    return COSTLY.get(kind, 9), kind if kind in COSTLY else ""
