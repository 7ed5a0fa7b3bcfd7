"""Writes `compose/images.lock.env` anew: `python -m tools.lock_images`, where the images' registries are reached.

For each image that Compose pulls or builds on, the registry is asked which digest the version of `.env.example` has
today: that of the index of all platforms, where the image has several. An image variable names a mirror to ask instead:
`KAFKA_IMAGE=mirror.example.org/apache/kafka python -m tools.lock_images`. One failure, and nothing is written.
"""

import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from lab.stack.places import ROOT

LOCK_FILE = ROOT / "compose" / "images.lock.env"
SETTINGS = ROOT / ".env.example"
DOCKERFILE = ROOT / "compose" / "images" / "connect.Dockerfile"
TIMEOUT_S = 60

IMAGES = {
    "ELASTICSEARCH": ("ELASTICSEARCH_IMAGE", "ELASTICSEARCH_VERSION"),
    "OBSERVER": ("ELASTICSEARCH_IMAGE", "OBSERVER_VERSION"),
    "KIBANA": ("KIBANA_IMAGE", "OBSERVER_VERSION"),
    "METRICBEAT": ("METRICBEAT_IMAGE", "OBSERVER_VERSION"),
    "KAFKA": ("KAFKA_IMAGE", "KAFKA_VERSION"),
    "MAVEN": ("MAVEN_IMAGE", "MAVEN_VERSION"),
    "PYTHON": ("PYTHON_IMAGE", "PYTHON_VERSION"),
}
"""What is locked → the settings with its name and its version."""

ARCHIVES = {"CONFLUENT_SINK": "CONFLUENT_SINK_VERSION"}
"""What an image's build fetches besides, from the address in its Dockerfile."""

INDEXES = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
MANIFESTS = ("application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json")

HEADER = """\
# Made by `python -m tools.lock_images`; do not edit. A version and its digest are one value, which a version or an
# image of your own replaces as a whole: no digest ever meets another version. Without a value the tag decides.
"""


class LockError(Exception):
    """A registry does not answer as it should; the message names it."""


@dataclass(frozen=True)
class Reference:
    """Where an image is found.

    Attributes:
        host: The registry's, as it is addressed.
    """

    host: str
    repository: str
    tag: str

    @property
    def url(self) -> str:
        """The root of the registry's API for this image. As for Docker, a registry of this machine needs no TLS."""
        scheme = "http" if self.host.partition(":")[0] in {"localhost", "127.0.0.1"} else "https"
        return f"{scheme}://{self.host}/v2/{self.repository}"


@dataclass(frozen=True)
class Locked:
    """What a tag stands for today.

    Attributes:
        platforms: `linux/arm64`, and so on; empty for what is no image.
    """

    source: str
    version: str
    digest: str
    platforms: tuple[str, ...] = ()


def reference_of(image: str, tag: str) -> Reference:
    """An image's name as Docker reads it: without a host it is one of Docker Hub's."""
    host, slash, rest = image.partition("/")
    if slash and (host == "localhost" or re.search(r"[.:]", host)):
        return Reference(host, rest, tag)
    return Reference("registry-1.docker.io", image if slash else f"library/{image}", tag)


class Registry:
    """Asks one registry for one image, with the token that it wants."""

    def __init__(self, reference: Reference) -> None:
        self._reference = reference
        local = reference.url.startswith("http:")
        self._client = httpx.Client(timeout=TIMEOUT_S, follow_redirects=True, trust_env=not local)

    def locked(self) -> Locked:
        """What the tag stands for.

        Raises:
            LockError: The registry refuses, is not reached, or contradicts itself.
        """
        tag = self._reference.tag
        answer = self._get(f"manifests/{tag}", accept=", ".join((*INDEXES, *MANIFESTS)))
        digest = f"sha256:{hashlib.sha256(answer.content).hexdigest()}"
        said = answer.headers.get("Docker-Content-Digest", digest)
        if said != digest:
            raise LockError(f"{self._reference.url}: tag {tag}: got content with {digest}, expected its digest {said}")
        return Locked("", tag, digest, tuple(self._platforms(answer.json())))

    def _platforms(self, manifest: Mapping[str, Any]) -> Iterator[str]:
        """The platforms that an index lists, or the one of a single image."""
        if "manifests" not in manifest:
            manifest = {"manifests": [{"platform": self._get(f"blobs/{manifest['config']['digest']}").json()}]}
        for one in manifest["manifests"]:
            platform = one.get("platform", {})
            # Statements about how an image was built are listed too, for no platform.
            if platform.get("os", "unknown") != "unknown":
                parts = (platform["os"], platform["architecture"], platform.get("variant"))
                yield "/".join(part for part in parts if part)

    def _get(self, path: str, accept: str = "*/*") -> httpx.Response:
        url = f"{self._reference.url}/{path}"
        try:
            answer = self._client.get(url, headers={"Accept": accept})
            if answer.status_code == httpx.codes.UNAUTHORIZED and "Authorization" not in self._client.headers:
                self._client.headers["Authorization"] = f"Bearer {self._token(answer.headers['WWW-Authenticate'])}"
                answer = self._client.get(url, headers={"Accept": accept})
            return answer.raise_for_status()
        except httpx.HTTPStatusError as error:
            raise LockError(f"{url}: got status {error.response.status_code}, expected 200") from error
        except httpx.HTTPError as error:
            raise LockError(f"{url}: {error}; run this where the registry is reached") from error

    def _token(self, challenge: str) -> str:
        """A token for anybody who may read, from where the registry says."""
        if not challenge.startswith("Bearer "):
            raise LockError(f"{self._reference.url}: asks for a password, expected an image that anybody may read")
        asked = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
        answer = self._client.get(asked.pop("realm"), params=asked).raise_for_status().json()
        return str(answer.get("token") or answer["access_token"])


