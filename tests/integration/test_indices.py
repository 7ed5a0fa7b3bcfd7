"""Several indices that are filled at once, through one connector and directly."""

from dataclasses import dataclass

import httpx
import pytest

from lab.clients.elasticsearch import ElasticsearchClient
from lab.profiles import load_profile
from lab.records.run import Run
from lab.run.names import Names
from lab.run.verify.accounting import DeliveredRecords
from lab.run.verify.parts import verify_parts
from lab.run.verify.verify import VerificationTarget
from lab.stack.shape import StackShape
from producers.dataset import Dataset
from producers.part import parts_of
from producers.registry import make_dataset
from tests.integration.conftest import Sluice

BOOKS = 7_001
INDICES = 3
VALUES = ("dataset.name=aladin", f"dataset.books={BOOKS}", "dataset.updates=0.3", f"indices={INDICES}")


def books() -> Dataset:
    """Books, a part of which are priced again, so that several records share a key."""
    return make_dataset("aladin", books=BOOKS, documents=None, seed=1, updates=0.3)


def run_of(sluice: Sluice, *values: str) -> Run:
    """A run of the quickstart with several indices."""
    sluice.stack.ensure(StackShape(), kept=True)
    done = sluice.run("quickstart", *(word for value in (*VALUES, *values) for word in ("--set", value)))
    assert (done.status, done.errors) == (0, "")
    return Run.model_validate_json((sluice.latest() / "run.json").read_bytes())


def stored_ids(cluster: ElasticsearchClient, index: str) -> set[bytes]:
    """The id of every document of an index."""
    return {name.encode() for page in cluster.ids(index) for name in page}


@dataclass(frozen=True)
class Loaded:
    """A run, and the ids that each of its indices then held."""

    run: Run
    ids: list[set[bytes]]


def loaded(sluice: Sluice, *values: str) -> Loaded:
    """Such a run."""
    run = run_of(sluice, *values)
    cluster = ElasticsearchClient(sluice.stack.endpoints().elasticsearch_urls)
    return Loaded(run, [stored_ids(cluster, index) for index in run.index.split(",")])


@pytest.fixture(scope="module")
def direct(sluice: Sluice) -> Loaded:
    """A direct load of three connections."""
    return loaded(sluice, "load.via=direct", "load.connections=3")


def check_every_index_holds_its_own(load: Loaded) -> None:
    """All documents of a key in one index, none in two, as Elasticsearch itself counts them."""
    assert list(load.run.index_documents) == load.run.index.split(",")
    expected = [{part.key(n) for n in part.latest().tolist()} for part in parts_of(books(), INDICES)]
    assert load.ids == expected
    assert [books.indexed for books in load.run.index_documents.values()] == list(map(len, expected))
    assert load.run.documents.indexed == BOOKS


def test_a_connector_puts_its_own_documents_into_every_index(sluice: Sluice) -> None:
    """From one topic, by three tasks."""
    check_every_index_holds_its_own(loaded(sluice, "sink.tasks=3"))


def test_a_direct_load_puts_its_own_documents_into_every_index(direct: Loaded) -> None:
    """Without a topic."""
    check_every_index_holds_its_own(direct)


def test_a_document_in_the_wrong_index_makes_the_run_void(sluice: Sluice, direct: Loaded) -> None:
    """It is missing from its own index and unexpected in the other, though their sum is right."""
    run = direct.run
    url = sluice.stack.endpoints().elasticsearch_urls[0]
    cluster = ElasticsearchClient([url])
    first, second, _ = run.index.split(",")
    key = next(iter(sorted(stored_ids(cluster, first)))).decode()
    moved = httpx.get(f"{url}/{first}/_source/{key}", trust_env=False).content
    headers = {"Content-Type": "application/json"}
    httpx.put(f"{url}/{second}/_doc/{key}?refresh=true", content=moved, headers=headers, trust_env=False)
    httpx.delete(f"{url}/{first}/_doc/{key}?refresh=true", trust_env=False)
    target = VerificationTarget(
        dataset=books(),
        names=Names.of(load_profile("quickstart", overrides=VALUES), run.run_id),
        records=DeliveredRecords(books().documents),
        key_is_id=True,
        sample=0,
        seed="",
    )
    _, verification, _ = verify_parts(target, None, cluster, lambda _done, _what: None)  # type: ignore[arg-type]
    assert verification.problems == (
        f"{first}: 1 document is missing from the index, such as {key}",
        f"{second}: 1 document in the index was not produced by this run",
    )


def test_indices_that_an_earlier_run_had_are_removed(sluice: Sluice, direct: Loaded) -> None:
    """A run with fewer of them leaves none behind, and touches no other."""
    before = direct.run.index.split(",")
    url = sluice.stack.endpoints().elasticsearch_urls[0]
    theirs = "sluice-quickstart--9"
    httpx.put(f"{url}/{theirs}", trust_env=False).raise_for_status()
    try:
        after = run_of(sluice, "load.via=direct", "indices=2").index.split(",")
        there = httpx.get(f"{url}/_cat/indices/sluice-quickstart*?h=index", trust_env=False).text.split()
        assert before[:2] == after
        assert sorted(name for name in there if "--" in name) == [*after, theirs]
    finally:
        httpx.delete(f"{url}/{theirs}", trust_env=False)
