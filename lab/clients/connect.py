"""The REST API of a Kafka Connect worker: connectors are checked, made, watched and removed."""

import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from lab.clients.http import UNAUTHORIZED, HttpService, parsed
from lab.endpoints import Access, urls_of
from lab.errors import ProfileError, StackError
from lab.monitor.connect import causes_in, innermost

READ_BY_OTHERS = (
    *(f"{converter}.converter." for converter in ("key", "value", "header")),
    *(f"{client}.override." for client in ("consumer", "producer", "admin")),
    "transforms.",
    "predicates.",
)
"""Begin the keys of a connector's configuration that its plugins and clients read; older workers do not judge these."""

UNADDRESSED = re.compile(r"[/\\\\%]|^\.{1,2}$")
"""What no path of a request can hold: Jetty, Connect's server, rejects it as ambiguous even where it is encoded."""
PROVIDED = "${"
"""Begins what the worker looks up by one of its configuration providers."""
INTERNAL = frozenset({"__consumer_offsets", "__transaction_state"})
"""Topics that no pattern of a consumer matches (`exclude.internal.topics`)."""

Shape = TypeVar("Shape")


class Part(BaseModel):
    """A connector or one of its tasks, as the worker describes it."""

    state: str
    id: int = 0
    version: str | None = None
    trace: str | None = None


class Status(BaseModel):
    """A connector and its tasks."""

    connector: Part
    tasks: list[Part]


class Info(BaseModel):
    """A connector's configuration."""

    config: dict[str, str | None]


class Expanded(BaseModel):
    """A connector in the list of all."""

    info: Info | None = None
    status: Status | None = None


class Judgement(BaseModel):
    """A connector's judgement of one setting."""

    value: dict[str, Any]


class Judged(BaseModel):
    """A connector's judgements of its settings."""

    configs: list[Judgement]


class Default(BaseModel):
    """A setting of a class."""

    name: str
    type: str
    default_value: str | None


NAMES, PLUGINS = TypeAdapter(list[str]), TypeAdapter(list[dict[str, Any]])
INFO, STATUS, EXPANDED = TypeAdapter(Info), TypeAdapter(Status), TypeAdapter(dict[str, Expanded])
DEFAULTS, USED = TypeAdapter(list[Default]), TypeAdapter(dict[str, dict[str, list[str]]])
JUDGED = TypeAdapter(Judged)


