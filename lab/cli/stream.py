"""`sluice stream`, `sluice watch`: a profile's documents without end, through servers that stay; for the containers."""

import contextlib
import signal
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.markup import escape

from lab.analysis.text import number, quantity
from lab.cli.options import (
    Ca,
    HeartbeatOption,
    KeyOption,
    PageOption,
    PasswordEnv,
    PathOption,
    ProfileArgument,
    TargetFileOption,
    User,
    with_groups,
)
from lab.cli.page import is_wanted, meanwhile
from lab.cli.publish import AccessOptions, access_of, print_import, server_url
from lab.cli.run import dataset_of
from lab.clients.target import cluster_of, topics_of
from lab.console import console
from lab.endpoints import Endpoints
from lab.errors import ProfileError, StackError, VerificationError
from lab.profiles import Profile, load_profile, override
from lab.publish.kibana import dashboard_address, live_monitoring_address
from lab.publish.publish import prepare_samples
from lab.publish.server import Server
from lab.publish.watch import Pipeline, Watch
from lab.run.names import Names, index_name
from lab.stack.places import ROOT
from lab.stream.check import StreamAccounting, check_stream
from lab.stream.kubernetes import prepare_index
from lab.stream.laps import Pace, Watcher
from lab.stream.prepare import find_stream, prepare_stream
from lab.stream.sampled import sampled_stream
from lab.stream.sender import send_stream
from lab.targets.choose import remote_endpoints
from producers.dataset import Dataset
from producers.produce import WHOLE
from producers.share import MOST_SHARES, Share

REPORT_INTERVAL_S = 30.0
KIBANAS_GRAIN_S = 10.0
AS_FAST_AS_THE_SINK = "max"
OTHER_SINKS = {"sluice": "elasticsearch", "confluent": "confluent"}
"""Name of a sink → connector template, for profiles that name no other."""

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.callback()
def stream() -> None:
    """Stream documents without end; used by the containers."""


@dataclass(frozen=True, kw_only=True)
class StreamOptions:
    """Options that say which stream a command is about."""

    profile: ProfileArgument
    documents: Annotated[
        int | None,
        typer.Option(
            min=1, envvar="SLUICE_STREAM_DOCUMENTS", help="Documents of a lap; every lap sends the same ones again."
        ),
    ] = None
    path: PathOption = None
    key: KeyOption = None
    sink: Annotated[str, typer.Option(envvar="SLUICE_STREAM_SINK", help=f"Sink: {' or '.join(OTHER_SINKS)}.")] = (
        "sluice"
    )
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", envvar="SLUICE_STREAM_SET", metavar="KEY=VALUE", help="Set a value of the profile."),
    ] = None
    target_file: TargetFileOption = None

    def chosen(self) -> tuple[Profile, Endpoints]:
        """The stream's profile, and where its servers are."""
        profile = streamed(
            self.profile,
            documents=self.documents,
            path=self.path,
            key=self.key,
            sink=self.sink,
            settings=self.settings or (),
        )
        return profile, remote_endpoints(self.target_file)


def streamed_dataset(profile: Profile) -> Dataset:
    """The dataset of a stream without end.

    Raises:
        ProfileError: It cannot be had, or its documents have a routing, which only a run sends.
    """
    dataset = dataset_of(profile)
    if dataset.is_routed:
        raise ProfileError("dataset.path: got documents with a routing, expected none; use `./sluice run`")
    return dataset


@app.command()
@with_groups
def prepare(of: StreamOptions) -> None:
    """Create index, topic and connector of the stream; an existing stream continues."""
    profile, endpoints = of.chosen()
    streamed_dataset(profile)
    prepared = prepare_stream(profile, endpoints, root=ROOT)
    state = "begins" if prepared.is_new else "goes on"
    console.print(f"{escape(profile.name)}: {escape(profile.question)}", soft_wrap=True)
    console.print(
        f"the stream {state}: index {prepared.names.index}, connector {prepared.names.connector}", soft_wrap=True
    )
    if prepared.unassigned:
        console.print(f"[yellow]![/yellow] {quantity(prepared.unassigned, 'shard')} unassigned", soft_wrap=True)


@app.command()
@with_groups
def index(of: StreamOptions) -> None:
    """Create the index alone, where Kubernetes' operators make topic and connector; an existing one stays."""
    profile, endpoints = of.chosen()
    unassigned = prepare_index(profile, endpoints)
    console.print(f"{escape(profile.name)}: {escape(profile.question)}", soft_wrap=True)
    console.print(f"index {index_name(profile)}: {'is there' if unassigned is None else 'created'}", soft_wrap=True)
    if unassigned:
        console.print(f"[yellow]![/yellow] {quantity(unassigned, 'shard')} unassigned", soft_wrap=True)


