"""Servers that exist already: where they are and how they are entered, from a YAML file or the environment."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import Field

from lab.endpoints import OPEN, Access, Endpoints, HttpAccess, api_key, basic, is_secret
from lab.errors import ProfileError
from lab.profiles.located import Located, read_yaml
from lab.profiles.model_problems import Sections, model_of
from lab.profiles.models import Section
from lab.profiles.problems import Place, Problem, refusal, why_unreadable
from lab.profiles.remote_checks import LISTS, problems_of
from lab.profiles.secret_values import SecretValues

PREFIX = "SLUICE_"
SECRETS = frozenset({"password", "api_key"})
SETTINGS = {"kafka": "client", "sink": "config"}
"""Section → its key that holds settings of another system, verbatim."""
SINKS_OWN = ("connection.username", "connection.password", "connection.api.key")
HELP = "docs/remote.md shows how"


class Service(Section):
    """An HTTP service with one address."""

    url: str = Field(description="a URL such as https://connect.example.org:8083")
    username: str | None = None
    password: str | None = Field(None, repr=False)
    ca: str | None = None


class Cluster(Section):
    """The Elasticsearch cluster."""

    urls: list[str] = Field(min_length=1, description="a list of URLs such as https://es-1.example.org:9200")
    username: str | None = None
    password: str | None = Field(None, repr=False)
    api_key: str | None = Field(None, repr=False)
    ca: str | None = None


class Kafka(Section):
    """The brokers."""

    bootstrap_servers: str = Field(min_length=1, description="`host:port` of brokers, separated by commas")
    client: Mapping[str, str] = Field(default_factory=dict, repr=False)


class Sink(Section):
    """What the connector is told besides."""

    elasticsearch_urls: list[str] | None = Field(None, min_length=1)
    config: Mapping[str, str] = Field(default_factory=dict, repr=False)


class RemoteFile(Section):
    """The file as a whole."""

    kafka: Kafka = Field(description="a section with `bootstrap_servers`")
    connect: Service = Field(description="a section with `url`")
    elasticsearch: Cluster = Field(description="a section with `urls`")
    metrics: Service | None = None
    sink: Sink = Sink()


MODELS: Sections = {
    ("kafka",): Kafka,
    ("connect",): Service,
    ("elasticsearch",): Cluster,
    ("metrics",): Service,
    ("sink",): Sink,
}


def load_remote(file: Path | None, environment: Mapping[str, str] = os.environ) -> Endpoints:
    """The servers that a file describes or, without one, the environment.

    Raises:
        ProfileError: Every problem, a line each; none of them shows a secret.
    """
    tree = tree_of_file(file) if file is not None else tree_of_environment(environment)
    secrets = SecretValues(Path.cwd() if file is None else file.parent, environment)
    tree = with_secrets(tree, secrets)
    found, problems = model_of(tree, RemoteFile, MODELS)
    problems = [*secrets.problems, *problems, *problems_of(tree, secrets.folder)]
    if found is None or problems:
        raise refusal(problems)
    return endpoints_of(found, secrets)


# --- reading --------------------------------------------------------------------------------------------------------


def tree_of_file(file: Path) -> Located:
    """What a file says.

    Raises:
        ProfileError: It cannot be read, or is no YAML.
    """
    label = str(file)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ProfileError(f"{label}: {why_unreadable(error)}, expected a file; {HELP}") from error
    tree, problems = read_yaml(text, Place(label, 1), lambda mark: Place(label, mark.line + 1))
    if tree is None or problems:
        raise refusal(problems)
    if not isinstance(tree.value, dict):
        raise refusal([Problem(tree.place, "", f"got no mapping, expected `kafka`, `connect` …; {HELP}")])
    return replace(tree, place=Place(label, 1))


def tree_of_environment(environment: Mapping[str, str]) -> Located:
    """What variables such as `SLUICE_ELASTICSEARCH_URLS` or `SLUICE_KAFKA_CLIENT_SECURITY_PROTOCOL` say.

    Raises:
        ProfileError: There is none.
    """
    sections: dict[str, Located] = {}
    for variable in sorted(environment):
        section, _, name = variable.removeprefix(PREFIX).lower().partition("_")
        if variable.startswith(PREFIX) and section in RemoteFile.model_fields and name:
            entries = sections.setdefault(section, Located({}, Place(variable))).entries
            put(entries, section, name, variable, environment[variable])
    if not sections:
        raise ProfileError(
            "got no --target-file and no variable such as SLUICE_ELASTICSEARCH_URLS, expected the "
            f"addresses of servers; {HELP}"
        )
    return Located(dict(sections), Place("environment"))


def put(entries: dict[str, Located], section: str, name: str, variable: str, text: str) -> None:
    """Put what a variable says into its section."""
    place = Place(variable)
    settings = SETTINGS.get(section)
    if settings and name.startswith(f"{settings}_"):
        entries, name = entries.setdefault(settings, Located({}, place)).entries, name.removeprefix(f"{settings}_")
        name = name.replace("_", ".")
        is_one = is_secret(name)
    else:
        is_one = name in SECRETS
    if is_one:
        entries[name] = Located({"env": Located(variable, place, variable)}, place)
    elif name in LISTS:
        parts = [part.strip() for part in text.split(",") if part.strip()]
        entries[name] = Located([Located(part, place, part) for part in parts], place)
    else:
        entries[name] = Located(text, place, text)


def with_secrets(tree: Located, secrets: SecretValues) -> Located:
    """The tree with the value of each secret, settings of other systems as text, and a single URL as a list of one."""
    sections: dict[str, Located] = {}
    for section, found in tree.entries.items():
        entries = {name: read(section, name, entry, secrets) for name, entry in found.entries.items()}
        sections[section] = replace(found, value=entries) if isinstance(found.value, dict) else found
    return replace(tree, value=sections)


def read(section: str, name: str, entry: Located, secrets: SecretValues) -> Located:
    """One entry of a section, as the models take it."""
    key = f"{section}.{name}"
    if name in SECRETS or (name == "username" and entry.entries):
        return secrets.read(entry, key, secret=name in SECRETS)
    if name == SETTINGS.get(section):
        return secrets.read_settings(entry, key)
    return Located([entry], entry.place) if name in LISTS and isinstance(entry.value, str) else entry


# --- what it comes to -----------------------------------------------------------------------------------------------


def endpoints_of(found: RemoteFile, secrets: SecretValues) -> Endpoints:
    """The servers that a checked file describes."""
    metrics = found.metrics
    access = Access(
        elasticsearch=http_access(found.elasticsearch, secrets.folder, key=found.elasticsearch.api_key),
        connect=http_access(found.connect, secrets.folder),
        metrics=OPEN if metrics is None else http_access(metrics, secrets.folder),
        kafka=dict(found.kafka.client),
        sink=sink_settings(found),
        secrets=frozenset(secrets.found),
    )
    return Endpoints(
        kafka_bootstrap=found.kafka.bootstrap_servers,
        connect_url=found.connect.url.rstrip("/"),
        elasticsearch_urls=tuple(url.rstrip("/") for url in found.elasticsearch.urls),
        metrics_url=None if metrics is None else metrics.url,
        access=access,
    )


def http_access(service: Service | Cluster, folder: Path, key: str | None = None) -> HttpAccess:
    """How a service is entered."""
    ca = None if service.ca is None else folder / service.ca
    if key is not None:
        return HttpAccess(api_key(key), ca)
    if service.username is not None and service.password is not None:
        return HttpAccess(basic(service.username, service.password), ca)
    return HttpAccess(None, ca)


def sink_settings(found: RemoteFile) -> dict[str, str]:
    """What the connector is told: where Elasticsearch is and, unless it has its own credentials, those given here."""
    cluster = found.elasticsearch
    given = {
        "connection.username": cluster.username,
        "connection.password": cluster.password,
        "connection.api.key": cluster.api_key,
    }
    has_its_own = any(name in found.sink.config for name in SINKS_OWN)
    urls = found.sink.elasticsearch_urls
    return {
        **({"connection.url": ",".join(urls)} if urls else {}),
        **({} if has_its_own else {name: value for name, value in given.items() if value is not None}),
        **found.sink.config,
    }
