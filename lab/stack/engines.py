"""The search engines that can be started here: Elasticsearch and OpenSearch, in the versions of the artifact lock."""

from dataclasses import dataclass
from typing import Literal

from lab.errors import ProfileError
from lab.stack.artifacts import ArtifactLock, version_key
from lab.stack.jdk import JavaRange, java_for_elasticsearch, java_for_opensearch

Product = Literal["elasticsearch", "opensearch"]
TITLES: dict[Product, str] = {"elasticsearch": "Elasticsearch", "opensearch": "OpenSearch"}


@dataclass(frozen=True)
class Engine:
    """A product and its version."""

    product: Product
    version: str

    def __str__(self) -> str:
        """As its set of artifacts and its data folder are called: `opensearch-3.0.0`."""
        return f"{self.product}-{self.version}"

    @property
    def title(self) -> str:
        """As it reads in a sentence: `OpenSearch 3.0.0`."""
        return f"{TITLES[self.product]} {self.version}"

    @property
    def java(self) -> JavaRange:
        """The Java releases that it runs on."""
        of_product = java_for_opensearch if self.product == "opensearch" else java_for_elasticsearch
        return of_product(self.version)

    def check_available(self, lock: ArtifactLock) -> None:
        """Raise ProfileError unless it can be started here."""
        available = versions(self.product, lock)
        if self.version not in available:
            raise ProfileError(f"{self.title} is not available, expected one of {', '.join(available)}")

    def check_java(self, feature: int) -> None:
        """Raise ProfileError unless it runs on this feature release of Java."""
        if not self.java.oldest <= feature <= self.java.newest:
            raise ProfileError(f"elasticsearch.java: got {feature}, expected {self.java} for {self.title}")


def versions(product: Product, lock: ArtifactLock) -> tuple[str, ...]:
    """The available versions of a product, oldest first."""
    prefix = f"{product}-"
    versions_locked = (name.removeprefix(prefix) for name in lock.sets if name.startswith(prefix))
    return tuple(sorted(versions_locked, key=version_key))


def engines(lock: ArtifactLock) -> tuple[Engine, ...]:
    """Every available engine, by product and version."""
    return tuple(Engine(product, version) for product in TITLES for version in versions(product, lock))
