"""What counts as a document: one document model may need several for what another holds in one."""

from dataclasses import dataclass
from statistics import median

from lab.analysis.suite.comparisons import Pair
from lab.analysis.suite.figures import PER_DOCUMENT, PER_ENTITY, value_asked
from lab.analysis.suite.folder import SuiteFolder

SAME = 0.01


@dataclass(frozen=True, slots=True)
class Counting:
    """Two variants of which one makes more documents of the same entities.

    Attributes:
        documents: Documents of the variant for one entity.
        documents_against: The same of what it is compared with.
    """

    pair: Pair
    documents: float
    documents_against: float


def counting(folder: SuiteFolder, pair: Pair) -> Counting | None:
    """How differently two variants count; `None` where they count alike or it is not known."""
    ours, other = (documents_per_entity(folder, name) for name in pair)
    if ours is None or other is None or abs(ours / other - 1) <= SAME:
        return None
    return Counting(pair, ours, other)


def documents_per_entity(folder: SuiteFolder, variant: str) -> float | None:
    """Documents that describe one entity, such as a book; `None` where the runs do not tell."""
    found = []
    for counted in folder.of_variant(variant):
        documents = value_asked(counted.result.metrics, PER_DOCUMENT)
        entities = value_asked(counted.result.metrics, PER_ENTITY)
        if documents and entities:
            found.append(documents / entities)
    return median(found) if found else None
