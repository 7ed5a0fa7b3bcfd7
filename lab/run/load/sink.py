"""The sink of a run, a connector or a command in its place: configured, started, followed to the end of its load."""

import math
import shlex
import string
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from lab.clients.connect import ConnectWorker
from lab.clients.kafka import kafka_text
from lab.endpoints import Access, Endpoints, words_without_secrets
from lab.errors import ProfileError, StackError
from lab.monitor import Sampler, read_sink_histograms
from lab.monitor.processes import reason
from lab.profiles import Profile
from lab.profiles.mapping import TEMPLATES, load_template
from lab.records.run import SinkHistograms
from lab.run.load.availability import OURS
from lab.run.load.command import CommandSink, filled_command, own_values
from lab.run.load.drain import DrainWatch, Goal, wait_for_sample_after
from lab.run.names import Names
from lab.run.phases import RunContext
from lab.run.verify.sink_ledger import LedgerReading, read_settled_ledger

POLL_S = 0.2
STATUS_EVERY_S = 2.0
ELASTICSEARCH_URLS = "connection.url"


@dataclass
class Sink:
    """The sink of one run.

    Attributes:
        config: The connector's configuration, or the command as it may be written down; empty until `configure`.
    """

    run: RunContext
    worker: ConnectWorker
    config: dict[str, str] = field(default_factory=dict, init=False)
    _pipeline: CommandSink | None = field(default=None, init=False)
    _checked_s: float = field(default=-math.inf, init=False)

    def configure(self) -> None:
        """Make the configuration, and have the worker approve of it; or make the command in its place.

        Raises:
            ProfileError: A setting is refused, or a placeholder or the template is not known.
        """
        values = placeholders(self.run.profile, self.run.target.endpoints, self.run.names)
        if self.run.profile.sink.command:
            command = filled_command(self.run.profile.sink.command, {**values, **own_values(self.run.root)})
            self._pipeline = CommandSink(
                command,
                log=self.run.folder.path / "sink.log",
                folder=self.run.root,
                environment=self.run.target.child_environment,
            )
            self.config = {"command": shlex.join(words_without_secrets(command))}
            return
        config = connector_config(self.run.root, self.run.profile, values, self.run.target.access)
        self.worker.validate(config)
        # Only now: the sink looks whether the indices are there, and they are made when it has approved of the rest.
        self.config = config | index_by_topic(self.run.names)

    @property
    def key_is_id(self) -> bool:
        """Whether a record's key is its document's id."""
        return self.config.get("key.ignore", "false") != "true"

    @property
    def id_prefix(self) -> str:
        """What stands before an id that is no key."""
        return self.config.get("id.prefix", "")

    @property
    def keeps_ledger(self) -> bool:
        """Whether it is a connector of ours."""
        return self.config.get("connector.class", "").startswith(OURS)

    def start(self) -> None:
        """Start the connector and wait until its tasks run; or the command."""
        self.run.progress.begin("load", "starting the sink", None)
        if self._pipeline is not None:
            self.run.children["sink"] = self._pipeline.start()
            return
        self.worker.create(self.run.names.connector, self.config)
        self.worker.wait_until_running(self.run.names.connector)

    def drain(self, sampler: Sampler, delivered: int) -> None:
        """Wait until it has committed every record.

        Raises:
            StackError: A task failed, nothing moved for too long, or the profile's time was over.
        """
        self.run.progress.begin("load", "indexing", delivered)
        goal: Goal = "either" if self._pipeline else "committed"
        watch = DrainWatch(delivered, self.run.profile.load.timeout_s, goal=goal)
        while not watch.done(sampler.latest):
            if (ended_s := self.ended_s()) is not None:
                self.run.children.pop("sink", None)
                wait_for_sample_after(ended_s, lambda: sampler.latest)
                break
            self.run.progress.update(watch.position, watch.detail)
            time.sleep(POLL_S)
        self.run.progress.update(delivered, "")

    def ended_s(self) -> float | None:
        """When it ended by itself, as only a command may; what is missing then, verification finds.

        Called again and again, it looks every two seconds.

        Raises:
            StackError: A task, or the command, has failed.
        """
        if time.monotonic() - self._checked_s < STATUS_EVERY_S:
            return None
        self._checked_s = time.monotonic()
        if self._pipeline is None:
            self.worker.running_tasks(self.run.names.connector)
            return None
        self._pipeline.check()
        return self._pipeline.ended_s

    def refuse_end(self) -> None:
        """Refuse that it ends while documents are still being produced.

        Raises:
            StackError: It has.
        """
        if self.ended_s() is not None and self._pipeline is not None:
            raise StackError(
                f"sink.command: {self._pipeline.command[0]}: ended before the last document was produced; its log is "
                f"{self.run.folder.path / 'sink.log'}",
                self._pipeline.last_lines(),
            )

    def stop_command(self) -> None:
        """Stop the command, if it is one; a connector stays until the run has read its figures."""
        self.run.children.pop("sink", None)
        if self._pipeline is not None:
            self._pipeline.stop()

    def ledger(self) -> LedgerReading | None:
        """Its ledger once nothing is in flight; `None` for a command, which has no worker to tell of it."""
        if self._pipeline is not None:
            return None
        return read_settled_ledger(
            self.run.target.endpoints.metrics_url, self.run.names.connector, access=self.run.target.access.metrics
        )

    def histograms(self) -> SinkHistograms:
        """Its histograms; without a value where the worker offers none, and of a sink that is not ours."""
        url = self.run.target.endpoints.metrics_url
        if url is None or not self.keeps_ledger:
            return SinkHistograms(record_age=None, bulk_service_time=None)
        try:
            return read_sink_histograms(url, self.run.names.connector, access=self.run.target.access.metrics)
        except (httpx.HTTPError, LookupError, ValueError) as error:
            return SinkHistograms(record_age=None, bulk_service_time=None, lost=reason(error))


