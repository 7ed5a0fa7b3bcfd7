"""`sluice stream`: a profile's documents without end, through servers that stay; what the containers run."""

import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.markup import escape

from lab.cli.publish import Ca, PasswordEnv, User, access_of, server_url, tell_import
from lab.cli.run import dataset_of
from lab.clients.target import cluster_of, topics_of
from lab.console import console
from lab.endpoints import Endpoints
from lab.errors import ProfileError, StackError, VerificationError
from lab.profiles import Profile, load_profile, override
from lab.profiles.remote import load_remote
from lab.publish.kibana import dashboard_address, live_monitoring_address
from lab.run.names import Names
from lab.stack.places import ROOT
from lab.stream.check import StreamBooks, check_stream
from lab.stream.laps import Pace
from lab.stream.prepare import find_stream, prepare_stream
from lab.stream.sender import send_stream
from lab.targets.choose import TargetFileOption, remote_file

TELL_EVERY_S = 30.0
AS_FAST_AS_THE_SINK = "max"
OTHER_SINKS = {"sluice": "elasticsearch", "confluent": "confluent"}
"""Name of a sink → connector template, for profiles that name no other."""

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.callback()
def stream() -> None:
    """Stream a profile's documents without end, through servers that stay; for the containers."""


ProfileName = Annotated[str, typer.Argument(metavar="PROFILE", help="Profile, as `sluice profiles` lists them.")]
Documents = Annotated[
    int | None,
    typer.Option(
        min=1, envvar="SLUICE_STREAM_DOCUMENTS", help="Documents of a lap; every lap sends the same ones again."
    ),
]
DataPath = Annotated[
    str | None, typer.Option("--path", envvar="SLUICE_STREAM_PATH", help="NDJSON file of the dataset `file`.")
]
DataKey = Annotated[
    str | None, typer.Option("--key", envvar="SLUICE_STREAM_KEY", help="Field of that file that holds the key.")
]
SinkName = Annotated[
    str, typer.Option("--sink", envvar="SLUICE_STREAM_SINK", help=f"The plugin: {' or '.join(OTHER_SINKS)}.")
]


@app.command()
def prepare(
    profile: ProfileName,
    *,
    documents: Documents = None,
    path: DataPath = None,
    key: DataKey = None,
    sink: SinkName = "sluice",
    target_file: TargetFileOption = None,
) -> None:
    """Make index, topic and connector of the stream; where they are there already, it goes on."""
    chosen = streamed(profile, documents=documents, path=path, key=key, sink=sink)
    dataset_of(chosen)
    prepared = prepare_stream(chosen, load_remote(remote_file(target_file)), root=ROOT)
    begins = "begins" if prepared.is_new else "goes on"
    console.print(f"{escape(chosen.name)}: {escape(chosen.question)}", soft_wrap=True)
    console.print(
        f"the stream {begins}: index {prepared.names.index}, connector {prepared.names.connector}", soft_wrap=True
    )
    if prepared.unassigned:
        console.print(f"[yellow]![/yellow] {prepared.unassigned} shards have no node to be on", soft_wrap=True)


@app.command()
def send(
    profile: ProfileName,
    *,
    rate: Annotated[
        str,
        typer.Option(
            envvar="SLUICE_STREAM_RATE",
            metavar="DOCS_PER_S",
            help="On an absolute schedule, which waiting for the sink does not move; max: as fast as the sink.",
        ),
    ] = AS_FAST_AS_THE_SINK,
    most_lag: Annotated[
        int,
        typer.Option(
            min=1, envvar="SLUICE_STREAM_MOST_LAG", metavar="RECORDS", help="Wait while the sink is behind so far."
        ),
    ] = 200_000,
    heartbeat: Annotated[Path | None, typer.Option(help="File to touch as long as this works.")] = None,
    documents: Documents = None,
    path: DataPath = None,
    key: DataKey = None,
    sink: SinkName = "sluice",
    target_file: TargetFileOption = None,
) -> None:
    """Send the stream's documents until it is stopped; started again, it goes on where it was."""
    pace = Pace(rate_of(rate), most_lag)
    chosen = streamed(profile, documents=documents, path=path, key=key, sink=sink)
    dataset = dataset_of(chosen)
    endpoints = load_remote(remote_file(target_file))
    names = stream_of(chosen, endpoints)
    stop = StopRequest()
    teller = Teller(dataset.documents, heartbeat)
    position = send_stream(chosen, dataset, endpoints, names, pace=pace, watcher=teller, is_over=stop.is_asked)
    console.print(f"stopped at {position:,} documents; started again, it goes on there")


@app.command()
def verify(
    profile: ProfileName,
    *,
    documents: Documents = None,
    path: DataPath = None,
    key: DataKey = None,
    sink: SinkName = "sluice",
    target_file: TargetFileOption = None,
) -> None:
    """Compare what is stored with what was sent; the stream must have been stopped. Exit status 4 if they differ."""
    chosen = streamed(profile, documents=documents, path=path, key=key, sink=sink)
    endpoints = load_remote(remote_file(target_file))
    names = stream_of(chosen, endpoints)
    books = check_stream(chosen, dataset_of(chosen), endpoints, names)
    console.print(sentence_of(books), soft_wrap=True)
    if books.problems:
        raise VerificationError(f"{names.index}: {'; '.join(books.problems)}")