@app.command()
@with_groups
def send(
    of: StreamOptions,
    *,
    rate: Annotated[
        str,
        typer.Option(
            envvar="SLUICE_STREAM_RATE",
            metavar="DOCS_PER_S",
            help="Documents per second, on an absolute schedule; max: as fast as the sink reads.",
        ),
    ] = AS_FAST_AS_THE_SINK,
    most_lag: Annotated[
        int,
        typer.Option(
            min=1,
            envvar="SLUICE_STREAM_MOST_LAG",
            metavar="RECORDS",
            help="Pause sending while the sink lags by more records than this.",
        ),
    ] = 200_000,
    share: Annotated[
        str | None,
        typer.Option(
            envvar="SLUICE_STREAM_SHARE",
            metavar="N/OF",
            help="Send one share of the documents, such as 1/2; others send the rest. The rate is that of all.",
        ),
    ] = None,
    heartbeat: HeartbeatOption = None,
    page: PageOption = None,
) -> None:
    """Send the stream's documents until it is stopped; a restart continues where it was."""
    profile, endpoints = of.chosen()
    pace, which = Pace(rate_of(rate), most_lag), share_of(share)
    dataset = streamed_dataset(profile)
    names = stream_of(profile, endpoints)
    stop = StopRequest()
    reporter = Reporter(dataset.documents, heartbeat)
    with watched(profile, endpoints, names, reporter, page=page) as watcher:
        position = send_stream(
            profile, dataset, endpoints, names, pace=pace, watcher=watcher, is_over=stop.is_requested, share=which
        )
    console.print(f"stopped at {position:,} documents; start it again to continue there")


@app.command()
@with_groups
def verify(
    of: StreamOptions,
    *,
    shares: Annotated[
        int,
        typer.Option(
            min=1, max=MOST_SHARES, envvar="SLUICE_STREAM_SHARES", help="How many producers sent it, each its share."
        ),
    ] = 1,
) -> None:
    """Compare what is stored with what was sent; the stream must have been stopped. Exit status 4 if they differ."""
    profile, endpoints = of.chosen()
    names = stream_of(profile, endpoints)
    accounting = check_stream(profile, dataset_of(profile), endpoints, names, shares=shares)
    console.print(sentence_of(accounting), soft_wrap=True)
    if accounting.problems:
        raise VerificationError(f"{names.index}: {'; '.join(accounting.problems)}")


@app.command()
def show(
    *,
    kibana: Annotated[str, typer.Option("--kibana", metavar="URL", help="Kibana.")],
    shown_at: Annotated[str, typer.Option("--shown-at", metavar="URL", help="Address of Kibana for browsers.")],
    user: User = None,
    password_env: PasswordEnv = None,
    ca: Ca = None,
    target_file: TargetFileOption = None,
) -> None:
    """Import data view, panels and dashboard into Kibana, and print their addresses."""
    print_import(server_url(kibana, "--kibana"), access_of(None, user, password_env, ca))
    with closing(cluster_of(remote_endpoints(target_file))) as cluster:
        uuid = cluster.cluster_uuid()
    console.print(f"dashboard:        {dashboard_address(shown_at)}", soft_wrap=True, markup=False)
    console.print(f"Stack Monitoring: {live_monitoring_address(shown_at, uuid)}", soft_wrap=True, markup=False)


@with_groups
def watch(
    profile: ProfileArgument,
    *,
    to: Annotated[str, typer.Option("--to", metavar="URL", help="Elasticsearch that Kibana reads.")],
    target_file: TargetFileOption = None,
    path: PathOption = None,
    key: KeyOption = None,
    interval: Annotated[
        float, typer.Option(min=1.0, metavar="SECONDS", help="Seconds between two samples.")
    ] = KIBANAS_GRAIN_S,
    heartbeat: HeartbeatOption = None,
    kibana: Annotated[
        str | None, typer.Option("--kibana", metavar="URL", help="Kibana, for the address printed.")
    ] = None,
    authentication: AccessOptions,
) -> None:
    """Send samples of a running stream to an Elasticsearch. Ends with Ctrl-C."""
    chosen = load_profile(profile, overrides=file_overrides(path, key))
    access = access_of(**vars(authentication))
    pipeline = Pipeline(chosen, remote_endpoints(target_file))
    log = partial(console.print, soft_wrap=True, markup=False)
    with closing(pipeline), closing(Server(server_url(to, "--to"), access)) as server:
        try:
            prepare_samples(server)
            if kibana:
                log(f"dashboard: {dashboard_address(kibana)}")
            beat = heartbeat.touch if heartbeat else object
            Watch(chosen.name, pipeline, server, interval_s=interval, log=log, heartbeat=beat).run(threading.Event())
        except KeyboardInterrupt:
            log("stopped")  # which is how it is meant to end


def sentence_of(accounting: StreamAccounting) -> str:
    """The accounting of a stream in one line."""
    verdict = "not what was sent" if accounting.problems else "verified"
    return (
        f"{accounting.sent:,} documents sent, {accounting.distinct:,} of them distinct; "
        f"{accounting.stored:,} in the index, {accounting.dead_lettered:,} dead letters, "
        f"{accounting.sampled:,} compared: {verdict}"
    )