def placeholders(profile: Profile, endpoints: Endpoints, names: Names) -> dict[str, str]:
    """What a connector template or a command may ask for."""
    urls = endpoints.elasticsearch_urls
    return {
        "connector": names.connector,
        "topic": names.topic,
        "index": names.base if len(names.indices) > 1 else names.index,
        "elasticsearch_url": urls[0],
        "elasticsearch_urls": ",".join(urls),
        "dead_letter_topic": names.dead_letter_topic,
        "tasks": str(profile.sink.tasks),
        "kafka_bootstrap": endpoints.kafka_bootstrap,
        "group": names.consumer_group,
    }


def connector_config(
    root: Path, profile: Profile, values: Mapping[str, str], access: Access | None = None
) -> dict[str, str]:
    """The connector's configuration: the template filled in, what it needs to be let in, the profile's own settings.

    Args:
        root: The checkout, for the template.
        values: What stands for `${connector}`, `${topic}`, `${index}` … in a template.
        access: Credentials of the target's servers.

    Raises:
        ProfileError: There is no such template, or it is no JSON object, or a placeholder in it is unknown.
    """
    template = load_template(profile.sink.connector, root)
    try:
        filled = {name: string.Template(kafka_text(value)).substitute(values) for name, value in template.items()}
    except (KeyError, ValueError) as error:
        names = ", ".join(f"${{{name}}}" for name in values)
        raise ProfileError(
            f"{TEMPLATES}/{profile.sink.connector}.json: unknown placeholder {error}; there are: {names}"
        ) from error
    own = {name: kafka_text(value) for name, value in profile.sink.config.items()}
    return filled | sink_access(filled, access or Access()) | own


def index_by_topic(names: Names) -> dict[str, str]:
    """What a connector must be told to write each of several topics into an index of its own."""
    if len(names.indices) == 1:
        return {}
    pairs = zip(names.topics, names.indices, strict=True)
    return {
        "external.resource.usage": "INDEX",
        "topic.to.external.resource.mapping": ",".join(f"{topic}:{index}" for topic, index in pairs),
    }


def sink_access(connector: Mapping[str, object], access: Access) -> dict[str, str]:
    """What the target has every connector told; a connector that knows no Elasticsearch gets no credentials for it."""
    knows = ELASTICSEARCH_URLS in connector
    return {name: value for name, value in access.sink.items() if knows or not name.startswith("connection.")}
