"""Rate and latency of a run's load, as terminal, lists and pages show them."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from lab.analysis.figures.definitions import value_of
from lab.analysis.text import figure
from lab.records.result import Result
from lab.records.run import WarningKind

RATE, LATENCY = ("indexing_rate_docs_per_s", "primaries"), ("indexing_latency_ms", "primaries")
DRAIN = ("drain_s", "run")
OF_A_WINDOW = frozenset(
    {
        "indexing_rate_docs_per_s",
        "indexing_latency_ms",
        "source_mb_per_s",
        "entities_per_s",
        "consumed_rate_docs_per_s",
    }
)
"""Without a measured window they are those of a few samples, in which hardly anything may have been indexed."""


class LoadFigures(NamedTuple):
    """Rate and latency of a load; `None` where they were not measured.

    Attributes:
        is_rough: There is no measured window: the rate is the documents indexed, each update counted, ÷ drain time.
    """

    rate_docs_per_s: float | None
    latency_ms: float | None
    is_rough: bool = False

    @property
    def rate_text(self) -> str:
        """`5,000/s`; a rough rate is `≈ 4,420/s`."""
        return f"{'≈ ' if self.is_rough else ''}{figure(self.rate_docs_per_s, 'docs/s')}"

    @property
    def explained_rate(self) -> str:
        """Text of the figure; a rough rate is `≈ 4,420/s (documents ÷ drain time)`."""
        return f"{self.rate_text}{' (documents ÷ drain time)' if self.is_rough else ''}"


def is_measured(result: Result, name: str) -> bool:
    """Check that a figure has the measured window that it needs."""
    return result.measured_window is not None or name not in OF_A_WINDOW


def why_no_window(result: Result) -> str:
    """Why a load has no measured window, to follow that it has none."""
    kinds = {warning.kind for warning in result.warnings}
    is_void = kinds & {WarningKind.SERVER_RESTARTED, WarningKind.SHARD_MOVED} and WarningKind.SHORT_WINDOW not in kinds
    return "counters of the index began again in it" if is_void else "too little of the load could be measured"


def load_figures(result: Result) -> LoadFigures:
    """Figures of a run; without a measured window, documents ÷ the whole time that they took.

    A rough rate counts what the measured one does: an update is indexed as often as it was sent.

    Source: 115,069 documents in 26.017 s are 4,423/s, whether they are as many books or a third of them, updated twice.
    """
    return _figures(
        lambda name, scope: value_of(result.metrics, name, scope),
        has_window=result.measured_window is not None,
        indexed=result.documents.indexed + result.documents.already_there,
    )


def recorded_load_figures(result: Mapping[str, Any]) -> LoadFigures:
    """Figures from a `result.json` that is not validated, since a history reads thousands of them.

    Raises:
        KeyError: It is none, or of another version.
    """
    values = {(metric["name"], metric["scope"]): metric["value"] for metric in result["metrics"]}
    return _figures(
        lambda name, scope: values.get((name, scope)),
        has_window=result["measured_window"] is not None,
        indexed=result["documents"]["indexed"] + result["documents"].get("already_there", 0),
    )


def _figures(value: Callable[[str, str], float | None], *, has_window: bool, indexed: int) -> LoadFigures:
    rate, drain_s = value(*RATE), value(*DRAIN)
    if has_window and rate is not None:
        return LoadFigures(rate, value(*LATENCY))
    rough = indexed / drain_s if indexed and drain_s else None
    return LoadFigures(rough, None, is_rough=rough is not None)
