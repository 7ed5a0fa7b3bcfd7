"""What is wrong with the addresses and credentials of remote servers, beside their types."""

import ssl
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from lab.endpoints import tls_context
from lab.profiles.located import Located
from lab.profiles.problems import Problem
from lab.profiles.secret_values import fits_into_a_header

LISTS = frozenset({"urls", "elasticsearch_urls"})
"""Keys under which several URLs stand."""


def problems_of(tree: Located, folder: Path) -> Iterator[Problem]:
    """What is wrong with addresses and credentials, beside their types."""
    for section in ("connect", "metrics", "elasticsearch", "sink"):
        found = tree.at(section)
        if found is not None:
            yield from url_problems(found, section)
            yield from credential_problems(found, section)
            yield from ca_problems(found, section, folder)
    servers = tree.at("kafka", "client", "bootstrap.servers")
    if servers is not None:
        message = "got a value, expected it under `kafka.bootstrap_servers`"
        yield Problem(servers.place, "kafka.client.bootstrap.servers", message)


def url_problems(found: Located, section: str) -> Iterator[Problem]:
    """URLs that are none, or that hold credentials, which are not shown."""
    for name in ("url", *sorted(LISTS)):
        entry = found.at(name)
        for place, url in enumerate(listed(entry)):
            if (message := url_problem(url)) is not None:
                key = f"{section}.{name}[{place}]" if name in LISTS else f"{section}.{name}"
                yield Problem(url.place, key, message)


def listed(entry: Located | None) -> list[Located]:
    """The texts of an entry: its own, or those of its list."""
    if entry is None:
        return []
    items = entry.value if isinstance(entry.value, list) else [entry]
    return [item for item in items if isinstance(item.value, str)]


def url_problem(entry: Located) -> str | None:
    """What is wrong with a URL."""
    url = str(entry.value)
    if "@" in url:
        return "got a URL with credentials, expected them under `username` and `password`"
    try:
        parts = urlsplit(url)
        fits = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        return f'got "{url}", expected a URL such as https://host:9200'
    if not fits or parts.query or parts.fragment:
        return f'got "{url}", expected a URL such as https://host:9200'
    return None


def credential_problems(found: Located, section: str) -> Iterator[Problem]:
    """Half of a user, two ways at once, and what cannot be sent."""
    user, password, key = (found.at(name) for name in ("username", "password", "api_key"))
    if user is not None and password is None:
        yield Problem(user.place, f"{section}.username", "got a user without a password, expected `password` as well")
    if password is not None and user is None:
        yield Problem(password.place, f"{section}.password", "got a password without a user, expected `username` too")
    if key is not None and (user is not None or password is not None):
        yield Problem(key.place, f"{section}.api_key", "got an API key and a user, expected one of them")
    if key is not None and not key.broken and (not fits_into_a_header(str(key.value)) or ":" in str(key.value)):
        message = "got something else than an encoded API key, expected what Elasticsearch gives as `encoded`"
        yield Problem(key.place, f"{section}.api_key", message)
    if user is not None and ":" in str(user.value):
        yield Problem(user.place, f"{section}.username", "got a colon in it, which HTTP cannot carry, expected none")


def ca_problems(found: Located, section: str, folder: Path) -> Iterator[Problem]:
    """A file of authorities that is none."""
    entry = found.at("ca")
    if entry is None or not isinstance(entry.value, str):
        return
    path = folder / entry.value
    try:
        tls_context(path)
    except (OSError, ssl.SSLError) as error:
        message = f"{path}: got no certificates ({type(error).__name__}), expected a PEM file"
        yield Problem(entry.place, f"{section}.ca", message)
