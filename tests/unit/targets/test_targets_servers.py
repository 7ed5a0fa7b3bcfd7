"""What every target refuses before its servers start, and what a run and a suite do on them in which order."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace

import orjson
import pytest

from lab.cli.run import dataset_of
from lab.clients.target import Target
from lab.endpoints import Endpoints
from lab.errors import ProfileError
from lab.profiles import Profile, load_profile
from lab.records.run import Server
from lab.records.suite import Variant
from lab.run.folder import RunFolder
from lab.run.phases import RunRequest
from lab.targets import servers
from lab.targets.servers import Servers, StartedBench
from producers.dataset import BATCH_DOCUMENTS

TARGET = Target(
    name="local",
    endpoints=Endpoints("127.0.0.1:1", "http://127.0.0.1:1", ("http://127.0.0.1:1",), None),
    process_ids=dict,
    servers=[Server(name="elasticsearch-1", version="8.19.21", pid=1009)],
    java_versions={},
    fresh=False,
)


class Noted(Servers):
    """Servers that take note of what is done with them."""

    def __init__(self) -> None:
        self.done: list[object] = []
        self.was_fresh = False

    def _fitted(self, profile: Profile) -> Profile:
        return profile

    def endpoints(self) -> Endpoints:
        """Of the target."""
        return TARGET.endpoints

    @contextmanager
    def held(self) -> Iterator[None]:
        """From the first step to the last."""
        self.done.append("held")
        yield
        self.done.append("left")

    def target(self, profile: Profile, beside: Iterable[Profile] = ()) -> Target:  # noqa: ARG002 - as of all targets
        """They run."""
        return TARGET

    def stop(self) -> None:
        """Stop them."""
        self.done.append("stopped")


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> Noted:
    """Servers on which a run writes nothing but its profile."""
    made = Noted()
    analysis = SimpleNamespace(result=SimpleNamespace(status="verified"))

    def ran(request: RunRequest, _: object) -> None:
        written = orjson.loads((request.folder.path / "profile.json").read_bytes())
        made.done.append(("run", written["name"], request.target.run_ids, request.abort_on))
        made.was_fresh = request.target.fresh

    monkeypatch.setattr(servers, "warmed_up", lambda _profile, _dataset, target: target)
    monkeypatch.setattr(servers, "run_profile", ran)
    monkeypatch.setattr(servers, "analyse", lambda _: analysis)
    monkeypatch.setattr(servers, "write_result", lambda _: made.done.append("result"))
    monkeypatch.setattr(servers, "write_report", lambda _: made.done.append("report"))
    monkeypatch.setattr(servers, "remove_traces", lambda *_, **__: made.done.append("removed"))
    return made


@pytest.mark.parametrize(
    ("profile", "overrides", "key"),
    [
        ("quickstart", ("index.codec=legacy_default", "elasticsearch.version=7.17.7"), "index.codec"),
        ("quickstart", ("index.mode=columnar",), "index.mode"),
        ("vectors/append", ("opensearch=3.0.0",), "dense_vector"),
        ("vectors/append", ("elasticsearch.version=7.17.7",), "vectors"),
    ],
    ids=["codec", "mode", "fields", "vectors"],
)
def test_a_target_refuses_what_its_release_does_not_have(profile: str, overrides: tuple[str, ...], key: str) -> None:
    """Before anything is started."""
    with pytest.raises(ProfileError, match=key):
        Noted().fitted(load_profile(profile, overrides=overrides))


def test_a_run_is_made_while_the_servers_are_held_and_analysed_after(noted: Noted, tmp_path: Path) -> None:
    """Its profile is written before it begins, and `latest` leads to it once it is over."""
    profile = load_profile("quickstart")
    analysis = noted.run(profile, dataset_of(profile), tmp_path)
    assert noted.done == ["held", ("run", "quickstart", frozenset(), ()), "left", "result", "report"]
    assert (analysis.result.status, (tmp_path / "latest" / "profile.json").exists()) == ("verified", True)


def test_a_run_whose_indices_would_be_empty_is_refused_before_servers_are_held(noted: Noted, tmp_path: Path) -> None:
    """Documents are shared out in blocks: two blocks fill two indices, and no third one."""
    for indices in (2, 3):
        profile = load_profile(
            "quickstart", overrides=(f"indices={indices}", f"dataset.documents={2 * BATCH_DOCUMENTS}")
        )
        dataset = dataset_of(profile)
        expected = max(1, dataset.documents // BATCH_DOCUMENTS)
        with nullcontext() if indices <= expected else pytest.raises(ProfileError, match=f"at most {expected}"):
            noted.run(profile, dataset, tmp_path)
    assert noted.done.count("held") == 1


def bench_of(noted: Noted, tmp_path: Path, *wanted: str) -> tuple[StartedBench, RunFolder]:
    """A suite of these variants of the quickstart, and a folder for a run."""
    profiles = {name: load_profile("quickstart", overrides=(f"elasticsearch.heap_mb={name}",)) for name in wanted}
    datasets = {name: dataset_of(profile) for name, profile in profiles.items()}
    parts = {name: f"part {name}" for name in wanted}
    return StartedBench(profiles, datasets, (), parts, noted.target, noted.stop), RunFolder.create(tmp_path, "of-suite")


def of_display() -> AbstractContextManager[None]:
    """Nothing is shown."""
    return nullcontext()


@pytest.mark.parametrize(("warm_up", "conditions"), [(True, ()), (False, ("slow",))])
def test_a_run_of_a_suite_knows_the_runs_before_it_and_leaves_nothing(
    noted: Noted, tmp_path: Path, conditions: tuple[str, ...], *, warm_up: bool
) -> None:
    """A warm-up is never broken off for being slow."""
    bench, folder = bench_of(noted, tmp_path, "512")
    bench.abort_on, bench.run_ids = ("slow",), {"earlier"}  # type: ignore[assignment]
    bench.after_run = lambda *_: noted.done.append("looked at")
    variant = Variant(name="512", profile="quickstart", fingerprint="512", kind="drain", part="part 512", way="ours")
    assert bench.prepare(variant) == {("ours", 1009)}
    result = bench.run(variant, folder, warm_up=warm_up, short=False, display=of_display())  # type: ignore[arg-type]
    ids = frozenset({"earlier", folder.run_id})
    assert noted.done == [("run", "quickstart", ids, conditions), "looked at", "removed", "result", "report"]
    assert noted.was_fresh is warm_up
    assert (result.status, bench.targets) == ("verified", {"http://127.0.0.1:1": bench.target})


def test_variants_that_are_added_run_on_servers_of_the_first_part(noted: Noted, tmp_path: Path) -> None:
    """As what a tune finds on its way; parts of one shape go on without a stop."""
    bench, _ = bench_of(noted, tmp_path, "512", "1024")
    added, _ = bench_of(noted, tmp_path, "768")
    bench.add(added.profiles, added.datasets)
    assert (set(bench.profiles), set(bench.datasets)) == ({"512", "1024", "768"}, {"512", "1024", "768"})
    assert bench.parts["768"] == ""
    bench.change_part("part 512", "part 512")
    assert noted.done == []
    bench.change_part("part 512", "part 1024")
    assert noted.done == ["stopped"]
