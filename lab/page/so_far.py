"""A run under way as the report's rules take it: which stage limits it now, and what to know before believing it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, get_origin

from lab.analysis.figures.limits import limited_by
from lab.analysis.figures.warnings import busy_machine, memory_pressure, server_restarted
from lab.analysis.figures.windows import LEAST_SAMPLES, Windows
from lab.analysis.result import Said, worded
from lab.profiles import Direct, Profile, Rally
from lab.profiles.mapping import load_template
from lab.records.base import Record
from lab.records.result import Limit, Window
from lab.records.run import Delivery, DirectLoad, Environment, RallyLoad, Run, RunWarning, Server, SinkHistograms
from lab.records.samples import Sample
from lab.records.verification import Documents, Verification
from lab.stack.places import ROOT

R = TypeVar("R", bound=Record)
EMPTY = (int, float, str, tuple, dict)
WINDOW_S = 10.0
"""What limits at this moment is asked of so many seconds; warnings, of as many."""
OF_A_REPORT = "the measured window"

SLOW: Mapping[str, str] = {
    "producer": "producers",
    "broker": "topic",
    "sink": "tasks",
    "sender": "bulk",
    "elasticsearch": "nodes",
    "merge throttling": "nodes",
    "disk": "nodes",
}
"""Stage that limits → its place in the picture of the pipeline; the machine and the requested rate have none."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Limit and warnings of the last seconds by the report's rules; empty outside of a load.

    Attributes:
        asked_s: Length of what was searched for a limit; `None` where none was searched for.
    """

    limit: Limit | None = None
    warnings: tuple[RunWarning, ...] = ()
    asked_s: float | None = None

    @property
    def slow(self) -> str | None:
        """Place of the limit in the picture of the pipeline."""
        return SLOW.get(self.limit.stage) if self.limit else None


def judged(profile: Profile, cores: float, samples: Sequence[Sample]) -> Judgement:
    """Find limit and warnings of the last seconds of a run.

    Args:
        cores: Those that the run may use.
        samples: Oldest first; only the last ten seconds of them are looked at.
    """
    window = tuple(sample for sample in last_seconds(samples) if sample.phase == "load")
    if len(window) < LEAST_SAMPLES or samples[-1].phase != "load":
        return Judgement()
    run = run_so_far(profile, cores, window)
    # Of queries alone nothing is indexed, and what their senders do is only known at the end.
    limit = limited_by(run, window) if profile.load.fills_index else None
    seconds = Window(started_s=window[0].at_s, ended_s=window[-1].at_s, samples=len(window))
    cut = Windows(window, window, window, window, (), None, measured=seconds)
    disturbances = (server_restarted(cut), busy_machine(run, cut), memory_pressure(window))
    lasts_s = window[-1].at_s - window[0].at_s
    now = f"the last {lasts_s:.0f} s"
    return Judgement(
        limit and said_now(limit, now, profile),
        tuple(said_now(each, now, profile) for each in disturbances if each),
        lasts_s if profile.load.fills_index else None,
    )


def last_seconds(samples: Sequence[Sample]) -> tuple[Sample, ...]:
    """The samples of the last ten seconds before the newest one."""
    newest_s = samples[-1].at_s if samples else 0.0
    return tuple(sample for sample in samples[-100:] if sample.at_s >= newest_s - WINDOW_S)


def said_now(said: Said, now: str, profile: Profile) -> Said:
    """Text in words for a run under way, with the engine that it runs on.

    Args:
        now: The seconds that it is of.
    """
    texts = {name: text.replace(OF_A_REPORT, now) for name, text in said if type(text) is str}
    return worded(said.model_copy(update=texts), profile.release.engine.title)


def run_so_far(profile: Profile, cores: float, window: Sequence[Sample]) -> Run:
    """The record of a run as far as rules ask for it before it has ended; what only its end tells is left out."""
    load = profile.load
    return Run(
        run_id="",
        profile=profile.name,
        question=profile.question,
        started_s=window[0].at_s,
        ended_s=window[-1].at_s,
        phases=(),
        load=load.mode,
        via=load.via,
        index="",
        topic=None,
        documents=known(Documents),
        verification=Verification(verified=False, expect=profile.verify.expect, problems=()),
        delivery=delivery(profile, window) if load.uses_kafka else None,
        direct=direct(load, window) if isinstance(load, Direct) else None,
        rally=known(RallyLoad, clients=load.clients, bulk_size=load.bulk_size) if isinstance(load, Rally) else None,
        sink_histograms=SinkHistograms(record_age=None, bulk_service_time=None),
        environment=environment(profile, cores, window),
    )


def known(record: type[R], **fields: Any) -> R:
    """A record with these fields; all others that it must have are 0, empty or `None`."""
    needed = {name: of.annotation for name, of in record.model_fields.items() if of.is_required()}
    kinds: dict[str, Any] = {name: get_origin(annotation) or annotation for name, annotation in needed.items()}
    empty = {name: kind() if kind in EMPTY else None for name, kind in kinds.items()}
    return record(**empty | fields)


def delivery(profile: Profile, window: Sequence[Sample]) -> Delivery:
    """Delivery as far as it is known: the rate that was asked for. The rate of a ramp changes."""
    rate, at_s = profile.load.one_rate_docs_per_s, window[0].at_s
    return known(Delivery, rate_docs_per_s=rate, first_intended_s=at_s, last_acknowledged_s=at_s)


def direct(load: Direct, window: Sequence[Sample]) -> DirectLoad:
    """Direct load as far as it is known: connections and rate."""
    return known(
        DirectLoad,
        connections=load.connections,
        bulk_by_shard=load.bulk_by_shard,
        rate_docs_per_s=load.rate_docs_per_s,
        started_s=window[0].at_s,
        ended_s=window[-1].at_s,
    )


def environment(profile: Profile, cores: float, window: Sequence[Sample]) -> Environment:
    """Machine and software as far as they are known: cores, sampled servers, settings of the sink."""
    connector, servers = connector_settings(profile), tuple(servers_in(window))
    return known(Environment, cpu_cores=cores, servers=servers, connector=connector)


def servers_in(window: Sequence[Sample]) -> Iterable[Server]:
    """The servers on this machine, as the newest sample knows them; elsewhere, no process of theirs is sampled."""
    for name, process in window[-1].processes.items():
        if name.startswith(("elasticsearch", "kafka", "connect")):
            yield Server(name=name, version="", pid=process.pid)


def connector_settings(profile: Profile) -> dict[str, object]:
    """The settings by which the connector bounds its bulk requests, as the template and the profile have them."""
    if not profile.load.uses_kafka or not profile.sink.is_connector:
        return {}
    settings = {**load_template(profile.sink.connector, ROOT), **profile.sink.config}
    return {**settings, "tasks.max": str(settings.get("tasks.max", "")).replace("${tasks}", str(profile.sink.tasks))}
