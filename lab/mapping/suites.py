"""Suites that `sluice mapping` makes: a mapping against dynamic mapping, or against itself without a field."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.mapping.units import Unit
from lab.profiles import load_profile
from lab.profiles.loader import override
from lab.profiles.suites import AGAIN, PRECISION, Measures, Suite, SuiteVariant
from lab.records.suite import SuitePlan

PROFILE = "file"
CPU = ("cpu_s_per_million_docs", "elasticsearch")
RATE = ("indexing_rate_docs_per_s", "primaries")
SIZE = ("store_size_bytes", "primaries")
DYNAMIC = "dynamic mapping"
WHOLE = "whole mapping"
WITHOUT = "without "
DISABLED = "disabled_fields"
MINUTES = 10.0
UNITS_PER_MINUTE = 0.7
"""Variants that the time allows with four blocks of each; estimated for 2 cores and loads of 48 MB."""
LEAST_UNITS = 3


@dataclass(frozen=True)
class Documents:
    """The documents of a suite's loads.

    Attributes:
        path: The file.
        count: The first so many of it; `None` for all.
        version: Of Elasticsearch; `None` for the profile's own.
    """

    path: str
    key: str | None = None
    count: int | None = None
    version: str | None = None

    @property
    def settings(self) -> dict[str, object]:
        """Values in a profile, by dotted key."""
        stated = {
            "dataset.path": str(Path(self.path).resolve()),
            "dataset.key": self.key,
            "dataset.documents": self.count,
            "elasticsearch.version": self.version,
        }
        return {name: value for name, value in stated.items() if value is not None}


def against_dynamic(mapping: str, documents: Documents) -> Suite:
    """Suite that compares a mapping with dynamic mapping on the same documents.

    Through the sink, which goes on after a rejected one.
    """
    return made_suite(
        f"mapping-{mapping.replace('/', '-')}",
        f"What does {mapping} save against dynamic mapping of the same documents?",
        {DYNAMIC: {"mapping": "dynamic"}, mapping: {"mapping": mapping}},
        documents.settings,
        (CPU, RATE, SIZE),
    )


def without_each(mapping: str, units: Sequence[Unit], documents: Documents) -> Suite:
    """Suite that measures the cost of each unit of a mapping, by leaving it out.

    As ready-made bulk requests, so that hardly anything but Elasticsearch is at work.
    """
    left_out = {f"{WITHOUT}{unit.name}": {DISABLED: list(unit.fields)} for unit in units}
    return made_suite(
        f"explain-{mapping.replace('/', '-')}",
        f"What does each field of {mapping} cost?",
        {WHOLE: {}, **left_out},
        {**documents.settings, "mapping": mapping, "load.via": "direct"},
        (CPU, SIZE),
    )


def made_suite(
    name: str,
    question: str,
    variants: Mapping[str, Mapping[str, object]],
    shared: Mapping[str, object],
    metrics: tuple[tuple[str, str], ...],
) -> Suite:
    """A suite of variants of the profile `file`, each compared with the first one, which runs twice in each block.

    Args:
        variants: Name → what it sets, by dotted key.
        shared: What all of them set.

    Raises:
        ProfileError: A variant's profile is wrong.
    """
    control = next(iter(variants))
    made = []
    for each, own in variants.items():
        overrides = tuple(override(key, value) for key, value in {**shared, **own}.items())
        profile = load_profile(PROFILE, overrides=(*overrides, override("question", question)))
        made.append(SuiteVariant(each, profile, overrides, None if each == control else control))
        if each == control:
            made.append(SuiteVariant(f"{control}{AGAIN}", profile, overrides, control))
    return Suite(
        name=name,
        question=question,
        control=control,
        repetition=f"{control}{AGAIN}",
        variants=tuple(made),
        measures=Measures(minutes=MINUTES, precision=PRECISION),
        seed=1,
        metrics=metrics,
        published=None,
    )


def most_units(minutes: float | None) -> int:
    """Number of variants that the time allows beside the control."""
    return max(LEAST_UNITS, round(UNITS_PER_MINUTE * (minutes or MINUTES)))


def begun_units(plan: SuitePlan, units: Sequence[Unit]) -> list[Unit]:
    """Units that a suite under way leaves out, by its plan."""
    types = {unit.name: unit.type for unit in units}
    begun = []
    for variant in plan.variants:
        for text in variant.overrides:
            key, _, value = text.partition("=")
            if key == DISABLED:
                name = variant.name.removeprefix(WITHOUT)
                begun.append(Unit(name, tuple(json.loads(value)), types.get(name, "")))
    return begun
