"""Servers that exist already: where they are and how to authenticate, from a YAML file or the environment.

A file says where each secret is, an environment variable or a file, and never what it is. No problem shows a value that
may be a secret.
"""

import os
import re
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from lab.endpoints import OPEN, Access, Endpoints, HttpAccess, api_key, basic, is_secret, tls_context, urls_of
from lab.errors import ProfileError
from lab.profiles.located import Located, read_yaml_file
from lab.profiles.models import Section
from lab.profiles.problems import Place, Problem, refusal
from lab.profiles.yaml_model import model_of

PREFIX = "SLUICE_"
SECRETS = frozenset({"password", "api_key"})
LISTS = frozenset({"urls", "elasticsearch_urls"})
"""Keys under which several URLs stand: a list, or text with commas."""
SETTINGS = {"kafka": "client", "sink": "config"}
"""Section → its key that holds settings of another system, verbatim."""
HELP = "see docs/remote.md"
WHERE = "`{env: NAME}` or `{file: PATH}`"
PROVIDED = re.compile(r"\$\{[^{}]+\}")
"""A value that the Connect worker itself looks up, by one of its configuration providers."""
ENCODED_KEY = re.compile(r"[\x20-\x39\x3b-\x7e]+")
"""What an HTTP header can carry, without a colon; the client would show any other key in its refusal."""


def _url(text: str) -> str:
    if "@" in text:
        raise ValueError("got a URL with credentials, expected them under `username` and `password`")
    try:
        parts = urlsplit(text)
        is_url = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url or parts.query or parts.fragment:
        raise ValueError(f'got "{text}", expected a URL such as https://host:9200')
    return text


def _urls(text: str) -> str:
    for url in text.split(","):
        _url(url.strip())
    return text


def _username(text: str) -> str:
    if ":" in text:
        raise ValueError("got a colon, which HTTP authentication cannot carry, expected none")
    return text


def _encoded_key(text: str) -> str:
    if not ENCODED_KEY.fullmatch(text):
        raise ValueError("got no encoded API key, expected what Elasticsearch returned as `encoded`")
    return text


def _authorities(path: str) -> str:
    try:
        tls_context(Path(path))
    except (OSError, ssl.SSLError) as error:
        raise ValueError(f"{path}: got no certificates ({type(error).__name__}), expected a PEM file") from error
    return path


Url = Annotated[str, AfterValidator(_url)]


class _HttpSection(Section):
    username: Annotated[str, AfterValidator(_username)] | None = None
    password: str | None = Field(None, repr=False)
    ca: Annotated[str, AfterValidator(_authorities)] | None = None

    def access(self, header: str | None = None) -> HttpAccess:
        """How to authenticate: by `header` or, without one, as the user if there is one."""
        if header is None and self.username is not None and self.password is not None:
            header = basic(self.username, self.password)
        return HttpAccess(header, None if self.ca is None else Path(self.ca))


class Service(_HttpSection):
    """What each Connect worker offers over HTTP; of several workers of one group the URLs are separated by commas."""

    url: Annotated[str, AfterValidator(_urls)] = Field(description="a URL such as https://connect.example.org:8083")


class Cluster(_HttpSection):
    """The Elasticsearch cluster."""

    urls: list[Url] = Field(min_length=1, description="a list of URLs such as https://es-1.example.org:9200")
    api_key: Annotated[str, AfterValidator(_encoded_key)] | None = Field(None, repr=False)


class Kafka(Section):
    """The brokers."""

    bootstrap_servers: str = Field(min_length=1, description="`host:port` of brokers, separated by commas")
    client: Mapping[str, str] = Field(default_factory=dict, repr=False)


class Sink(Section):
    """Connector settings that this target needs."""

    elasticsearch_urls: list[Url] | None = Field(None, min_length=1)
    config: Mapping[str, str] = Field(default_factory=dict, repr=False)


class PipelineFile(Section):
    """The file as a whole, for commands that only read: a pipeline such as Logstash has no Connect worker."""

    kafka: Kafka = Field(description="a section with `bootstrap_servers`")
    connect: Service | None = None
    elasticsearch: Cluster = Field(description="a section with `urls`")
    metrics: Service | None = None
    sink: Sink = Sink()


class RemoteFile(PipelineFile):
    """The file as a whole, for a run."""

    connect: Service = Field(description="a section with `url`")


