"""Vectors: the digits of the document are those that the exact neighbours are found by."""

import json

import numpy as np
import pytest

from producers.dataset import DatasetError
from producers.datasets.vectors import CLUSTERS, SCALE, Vectors, make_vectors
from producers.registry import make_dataset
from tests.unit.messages import MakeMessage, Naming


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    """Enough to have several in each cluster."""
    return make_vectors(documents=5003, seed=7, dimensions=24)


def stored(vectors: Vectors) -> np.ndarray:
    """What Elasticsearch would be sent."""
    return np.array([json.loads(value)["vector"] for batch in vectors.batches(0, 5003) for _, value in batch])


def test_a_document_has_the_digits_of_its_vector(vectors: Vectors) -> None:
    """No rounding lies between what is stored and what is compared."""
    assert (np.rint(stored(vectors) * SCALE).astype(int) == vectors.values(np.arange(5003))).all()


def test_values_are_spread_as_those_of_an_embedding(vectors: Vectors) -> None:
    """About normal around 0: centres of 0.25, and 0.1 around each."""
    values = vectors.values(np.arange(5003)) / SCALE
    assert abs(values.mean()) < 0.01
    assert values.std() == pytest.approx((0.25**2 + 0.1**2) ** 0.5, rel=0.03)


def test_vectors_of_one_cluster_are_near_each_other(vectors: Vectors) -> None:
    """The nearest neighbour of almost every vector is of its own cluster."""
    documents = [json.loads(value) for batch in vectors.batches(0, 5003) for _, value in batch]
    clusters = np.array([document["cluster"] for document in documents])
    assert set(clusters) == set(range(CLUSTERS))

    nearest = vectors.neighbours(vectors.values(np.arange(200)), 2)
    assert (nearest[:, 0] == np.arange(200)).all(), "a vector is nearest to itself"
    assert (clusters[nearest[:, 1]] == clusters[:200]).mean() > 0.95


def test_neighbours_are_those_of_every_pair(vectors: Vectors) -> None:
    """Blockwise is the same as at once, over what is stored."""
    queries = vectors.queries(np.arange(31))
    of_documents = stored(vectors)
    units = of_documents / np.linalg.norm(of_documents, axis=1, keepdims=True)
    cosines = (queries / np.linalg.norm(queries, axis=1, keepdims=True)) @ units.T

    assert (vectors.neighbours(queries, 10) == np.argsort(-cosines, axis=1, kind="stable")[:, :10]).all()


def test_queries_are_in_no_document(vectors: Vectors) -> None:
    """A query that is stored would have an easy first neighbour."""
    queries = {tuple(row) for row in vectors.queries(np.arange(500)).tolist()}
    assert not queries & {tuple(row) for row in vectors.values(np.arange(5003)).tolist()}


def test_a_vector_is_the_same_whatever_is_made_beside_it(vectors: Vectors) -> None:
    """A pure function of its number; another seed makes others."""
    whole = [value for batch in vectors.batches(0, 5003) for _, value in batch]
    assert [vectors.document(number) for number in (0, 1024, 5002)] == [whole[number] for number in (0, 1024, 5002)]
    assert vectors.document(0) != make_vectors(documents=5003, seed=8, dimensions=24).document(0)


@pytest.mark.parametrize("dimensions", [0, 4097])
def test_a_dimension_that_no_index_takes_is_refused(dimensions: int, message: MakeMessage) -> None:
    """Elasticsearch takes 1 to 4,096."""
    with pytest.raises(DatasetError) as refusal:
        make_dataset("vectors", dimensions=dimensions)
    assert str(refusal.value) == message("dimensions", dimensions, 1, 4096)


UPDATED = make_vectors(documents=5003, seed=7, dimensions=24, updates=0.4)


def test_updates_come_last_and_keep_the_vector_they_index_again(vectors: Vectors) -> None:
    """Another number under a key that there is already: the neighbours of a query stay those of the first vectors."""
    documents = [(key, json.loads(value)) for batch in UPDATED.batches(0, 5003) for key, value in batch]
    first = dict(documents[: UPDATED.vectors])

    assert UPDATED.vectors == 5003 - 2001
    assert len(first) == UPDATED.vectors
    assert [document["number"] for _, document in documents] == list(range(5003))
    for key, document in documents[UPDATED.vectors :]:
        assert {**document, "number": first[key]["number"]} == first[key]
    queries = vectors.queries(np.arange(31))
    fewer = make_vectors(documents=UPDATED.vectors, seed=7, dimensions=24)
    assert (UPDATED.neighbours(queries, 10) == fewer.neighbours(queries, 10)).all()


def test_the_last_update_of_a_key_is_what_must_be_stored() -> None:
    """As the records say it, read one after the other; all records of a key are one group."""
    numbers = np.arange(5003)
    last = {key: number for number, key in enumerate(UPDATED.keys(numbers))}
    groups = UPDATED.groups(numbers)

    assert UPDATED.latest().tolist() == sorted(last.values())
    assert groups is not None
    assert UPDATED.keys(groups) == UPDATED.keys(numbers)


def test_without_updates_no_two_documents_share_a_key(vectors: Vectors) -> None:
    """All of them are the last of their key, and need not be sent in any order."""
    assert vectors.latest().tolist() == list(range(5003))
    assert vectors.groups(np.arange(7)) is None


def test_a_share_of_updates_leaves_a_vector_to_update() -> None:
    """A fraction below 1."""
    assert make_vectors(documents=3, seed=7, updates=0.999_999).vectors == 1
    with pytest.raises(DatasetError) as refusal:
        make_vectors(documents=3, seed=7, updates=1.0)
    assert str(refusal.value) == Naming("updates", 1.0)
