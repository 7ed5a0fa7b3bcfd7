"""The warm-up of a single run: an uncounted drain on servers that have just started."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lab.clients.target import Target
from lab.endpoints import Endpoints
from lab.errors import StackError
from lab.profiles import load_profile
from lab.profiles.loader import override
from lab.run.folder import RunFolder
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
    """Runs that were made, and traces that were removed, in their order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[Any] = []
        monkeypatch.setattr(warm_up, "run_profile", self.run)
        monkeypatch.setattr(warm_up, "remove_traces", lambda *words: self.calls.append(words[2]))

    def run(self, request: RunRequest, _: object) -> object:
        """Take note of a run."""
        self.calls.append(request)
        return SimpleNamespace()


@pytest.fixture
def drained(monkeypatch: pytest.MonkeyPatch) -> Drained:
    """Runs on no servers."""
    return Drained(monkeypatch)


def request_of(tmp_path: Path, *, updates: float = 0.0, warm_up_documents: int | None = 200) -> RunRequest:
    """A drain of about a thousand offers."""
    stated = override("load.warm_up_documents", warm_up_documents)
    profile = load_profile("quickstart", overrides=[stated])
    dataset = make_dataset("aladin", model="flat", documents=1000, updates=updates)
    return RunRequest(profile, dataset, TARGET, RunFolder.create(tmp_path, profile.name))


def test_the_first_documents_are_drained_uncounted_and_nothing_of_them_stays(drained: Drained, tmp_path: Path) -> None:
    """In a folder of its own; the run that counts then finds servers that are not cold."""
    request = request_of(tmp_path)

    warm = warmed_up(request)

    ran, removed = drained.calls
    assert [ran.dataset.document(n) for n in (0, 199)] == [request.dataset.document(n) for n in (0, 199)]
    assert (ran.dataset.documents, removed) == (200, ran.folder.run_id)
    assert (ran.folder.path.exists(), ran.folder.path == request.folder.path) == (False, False)
    assert warm == replace(request, target=replace(TARGET, fresh=False))


def test_a_warm_up_has_no_more_documents_than_the_run(drained: Drained, tmp_path: Path) -> None:
    """A small file is drained whole, twice."""
    request = request_of(tmp_path, warm_up_documents=5000)

    warmed_up(request)

    assert drained.calls[0].dataset.documents == request.dataset.documents


@pytest.mark.parametrize(
    "changed", [{"warm_up_documents": None}, {"updates": 0.5}], ids=["none is stated", "keys repeat"]
)
def test_without_a_warm_up_the_run_is_as_it_was(drained: Drained, tmp_path: Path, changed: dict[str, Any]) -> None:
    """Its servers stay cold, and its warning says so."""
    request = request_of(tmp_path, **changed)

    assert (warmed_up(request), drained.calls) == (request, [])


def test_servers_that_have_not_just_started_are_not_warmed_up(drained: Drained, tmp_path: Path) -> None:
    """A second run on kept servers starts at once."""
    request = replace(request_of(tmp_path), target=replace(TARGET, fresh=False))

    assert (warmed_up(request), drained.calls) == (request, [])


def test_a_warm_up_that_fails_ends_the_run_and_leaves_nothing(
    drained: Drained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the run itself would have failed."""
    error = StackError("kafka: ended")
    monkeypatch.setattr(warm_up, "run_profile", lambda *_: cast("Any", (_ for _ in ()).throw(error)))

    with pytest.raises(StackError) as failed:
        warmed_up(request_of(tmp_path))

    assert (failed.value, len(drained.calls)) == (error, 1)