def load_remote(
    file: Path | None, environment: Mapping[str, str] = os.environ, *, needs_connect: bool = True
) -> Endpoints:
    """The servers that a file describes or, without one, the environment.

    Raises:
        ProfileError: Every problem, a line each; none of them shows a secret.
    """
    tree = _tree_of_file(file) if file is not None else _tree_of_environment(environment)
    reading = _Reading(Path.cwd() if file is None else file.parent, environment)
    tree = reading.resolved(tree)
    remote, problems = model_of(tree, RemoteFile if needs_connect else PipelineFile)
    problems = [*reading.problems, *problems, *_contradictions(tree)]
    if remote is None or problems:
        raise refusal(problems)
    return _endpoints(remote, frozenset(reading.secrets))


# --- reading --------------------------------------------------------------------------------------------------------


def _tree_of_file(file: Path) -> Located:
    tree, problems = read_yaml_file(file, str(file))
    if tree is not None and not isinstance(tree.value, dict):
        problems.append(Problem(tree.place, "", "got no mapping, expected `kafka`, `connect` …"))
    if tree is None or problems:
        # `got X` shows the value, which may be a secret that does not belong there.
        hidden = f"got an unquoted value or none, expected where the secret is: {WHERE}"
        shown = [
            replace(problem, message=hidden)
            if is_secret(problem.key) and problem.message.startswith("got")
            else problem
            for problem in problems
        ]
        raise ProfileError(f"{refusal(shown)}; {HELP}")
    return tree


def _tree_of_environment(environment: Mapping[str, str]) -> Located:
    """What variables such as `SLUICE_ELASTICSEARCH_URLS` or `SLUICE_KAFKA_CLIENT_SECURITY_PROTOCOL` say.

    Raises:
        ProfileError: There is none.
    """
    sections: dict[str, Located] = {}
    for variable in sorted(environment):
        section, _, name = variable.removeprefix(PREFIX).lower().partition("_")
        if not (variable.startswith(PREFIX) and section in RemoteFile.model_fields and name):
            continue
        place = Place(variable)
        entries = sections.setdefault(section, Located({}, place)).entries
        settings, secret = SETTINGS.get(section), name in SECRETS
        if settings and name.startswith(f"{settings}_"):
            entries = entries.setdefault(settings, Located({}, place)).entries
            name = name.removeprefix(f"{settings}_").replace("_", ".")
            secret = is_secret(name)
        text = environment[variable]
        entries[name] = Located({"env": Located(variable, place)} if secret else text, place, None if secret else text)
    if not sections:
        raise ProfileError(
            "got no --target-file and no variable such as SLUICE_ELASTICSEARCH_URLS, expected the "
            f"addresses of servers; {HELP}"
        )
    return Located(sections, Place("environment"))


@dataclass
class _Reading:
    """Puts values in the place of references to secrets and files, and collects what is wrong with them.

    Args:
        folder: What paths of files are relative to.
    """

    folder: Path
    environment: Mapping[str, str] = field(repr=False)
    secrets: set[str] = field(default_factory=set, repr=False)
    problems: list[Problem] = field(default_factory=list)

    def resolved(self, tree: Located) -> Located:
        """The tree as the models take it: secrets as text, settings of other systems as text, URLs as lists."""
        sections = dict(tree.entries)
        for section, entry in tree.entries.items():
            if isinstance(entry.value, dict):
                entries = {name: self.entry(section, name, below) for name, below in entry.value.items()}
                sections[section] = replace(entry, value=entries)
        return replace(tree, value=sections)

    def entry(self, section: str, name: str, entry: Located) -> Located:
        """One entry of a section."""
        key = f"{section}.{name}"
        if name in SECRETS or (name == "username" and entry.entries):
            return self.referenced(entry, key, secret=name in SECRETS)
        if name == SETTINGS.get(section) and isinstance(entry.value, dict):
            settings = {setting: self.setting(below, key, setting) for setting, below in entry.value.items()}
            return replace(entry, value=settings)
        if name == SETTINGS.get(section):
            return replace(self.refused(entry, key, "got no mapping, expected settings by name"), value={})
        if name in LISTS and isinstance(entry.value, str):
            parts = [part.strip() for part in entry.value.split(",") if part.strip()]
            return Located([Located(part, entry.place, part) for part in parts], entry.place)
        if name == "ca" and isinstance(entry.value, str):
            return replace(entry, value=str(self.folder / entry.value))
        return entry

    def setting(self, entry: Located, section: str, name: str) -> Located:
        """A setting of another system as text; its value stands there itself unless it is a secret."""
        key = f"{section}.{name}"
        if entry.entries:
            return self.referenced(entry, key, secret=is_secret(name))
        if entry.value is None or isinstance(entry.value, dict | list):
            return self.refused(entry, key, f"got no text or number, expected one (or {WHERE})")
        # `true` and `false` as Kafka reads them, anything else as its author wrote it.
        is_bool = isinstance(entry.value, bool)
        text = str(entry.value).lower() if is_bool or entry.written is None else entry.written
        if is_secret(name) and not PROVIDED.fullmatch(text):
            return self.refused(entry, key, f"got a value, expected where the secret is: {WHERE}")
        return replace(entry, value=text)

    def referenced(self, entry: Located, key: str, *, secret: bool) -> Located:
        """What stands in the variable or file that an entry names.

        Args:
            secret: Whether it is one; a user's name may stand there just as well.
        """
        try:
            text = self.text(entry)
        except ValueError as error:
            return self.refused(entry, key, str(error))
        if secret:
            self.secrets.add(text)
        return Located(text, entry.place)

    def text(self, entry: Located) -> str:
        """What stands in the variable or file that an entry names.

        Raises:
            ValueError: Why there is no such text.
        """
        if entry.entries.keys() not in ({"env"}, {"file"}):
            raise ValueError(
                f"got {'other keys' if entry.entries else 'a value'}, expected where the secret is: {WHERE}"
            )
        ((kind, source),) = entry.entries.items()
        if not isinstance(source.value, str) or not source.value:
            raise ValueError(f"got no text under `{kind}`, expected {WHERE}")
        if kind == "env":
            text = self.environment.get(source.value)
            if not text:
                raise ValueError(f"the environment variable {source.value} is not set, expected it to hold the secret")
            return text
        path = self.folder / source.value
        try:
            text = path.read_text(encoding="utf-8-sig").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            reason = f"cannot be read ({type(error).__name__})"
            raise ValueError(f"{path}: {reason}, expected a file that holds the secret") from error
        if not text:
            raise ValueError(f"{path}: is empty, expected a file that holds the secret")
        return text

    def refused(self, entry: Located, key: str, message: str) -> Located:
        """An entry in whose place there is nothing, its problem collected."""
        self.problems.append(Problem(entry.place, key, message))
        return Located("", entry.place, broken=True)