class ConnectWorker:
    """The REST API of a Connect worker, or of a group of workers; any may be restarted while a run is under way.

    Args:
        url: Of several workers, separated by commas: each knows all connectors of the group.

    Attributes:
        unanswered: The connector whose creation was asked for and not answered, as after Ctrl-C.
    """

    def __init__(
        self,
        url: str,
        *,
        access: Access | None = None,
        patience_s: float = 120.0,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = url.rstrip("/")
        self._sleep = sleep
        self._clock = clock
        access = access or Access()
        self._http = HttpService(
            "Kafka Connect",
            urls_of(url),
            access.connect,
            timeout_s=90,
            patience_s=patience_s,
            is_busy=is_busy,
            sleep=sleep,
            clock=clock,
        )
        self.unanswered: str | None = None
        # A worker is told the sink's secrets, and might repeat them in what it says of a configuration.
        self._hide = access.hide

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def version(self) -> str:
        """The worker's version; raises ProfileError if it rejects our credentials."""
        response = self._http.send("GET", "/")
        if response.status_code in UNAUTHORIZED:
            raise ProfileError(
                f"{self._url}: Kafka Connect rejected our credentials ({response.status_code}): {self._words(response)}"
            )
        try:
            return str(self._answer(response, f"{self._url}: is not a Kafka Connect worker")["version"])
        except (LookupError, TypeError) as error:
            raise StackError(f"{self._url}: is not a Kafka Connect worker: it names no version") from error

    def connectors(self) -> list[str]:
        """The names of all connectors of the worker."""
        response = self._http.send("GET", "/connectors")
        return self._shaped(response, f"{self._url}: Kafka Connect cannot list its connectors", NAMES)

    def configs(self) -> dict[str, dict[str, str]]:
        """The configuration of each connector of the worker, as it was given: secrets may be `${…}` placeholders."""
        return {name: config_in(each.info) for name, each in self._expanded("info").items() if each.info}

    def plugins(self) -> frozenset[str]:
        """The classes of all connectors that the worker has."""
        response = self._http.send("GET", "/connector-plugins")
        plugins = self._shaped(response, f"{self._url}: Kafka Connect cannot list its plugins", PLUGINS)
        return frozenset(str(plugin.get("class")) for plugin in plugins)

    def config(self, name: str) -> dict[str, str] | None:
        """Configuration of a connector, with its secrets; `None` where there is no such one.

        Raises:
            StackError: The worker does not answer, or with an error.
        """
        if UNADDRESSED.search(name):
            return self.configs().get(name)
        response = self._http.send("GET", f"/connectors/{quote(name, safe='')}")
        if response.status_code == httpx.codes.NOT_FOUND:
            return None
        return config_in(self._shaped(response, f"connector {name}: cannot be read", INFO))

    def status(self, name: str) -> Status | None:
        """Status of a connector and of its tasks, with whole traces; `None` where there is no such one.

        Raises:
            StackError: The worker does not answer, or with an error.
        """
        if UNADDRESSED.search(name):
            return self._expanded("status").get(name, Expanded()).status
        response = self._http.send("GET", f"/connectors/{quote(name, safe='')}/status")
        if response.status_code == httpx.codes.NOT_FOUND:
            return None
        return self._shaped(response, f"connector {name}: its status cannot be read", STATUS)

    def defaults(self, plugin: str) -> dict[str, str | None] | None:
        """Default of each setting of a connector's class, by the class itself; `None` where the worker cannot say.

        Workers before Kafka 3.2 (KIP-769) cannot. Nothing of the connector's configuration is sent.
        """
        response = self._http.send("GET", f"/connector-plugins/{quote(plugin, safe='')}/config", patience_s=0)
        if not response.is_success:
            return None
        found = self._shaped(response, f"connector class {plugin}: its defaults cannot be read", DEFAULTS)
        return {key.name: key.default_value for key in found if key.type != "PASSWORD"}

    def used_topics(self, name: str) -> list[str]:
        """Topics of which a connector has read records since its start; none where the worker does not say."""
        if UNADDRESSED.search(name):
            return []
        response = self._http.send("GET", f"/connectors/{quote(name, safe='')}/topics", patience_s=0)
        if not response.is_success:
            return []
        found = self._shaped(response, f"connector {name}: its topics cannot be read", USED)
        return sorted(found.get(name, {}).get("topics", []))

    def validate(self, config: Mapping[str, str]) -> tuple[str, ...]:
        """Have the connector judge its configuration, before anything is made.

        Returns:
            Keys that the connector's definition does not have, and that no plugin or client below it can read.

        Raises:
            ProfileError: It refuses the configuration; all its reasons at once.
        """
        plugin = config.get("connector.class", "")
        response = self._http.send("PUT", f"/connector-plugins/{quote(plugin, safe='')}/config/validate", config)
        known: set[str] = set()
        if response.is_success:
            judged = self._shaped(response, f"{self._url}: Kafka Connect cannot validate settings", JUDGED)
            values = [entry.value for entry in judged.configs]
            known = {str(value.get("name")) for value in values}
            problems = [f"sink.config: {self._hide(problem)}" for value in values for problem in value["errors"]]
        elif response.is_server_error:
            raise StackError(
                f"{self._url}: Kafka Connect cannot validate the connector's settings: {self._words(response)}"
            )
        else:
            problems = [f"sink.config: connector.class: {plugin}: {self._words(response)}"]
        if problems:
            raise ProfileError("\n".join(problems))
        return tuple(key for key in sorted(config.keys() - known) if not key.startswith(READ_BY_OTHERS))

    def create(self, name: str, config: Mapping[str, str]) -> None:
        """Start a connector; raises ProfileError if the worker refuses the configuration."""
        self.unanswered = name
        response = self._http.send("PUT", f"/connectors/{quote(name, safe='')}/config", config)
        self.unanswered = None
        if response.status_code == httpx.codes.BAD_REQUEST:
            raise ProfileError(f"sink.config: the connector rejects it: {self._words(response)}")
        self._answer(response, f"connector {name}: cannot be made")

    def delete(self, name: str, *, made_within_s: float = 0.0) -> None:
        """Stop and remove a connector, which need not exist.

        Args:
            made_within_s: Time within which one may still come into being, since its creation was asked for and not
                answered.
        """
        ends_s, path = self._clock() + made_within_s, f"/connectors/{quote(name, safe='')}"
        response = self._http.send("DELETE", path)
        while response.status_code == httpx.codes.NOT_FOUND and self._clock() < ends_s:
            self._sleep(0.1)
            response = self._http.send("DELETE", path)
        if not response.is_success and response.status_code != httpx.codes.NOT_FOUND:
            raise StackError(f"connector {name}: cannot be removed: {self._words(response)}")

    def running_tasks(self, name: str) -> int:
        """Number of the connector's tasks that run.

        Raises:
            StackError: The connector or one of its tasks has failed; with the cause.
        """
        parts = self._parts(name)
        for what, part in parts.items():
            if part.state == "FAILED":
                raise failed(what, self._hide(part.trace or ""))
        return sum(part.state == "RUNNING" for part in list(parts.values())[1:])

    def has_failed(self, name: str) -> bool:
        """Check that the connector or one of its tasks has failed.

        Raises:
            StackError: The worker does not answer, or with an error.
        """
        return any(part.state == "FAILED" for part in self._parts(name).values())

    def states(self, name: str) -> tuple[str, tuple[str, ...]] | None:
        """The state of a connector and of each of its tasks, in the worker's words; `None` where there is no such one.

        Raises:
            StackError: The worker does not answer, or with an error.
        """
        parts = [str(part.state) for part in self._parts(name).values()]
        return (parts[0], tuple(parts[1:])) if parts else None

    def wait_until_running(self, name: str, timeout_s: float = 60.0) -> None:
        """Return once a task of the connector runs; raises StackError if one failed, or none was running in time."""
        deadline = self._clock() + timeout_s
        while self.running_tasks(name) == 0:
            if self._clock() > deadline:
                raise StackError(f"connector {name}: no task is running after {timeout_s:.0f} s")
            self._sleep(0.1)

    def _parts(self, name: str) -> dict[str, Part]:
        """The status of the connector and then of each of its tasks, by what a message calls it; nothing of none."""
        status = self.status(name)
        if status is None:
            return {}
        tasks = {f"connector {name}, task {task.id}": task for task in status.tasks}
        return {f"connector {name}": status.connector, **tasks}

    def _expanded(self, what: str) -> dict[str, Expanded]:
        """Configuration (`info`) or `status` of all connectors."""
        response = self._http.send("GET", f"/connectors?expand={what}")
        return self._shaped(response, f"{self._url}: Kafka Connect cannot list its connectors", EXPANDED)

    def _shaped(self, response: httpx.Response, problem: str, shape: TypeAdapter[Shape]) -> Shape:
        """The answer, or the problem if it is an error or has another form than Connect's."""
        answer = self._answer(response, problem)
        try:
            return shape.validate_python(answer)
        except ValidationError as error:
            raise StackError(
                f"{problem}: {self._url} gave another answer than Kafka Connect does; a proxy may serve its own page"
            ) from error

    def _answer(self, response: httpx.Response, problem: str) -> Any:
        """The answer, or the problem with the status and the worker's words if it is an error."""
        if not response.is_success:
            raise StackError(f"{problem}: status {response.status_code}: {self._words(response)}")
        return parsed(response)

    def _words(self, response: httpx.Response) -> str:
        answer = parsed(response)
        words = str(answer.get("message", answer) if isinstance(answer, dict) else answer)
        return self._hide(" ".join(words.split()) if words.startswith("<") else words)


def config_in(info: Info) -> dict[str, str]:
    """A connector's settings; those without a value are left out."""
    return {name: value for name, value in info.config.items() if value is not None}


def topics_read(config: Mapping[str, str], used: Iterable[str] = (), there: Iterable[str] = ()) -> tuple[str, ...]:
    """The topics that a connector names or, where it gives a pattern, those that match it.

    Where the worker looks them up, or Python does not read a pattern of Java's, those that the connector used.

    Args:
        there: Topics that it may not have read yet.
    """
    if PROVIDED not in config.get("topics", PROVIDED):
        return tuple(sorted(topic.strip() for topic in config["topics"].split(",") if topic.strip()))
    regex = config.get("topics.regex", PROVIDED)
    try:
        pattern = None if PROVIDED in regex else re.compile(regex)
    except re.error:
        pattern = None
    if pattern is None:
        return tuple(sorted(used))
    return tuple(sorted(topic for topic in {*used, *there} - INTERNAL if pattern.fullmatch(topic)))


def is_busy(status: int) -> bool:
    """Check that the worker cannot answer yet: 409 while it rebalances, 5xx while it starts or has lost its broker."""
    return status == httpx.codes.CONFLICT or httpx.codes.is_server_error(status)


def failed(what: str, trace: str) -> StackError:
    """The error for a failed connector or task: its innermost cause, and the whole chain of causes as log lines."""
    causes = causes_in(trace)
    return StackError(f"{what}: failed: {innermost(causes)}", tuple(causes))
