"""The warm-up of a single run: an uncounted drain on servers that have just started."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from lab.clients.target import Target
from lab.endpoints import Endpoints
from lab.errors import StackError
from lab.profiles import load_profile
from lab.profiles.loader import override
from lab.run.phases import RunRequest
from lab.targets import warm_up
from lab.targets.warm_up import warmed_up
from producers.registry import make_dataset

TARGET = Target(
    name="local",
    endpoints=Endpoints("127.0.0.1:1", "http://127.0.0.1:1", ("http://127.0.0.1:1",), None),
    process_ids=dict,
    servers=[],
    java_versions={},
    fresh=True,
)


class Drained:
    """Runs that were made, and traces that were removed, in their order, on nodes that have indexed so many."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[Any] = []
        self.indexed = 0
        self.profile: dict[str, Any] = {}
        self.error: StackError | None = None
        monkeypatch.setattr(warm_up, "run_profile", self.run)
        monkeypatch.setattr(warm_up, "remove_traces", lambda *words: self.calls.append(words[2]))
        monkeypatch.setattr(warm_up, "indexed_since_start", lambda _: self.indexed)

    def run(self, request: RunRequest, _: object) -> None:
        """Take note of a run, or fail."""
        self.calls.append(request)
        self.profile = orjson.loads((request.folder.path / "profile.json").read_bytes())
        if self.error:
            raise self.error


@pytest.fixture
def drained(monkeypatch: pytest.MonkeyPatch) -> Drained:
    """Runs on no servers."""
    return Drained(monkeypatch)


def warmed(target: Target = TARGET, *, documents: int = 300_000, updates: float = 0.0, stated: int | None) -> Target:
    """The servers of a drain of about so many offers, after its warm-up."""
    profile = load_profile("quickstart", overrides=[override("load.warm_up_documents", stated)])
    return warmed_up(profile, make_dataset("aladin", model="flat", documents=documents, updates=updates), target)


def test_the_first_documents_are_drained_uncounted_and_nothing_of_them_stays(
    drained: Drained, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a folder that is gone, and that held the profile; the run that counts then finds servers that are not cold."""
    after = warmed(stated=200_000)

    ran, removed = drained.calls
    whole = make_dataset("aladin", model="flat", documents=300_000)
    assert [ran.dataset.document(n) for n in (0, 199_999)] == [whole.document(n) for n in (0, 199_999)]
    assert (ran.dataset.documents, removed, ran.folder.path.exists()) == (200_000, ran.folder.run_id, False)
    assert after == replace(TARGET, fresh=False)
    assert drained.profile["name"] == "quickstart"
    assert f"the first 200,000 of {whole.documents:,} documents, not counted" in capsys.readouterr().out


@pytest.mark.parametrize(("documents", "leaves_cold"), [(99_999, True), (100_000, False)])
def test_a_warm_up_of_enough_documents_leaves_no_server_cold(
    drained: Drained, documents: int, *, leaves_cold: bool
) -> None:
    """As many as a server that was kept must have indexed."""
    assert (warmed(stated=documents).fresh, len(drained.calls)) == (leaves_cold, 2)


def test_a_warm_up_has_no_more_documents_than_the_run_and_a_small_one_leaves_servers_cold(drained: Drained) -> None:
    """The warning of cold servers stays: some hundred documents compile nothing."""
    after = warmed(documents=1000, stated=200_000)

    assert (drained.calls[0].dataset.documents < 1100, after.fresh) == (True, True)


@pytest.mark.parametrize(
    "changed",
    [{"stated": None}, {"stated": 0}, {"stated": 200, "updates": 0.5}],
    ids=["none stated", "zero", "repeats"],
)
def test_without_a_warm_up_servers_are_as_they_were(drained: Drained, changed: dict[str, Any]) -> None:
    """None is stated, or keys repeat."""
    assert (warmed(documents=1000, **changed), drained.calls) == (TARGET, [])


def test_documents_whose_keys_repeat_have_no_warm_up_and_it_says_so(
    drained: Drained, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first of them are not the last of their keys."""
    warmed(documents=1000, stated=200, updates=0.5)

    assert (drained.calls, "no warm-up" in capsys.readouterr().out) == ([], True)


@pytest.mark.parametrize(("indexed", "runs"), [(99_999, 1), (100_000, 0)])
def test_kept_servers_are_warmed_up_until_a_node_has_indexed_enough(drained: Drained, indexed: int, runs: int) -> None:
    """Those that `up` has just started are cold, too."""
    drained.indexed = indexed

    warmed(replace(TARGET, fresh=False), documents=1000, stated=200)

    assert sum(isinstance(call, RunRequest) for call in drained.calls) == runs


def test_a_node_that_holds_no_shard_makes_no_cluster_cold(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dedicated master indexes nothing: each run on its cluster would warm up anew."""
    counts = [0, 120_000, 7]
    nodes = {str(n): {"indices": {"indexing": {"index_total": count}}} for n, count in enumerate(counts)}
    cluster = SimpleNamespace(request=lambda *_: (200, {"nodes": nodes}), close=lambda: None)
    monkeypatch.setattr(warm_up, "cluster_of", lambda _: cluster)

    assert warm_up.indexed_since_start(TARGET) == 120_000


def test_a_warm_up_that_does_not_end_leaves_its_index_to_the_next_run(drained: Drained) -> None:
    """A bulk request still under way would make it anew, without our mark, and every later run would be refused."""
    drained.error = StackError("kafka: ended")

    with pytest.raises(StackError) as failed:
        warmed(documents=1000, stated=200)

    assert (failed.value, len(drained.calls)) == (drained.error, 1)