def _contradictions(tree: Located) -> Iterator[Problem]:
    """Half of a user, two ways to authenticate at once, and brokers in two places."""
    for section in ("connect", "metrics", "elasticsearch"):
        user, password, key = (tree.at(section, name) for name in ("username", "password", "api_key"))
        if user is not None and password is None:
            message = "got a user without a password, expected `password` as well"
            yield Problem(user.place, f"{section}.username", message)
        if password is not None and user is None:
            message = "got a password without a user, expected `username` too"
            yield Problem(password.place, f"{section}.password", message)
        if key is not None and (user is not None or password is not None):
            yield Problem(key.place, f"{section}.api_key", "got an API key and a user, expected one of them")
    servers = tree.at("kafka", "client", "bootstrap.servers")
    if servers is not None:
        message = "got a value, expected it under `kafka.bootstrap_servers`"
        yield Problem(servers.place, "kafka.client.bootstrap.servers", message)


# --- what it comes to -----------------------------------------------------------------------------------------------


def _endpoints(remote: PipelineFile, secrets: frozenset[str]) -> Endpoints:
    key = remote.elasticsearch.api_key
    access = Access(
        elasticsearch=remote.elasticsearch.access(None if key is None else api_key(key)),
        connect=OPEN if remote.connect is None else remote.connect.access(),
        metrics=OPEN if remote.metrics is None else remote.metrics.access(),
        kafka=dict(remote.kafka.client),
        sink=_sink_settings(remote),
        secrets=secrets,
    )
    return Endpoints(
        kafka_bootstrap=remote.kafka.bootstrap_servers,
        connect_url="" if remote.connect is None else ",".join(urls_of(remote.connect.url)),
        elasticsearch_urls=tuple(url.rstrip("/") for url in remote.elasticsearch.urls),
        metrics_url=None if remote.metrics is None else remote.metrics.url,
        access=access,
    )


def _sink_settings(remote: PipelineFile) -> dict[str, str]:
    """What the connector is told: where Elasticsearch is and, unless it has its own credentials, those given here."""
    cluster = remote.elasticsearch
    credentials = {
        "connection.username": cluster.username,
        "connection.password": cluster.password,
        "connection.api.key": cluster.api_key,
    }
    has_its_own = credentials.keys() & remote.sink.config.keys()
    urls = remote.sink.elasticsearch_urls
    addresses = {"connection.url": ",".join(urls)} if urls else {}
    given = {} if has_its_own else {name: value for name, value in credentials.items() if value is not None}
    return {**addresses, **given, **remote.sink.config}