def lock_image(settings: Mapping[str, str], name: str) -> Locked:
    """An image as the settings name it."""
    image, version = (settings[setting] for setting in IMAGES[name])
    found = Registry(reference_of(image, version)).locked()
    return Locked(f"{image}:{version}", found.version, found.digest, found.platforms)


def lock_archive(settings: Mapping[str, str], name: str) -> Locked:
    """What the Dockerfile adds from an address, fetched once."""
    setting = ARCHIVES[name]
    version = settings[setting]
    (address,) = re.findall(rf"^ADD (https://\S*\$\{{{setting}\}}\S*)", DOCKERFILE.read_text(), re.MULTILINE)
    url = address.replace(f"${{{setting}}}", version)
    digest = hashlib.sha256()
    try:
        with httpx.stream("GET", url, timeout=TIMEOUT_S, follow_redirects=True) as answer:
            for part in answer.raise_for_status().iter_bytes():
                digest.update(part)
    except httpx.HTTPError as error:
        raise LockError(f"{url}: {error}; run this where it is reached") from error
    return Locked(url, version, f"sha256:{digest.hexdigest()}")


def settings_listed() -> dict[str, str]:
    """The settings of `.env.example`, with their defaults."""
    return dict(re.findall(r"^#([A-Z0-9_]+)=(.*)$", SETTINGS.read_text(), re.MULTILINE))


def lock_text(locked: Mapping[str, Locked | None]) -> str:
    """The lock file; what is `None` is there without a value."""
    return HEADER + "".join(f"\n{line}" for name, one in locked.items() for line in entry(name, one))


def entry(name: str, locked: Locked | None) -> Iterator[str]:
    """One entry of the lock file."""
    if locked is None:
        yield f"{name}_LOCKED=\n"
        return
    platforms = f" for {', '.join(locked.platforms)}" if locked.platforms else ""
    yield f"# {locked.source}{platforms}\n{name}_LOCKED={locked.version}@{locked.digest}\n"


def lock(names: Iterable[str], settings: Mapping[str, str]) -> dict[str, Locked]:
    """What each name stands for today.

    Raises:
        LockError: Some are not to be had; names all of them.
    """
    locked: dict[str, Locked] = {}
    problems: list[str] = []
    for name in names:
        try:
            locked[name] = (lock_image if name in IMAGES else lock_archive)(settings, name)
        except LockError as error:
            problems.append(f"{name}: {error}")
    if problems:
        raise LockError("\n".join(problems))
    return locked


def main(
    file: Path = LOCK_FILE, environment: Mapping[str, str] = os.environ, archives: Iterable[str] = tuple(ARCHIVES)
) -> None:
    """Ask, then write."""
    listed = settings_listed()
    # A mirror may be asked; a version of the shell's would be locked in place of the default one.
    settings = listed | {name: environment[name] for name in listed if name.endswith("_IMAGE") and name in environment}
    try:
        locked = lock((*IMAGES, *archives), settings)
    except LockError as error:
        sys.exit(f"tools.lock_images: nothing is written\n{error}")
    file.write_text(lock_text(locked), "utf-8")
    sys.stdout.write(f"{file}: {len(locked)} locked\n")


if __name__ == "__main__":
    main()
