"""The servers of a suite: a variant with fewer nodes than run uses the first ones, whatever happened before it."""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from lab.cli.run import dataset_of
from lab.clients.target import Target
from lab.endpoints import Endpoints
from lab.profiles import Profile, load_profile
from lab.profiles.suites import load_suite
from lab.records.run import Server
from lab.records.suite import Variant
from lab.run.folder import RunFolder
from lab.run.load.inputs import FilledTopics, topics_key
from lab.targets import servers
from lab.targets.local import Local
from lab.targets.servers import INCLUDED, StartedBench


@dataclass
class Servers:
    """Servers of which another heap makes new processes, as those of this machine; their cluster keeps its settings."""

    url: str
    heap_mb: int = 0
    starts: int = 0
    nodes: int = 0
    stops: int = 0

    def stop(self) -> None:
        """None runs any more."""
        self.stops += 1

    def start(self, profile: Profile, _: Iterable[Profile]) -> Target:
        """The servers in the shape of the profile."""
        if profile.elasticsearch.heap_mb != self.heap_mb:
            self.heap_mb = profile.elasticsearch.heap_mb
            self.starts += 1
        nodes = range(1, profile.elasticsearch.data_nodes + 1)
        self.nodes = len(nodes)
        return Target(
            name="local",
            endpoints=Endpoints("127.0.0.1:1", "http://127.0.0.1:1", (self.url,) * len(nodes), None),
            process_ids=dict,
            servers=[
                Server(name=f"elasticsearch-{number}", version="8.19.21", pid=1009 * self.starts + number)
                for number in nodes
            ],
            java_versions={},
            fresh=False,
        )


def bench_of(servers: Servers) -> tuple[StartedBench, dict[str, Variant]]:
    """A suite of two heaps and two numbers of nodes."""
    profiles = {
        f"{heap_mb}, {nodes}": load_profile(
            "quickstart", overrides=(f"elasticsearch.heap_mb={heap_mb}", f"elasticsearch.data_nodes={nodes}")
        )
        for heap_mb in (512, 1024)
        for nodes in (1, 2)
    }
    variants = {name: Variant(name=name, profile=name, fingerprint=name) for name in profiles}
    return StartedBench(profiles, {}, (), dict.fromkeys(profiles, ""), servers.start, servers.stop), variants


@pytest.mark.parametrize(
    "order",
    [("512, 2", "512, 1", "1024, 2"), ("512, 1", "1024, 1", "512, 2"), ("1024, 2", "512, 1", "1024, 1", "1024, 2")],
)
def test_each_variant_of_heaps_and_nodes_has_the_nodes_that_it_asks_for(order: tuple[str, ...]) -> None:
    """The index of a variant says so itself: the cluster's settings would move what other variants keep there."""
    bench, variants = bench_of(Servers("http://127.0.0.1:1"))
    for name in order:
        bench.prepare(variants[name])
        assert bench.target is not None
        expected = {} if name.endswith("2") else {INCLUDED: "elasticsearch-1"}
        assert bench.target.index_settings == expected, name


def test_a_part_has_no_more_nodes_than_its_own_variants_need() -> None:
    """Nodes of another part would heat the cores for nothing."""
    servers = Servers("http://127.0.0.1:2")
    bench, variants = bench_of(servers)
    apart = replace(bench, parts={name: "two" if name == "512, 2" else "" for name in variants})
    started = {}
    for name in ("512, 1", "512, 2", "1024, 1"):
        apart.prepare(variants[name].model_copy(update={"part": apart.parts[name]}))
        started[name] = servers.nodes
    assert started == {"512, 1": 1, "512, 2": 2, "1024, 1": 2}


def test_a_start_of_its_own_stops_the_servers_before_it() -> None:
    """Those that only the suite uses."""
    servers = Servers("http://127.0.0.1:2")
    bench, _ = bench_of(servers)
    bench.restart()
    assert servers.stops == 1


def test_short_runs_are_not_resized(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Drains of the stated size are what warms servers: a stream at a low rate would not, and a long one takes time."""
    bench, variants = bench_of(Servers("http://127.0.0.1:2"))
    datasets = {name: dataset_of(profile) for name, profile in bench.profiles.items()}
    bench = replace(bench, datasets=datasets)
    ran: list[str] = []
    monkeypatch.setattr(servers, "write_records", lambda request, _: ran.append(request.profile.load.mode))
    monkeypatch.setattr(servers, "remove_traces", lambda *_, **__: None)
    monkeypatch.setattr(servers, "conclude", lambda _: SimpleNamespace(result=SimpleNamespace(status="verified")))
    streaming = {
        name: load_profile("quickstart", overrides=("load.mode=stream", "load.rate_docs_per_s=600"))
        for name in variants
    }
    variant = variants["512, 1"]
    for count in range(2):
        bench.prepare(variant)
        for short in (True, False):
            folder = RunFolder.create(tmp_path, f"{count}{short}")
            bench.run(variant, folder, warm_up=True, short=short, display=nullcontext())
        bench.replace(streaming, datasets)
    assert ran == ["drain", "drain", "drain", "stream"]


@pytest.mark.parametrize(("status", "is_kept"), [("verified", True), ("failed", False)])
def test_the_next_run_fills_topics_of_its_own_after_one_that_is_void(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, status: str, *, is_kept: bool
) -> None:
    """The cause may be in the topic."""
    bench, variants = bench_of(Servers("http://127.0.0.1:2"))
    datasets = {name: dataset_of(profile) for name, profile in bench.profiles.items()}
    bench, variant = replace(bench, datasets=datasets), variants["512, 1"]
    bench.prepare(variant)
    assert bench.target is not None
    profile, dataset = bench.inputs_of(variant, short=False)
    key = topics_key(profile, dataset, bench.target.endpoints) or ""
    bench.inputs.topics[key] = cast("FilledTopics", SimpleNamespace())
    monkeypatch.setattr(servers, "conclude", lambda _: SimpleNamespace(result=SimpleNamespace(status=status)))
    bench.concluded(variant, RunFolder(tmp_path, "7"), short=False)
    assert (key in bench.inputs.topics) is is_kept


def test_servers_are_had_for_the_variants_that_run_alone() -> None:
    """One that is left out has a dataset, too, since the plan names it."""

    class Unstarted(Local):
        """Servers that nobody starts."""

        def held(self) -> AbstractContextManager[None]:
            """Nothing to hold."""
            self.stay = False
            return nullcontext()

    whole = load_suite("a-a")
    left_out = replace(whole.variants[0], name="left out")
    datasets = {variant.name: dataset_of(variant.profile) for variant in (*whole.variants, left_out)}
    with Unstarted().bench(whole, datasets, ()) as bench:
        assert set(cast("StartedBench", bench).profiles) == {variant.name for variant in whole.variants}


def test_topics_of_the_suite_s_own_runs_and_profiles_are_its_own() -> None:
    """Another user's run of another profile may have begun in the same second."""
    bench, _ = bench_of(Servers("http://127.0.0.1:2"))
    bench.run_ids = {"20260101-000007", "20260101-000011-2"}
    assert bench.made_topics() == {
        f"sluice-quickstart-{run}{ending}" for run in bench.run_ids for ending in ("", "-dead-letters")
    }
