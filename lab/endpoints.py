"""Endpoints: the addresses of a run's servers, and the credentials for them."""

import base64
import re
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import httpx

HIDDEN = "(hidden)"
METRICS_ORIGIN = "sluice://metrics"
"""The `Origin` of our requests to a JMX agent, whose policy lets no other in. A browser never sends this one: there are
no pages below such a scheme."""


@dataclass(frozen=True)
class HttpAccess:
    """Credentials for an HTTP service.

    Attributes:
        authorization: The header of that name, a secret; `None` where none is required.
        ca: PEM file of the authorities whose certificates are trusted; `None` for those of this machine.
    """

    authorization: str | None = field(default=None, repr=False)
    ca: Path | None = None

    def headers(self) -> dict[str, str]:
        """The headers of every request."""
        return {} if self.authorization is None else {"Authorization": self.authorization}

    def client(self, headers: Mapping[str, str] | None = None, **options: Any) -> httpx.Client:
        """A client that authenticates; no proxy stands between it and the servers.

        Args:
            options: Those of `httpx.Client`.
        """
        headers = {**(headers or {}), **self.headers()}
        return httpx.Client(headers=headers, verify=tls_context(self.ca), trust_env=False, **options)


OPEN = HttpAccess()
"""Of a service that requires no authentication."""


@cache
def tls_context(ca: Path | None) -> ssl.SSLContext:
    """TLS that trusts the authorities of a PEM file, or of this machine; made once, since that takes a while."""
    context = ssl.create_default_context(cafile=ca)
    # Python from 3.13 on refuses authorities without a key usage, such as those that Elasticsearch's own tool makes.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def basic(username: str, password: str) -> str:
    """The header `Authorization` of a user."""
    return f"Basic {base64.b64encode(f'{username}:{password}'.encode()).decode()}"


def api_key(encoded: str) -> str:
    """The header `Authorization` of an API key, which Elasticsearch gives as `encoded`."""
    return f"ApiKey {encoded}"


@dataclass(frozen=True)
class Access:
    """Credentials and TLS settings of a target's servers.

    Attributes:
        metrics: For the JMX agent of the Connect worker.
        kafka: Settings of Kafka's client (librdkafka), in its words.
        sink: Settings that a connector needs to reach Elasticsearch; those of a run's profile win over them.
        secrets: Every secret among these, so that it can be kept out of others' messages.
    """

    elasticsearch: HttpAccess = OPEN
    connect: HttpAccess = OPEN
    metrics: HttpAccess = OPEN
    kafka: Mapping[str, str] = field(default_factory=dict, repr=False)
    sink: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: frozenset[str] = field(default=frozenset(), repr=False)

    def hide(self, text: str) -> str:
        """The text with `(hidden)` for every secret in it."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
        return text


@dataclass(frozen=True)
class Endpoints:
    """Endpoints of a target's servers, wherever they run.

    Attributes:
        kafka_bootstrap: `host:port` of at least one broker, comma-separated.
        connect_url: The REST API of a Connect worker, or of several of one group, comma-separated; empty where none is.
        elasticsearch_urls: The nodes' HTTP endpoints.
        metrics_url: The JMX agent (Jolokia) of each Connect worker, comma-separated; `None` where there is none.
    """

    kafka_bootstrap: str
    connect_url: str
    elasticsearch_urls: tuple[str, ...]
    metrics_url: str | None
    access: Access = Access()

    def __post_init__(self) -> None:
        if not self.elasticsearch_urls:
            raise ValueError("endpoints: elasticsearch_urls: got none, expected at least one URL")


def urls_of(text: str) -> tuple[str, ...]:
    """The URLs in a text, which commas separate, without the slash at their ends."""
    return tuple(url.strip().rstrip("/") for url in text.split(",") if url.strip())


SECRET = re.compile(
    r"password|passphrase|passwd|(?<![a-z])pass(?![a-z])|secret|tokens?(?![a-z])|jaas|credentials?(?!s?\.source)"
    r"|api[._-]?key(?![a-z])|keystore[._-]key(?![a-z])|key[._-]pem|connection[._-]headers|user[._-]info"
)
"""Names of settings whose values are secrets; `tokenizer` is none."""


def is_secret(setting: str) -> bool:
    """Check that a setting of Kafka, Kafka Connect or a connector holds a secret, which no record may contain."""
    return SECRET.search(re.sub(r"(?<=[a-z])(?=[A-Z])", ".", setting).lower()) is not None


def without_secrets(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, however deep, with `(hidden)` for each value that must not be written down; not for an index's."""
    return {
        name: value
        if name == "index"
        else without_secrets(value)
        if isinstance(value, Mapping)
        else HIDDEN
        if is_secret(name) and not isinstance(value, bool)
        else value
        for name, value in settings.items()
    }


def words_without_secrets(words: Sequence[str]) -> list[str]:
    """A command line as it may be written down: `KEY=(hidden)` for a setting whose text names a secret."""
    return [
        f"{word.partition('=')[0]}={HIDDEN}"
        if "=" in word and not word.startswith("index.") and is_secret(word)
        else word
        for word in words
    ]