@app.command()
def show(
    *,
    kibana: Annotated[str, typer.Option("--kibana", metavar="URL", help="Kibana.")],
    shown_at: Annotated[str, typer.Option("--shown-at", metavar="URL", help="Where a browser finds it.")],
    user: User = None,
    password_env: PasswordEnv = None,
    ca: Ca = None,
    target_file: TargetFileOption = None,
) -> None:
    """Give Kibana data view, panels and dashboard, and print where the stream is to be seen."""
    tell_import(server_url(kibana, "--kibana"), access_of(None, user, password_env, ca))
    cluster = cluster_of(load_remote(remote_file(target_file)))
    try:
        uuid = cluster.cluster_uuid()
    finally:
        cluster.close()
    console.print(f"dashboard:        {dashboard_address(shown_at)}", soft_wrap=True, markup=False)
    console.print(f"Stack Monitoring: {live_monitoring_address(shown_at, uuid)}", soft_wrap=True, markup=False)


def sentence_of(books: StreamBooks) -> str:
    """The books in one line."""
    verdict = "not what was sent" if books.problems else "verified"
    return (
        f"{books.sent:,} documents sent, {books.distinct:,} of them distinct; {books.stored:,} in the index, "
        f"{books.dead_lettered:,} dead letters, {books.sampled:,} compared: {verdict}"
    )


# --- what is streamed, and through what -----------------------------------------------------------------------------


def streamed(name: str, *, documents: int | None, path: str | None, key: str | None, sink: str) -> Profile:
    """The profile with the size of a lap, the user's file and the plugin.

    Raises:
        ProfileError: It is wrong, or the plugin is not known.
    """
    if sink not in OTHER_SINKS:
        raise ProfileError(f"--sink: got {sink}, expected {' or '.join(OTHER_SINKS)}")
    given = {"dataset.path": path, "dataset.key": key}
    overrides = [override(option, value) for option, value in given.items() if value]
    chosen = load_profile(name, overrides=overrides)
    if documents is not None and chosen.dataset.name != "file":
        overrides.append(override("dataset.documents", documents))
    if sink != "sluice" and chosen.sink.connector == OTHER_SINKS["sluice"]:
        overrides.append(override("sink.connector", OTHER_SINKS[sink]))
    return load_profile(name, overrides=overrides)


def rate_of(text: str) -> float | None:
    """Documents per second; `None` for as fast as the sink can.

    Raises:
        ProfileError: It is neither.
    """
    if text == AS_FAST_AS_THE_SINK:
        return None
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate < float("inf"):
        raise ProfileError(f"--rate: got {text}, expected documents per second above 0, or {AS_FAST_AS_THE_SINK}")
    return rate


def stream_of(profile: Profile, endpoints: Endpoints) -> Names:
    """The stream that was prepared.

    Raises:
        StackError: There is none.
    """
    cluster = cluster_of(endpoints)
    try:
        found = find_stream(cluster, topics_of(endpoints), profile)
    finally:
        cluster.close()
    if found is None:
        raise StackError(f"{profile.name}: no stream of exactly this profile is there; make it: sluice stream prepare")
    return found


# --- while it is sent -----------------------------------------------------------------------------------------------


class StopRequest:
    """Whether somebody wants an end: asked for by a signal, looked at between two blocks of documents."""

    def __init__(self) -> None:
        self._asked = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._ask)

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        self._asked = True

    def is_asked(self) -> bool:
        """Whether the end was asked for."""
        return self._asked


@dataclass
class Teller:
    """Says every half minute how the stream goes.

    Attributes:
        lap_documents: Documents of a lap.
        heartbeat: Touched at every word, said or not.
    """

    lap_documents: int
    heartbeat: Path | None
    _told_s: float | None = field(default=None, init=False)
    _told_documents: int = field(default=0, init=False)

    def sending(self, documents: int, lag: int) -> None:
        """So many documents have been sent since the stream began."""
        self._tell(documents, f"the sink is {lag:,} behind" if lag >= 0 else "Kafka does not answer")

    def waiting(self, documents: int, lag: int) -> None:
        """The sink is too far behind, or Kafka does not answer."""
        self._tell(documents, f"waiting for the sink, {lag:,} behind" if lag >= 0 else "waiting for Kafka")

    def _tell(self, documents: int, detail: str) -> None:
        if self.heartbeat is not None:
            self.heartbeat.touch()
        if self._told_s is None:
            begun = f"streaming from document {documents:,} on, {self.lap_documents:,} to a lap"
            console.print(f"{begun}; {detail}", soft_wrap=True)
            self._told_s, self._told_documents = time.monotonic(), documents
        passed_s = time.monotonic() - self._told_s
        if passed_s < TELL_EVERY_S:
            return
        rate = (documents - self._told_documents) / passed_s
        lap = documents // self.lap_documents + 1
        console.print(f"{documents:,} documents sent (lap {lap}), {rate:,.0f}/s; {detail}", soft_wrap=True)
        self._told_s, self._told_documents = time.monotonic(), documents