# --- what is streamed, and through what -----------------------------------------------------------------------------


def streamed(
    name: str, *, documents: int | None, path: str | None, key: str | None, sink: str, settings: Sequence[str] = ()
) -> Profile:
    """The profile with the size of a lap, the user's file, the plugin and the values that are set.

    Raises:
        ProfileError: It is wrong, or the plugin is not known.
    """
    if sink not in OTHER_SINKS:
        raise ProfileError(f"--sink: got {sink}, expected {' or '.join(OTHER_SINKS)}")
    overrides = [*file_overrides(path, key), *settings]
    chosen = load_profile(name, overrides=overrides)
    if documents is not None and chosen.dataset.name != "file":
        overrides.append(override("dataset.documents", documents))
    if sink != "sluice" and chosen.sink.connector == OTHER_SINKS["sluice"]:
        overrides.append(override("sink.connector", OTHER_SINKS[sink]))
    return load_profile(name, overrides=overrides)


def file_overrides(path: str | None, key: str | None) -> list[str]:
    """The overrides of a profile for the user's file."""
    given = {"dataset.path": path, "dataset.key": key}
    return [override(option, value) for option, value in given.items() if value]


def share_of(text: str | None) -> Share:
    """The share that a producer sends; the whole without one. Raises ProfileError if it is none."""
    try:
        return WHOLE if text is None else Share.parsed(text)
    except ValueError as error:
        raise ProfileError(f"--{error}") from error


def rate_of(text: str) -> float | None:
    """Documents per second, `None` for as fast as the sink can; raises ProfileError for anything else."""
    if text == AS_FAST_AS_THE_SINK:
        return None
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate < float("inf"):
        raise ProfileError(f"--rate: got {text}, expected documents per second above 0, or {AS_FAST_AS_THE_SINK}")
    return rate


@contextlib.contextmanager
def watched(
    profile: Profile, endpoints: Endpoints, names: Names, reporter: Watcher, *, page: bool | None
) -> Iterator[Watcher]:
    """Who is told how the stream goes: the page, too, if there is to be one."""
    if not is_wanted(page):
        yield reporter
        return
    with (
        tempfile.TemporaryDirectory(prefix="sluice-") as runs,
        meanwhile(wanted=True, runs=Path(runs)),
        sampled_stream(profile, endpoints, names, Path(runs), reporter) as sampled,
    ):
        yield sampled


def stream_of(profile: Profile, endpoints: Endpoints) -> Names:
    """The stream that was prepared; raises StackError if there is none."""
    with closing(cluster_of(endpoints)) as cluster:
        names = find_stream(cluster, topics_of(endpoints), profile)
    if names is None:
        raise StackError(f"{profile.name}: no stream of exactly this profile exists; make it: sluice stream prepare")
    return names


# --- while it is sent -----------------------------------------------------------------------------------------------


class StopRequest:
    """Whether a signal has asked for the end, which is looked at between two blocks of documents."""

    def __init__(self) -> None:
        self._is_requested = False
        for wanted in (signal.SIGINT, signal.SIGTERM):
            signal.signal(wanted, self._request)

    def _request(self, _number: int, _frame: FrameType | None) -> None:
        self._is_requested = True

    def is_requested(self) -> bool:
        """Whether the end was asked for."""
        return self._is_requested


@dataclass
class Reporter:
    """Says every half minute how the stream goes.

    Attributes:
        lap_documents: Documents of a lap.
        heartbeat: Touched at every word, said or not.
    """

    lap_documents: int
    heartbeat: Path | None
    _printed_at_s: float | None = field(default=None, init=False)
    _printed_documents: int = field(default=0, init=False)

    def sending(self, documents: int, lag: int) -> None:
        """So many documents have been sent since the stream began."""
        self._report(documents, f"the sink is {lag:,} behind" if lag >= 0 else "Kafka does not answer")

    def waiting(self, documents: int, lag: int) -> None:
        """The sink is too far behind, or Kafka does not answer."""
        self._report(documents, f"waiting for the sink, {lag:,} behind" if lag >= 0 else "waiting for Kafka")

    def _report(self, documents: int, detail: str) -> None:
        if self.heartbeat is not None:
            self.heartbeat.touch()
        now_s = time.monotonic()
        if self._printed_at_s is None:
            line = f"streaming from document {documents:,} on, {self.lap_documents:,} to a lap"
        elif now_s - self._printed_at_s >= REPORT_INTERVAL_S:
            rate = (documents - self._printed_documents) / (now_s - self._printed_at_s)
            line = f"{documents:,} documents sent (lap {documents // self.lap_documents + 1}), {number(rate)}/s"
        else:
            return
        console.print(f"{line}; {detail}", soft_wrap=True)
        self._printed_at_s, self._printed_documents = now_s, documents
