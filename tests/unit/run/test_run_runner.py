"""The phases of a run, in order, whatever its load is."""

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lab.errors import StackError
from lab.profiles import load_profile
from lab.profiles.models import QueryLoad
from lab.records.deployment import Deployment
from lab.records.run import Environment, Run, Server, WarningKind
from lab.records.verification import Verification
from lab.run import runner
from lab.run.contents import contents_of
from lab.run.environment import cold_servers
from lab.run.load_kinds.base import NO_HISTOGRAMS, Latest, Loading, Steps
from lab.run.phases import RunContext, RunRequest
from lab.stack.groups import Bounds
from tests.unit.analysis.synthetic import Truth, environment, question, run
from tests.unit.run.contexts import Recorder, context_of
from tests.unit.run.displays import SilentProgress

EMPTY_ENVIRONMENT = environment()


class FakeLoad:
    """A load that keeps what it is asked for.

    Attributes:
        failing: The method that fails.
    """

    unassigned = 0
    unchanged_since_s: float | None = None
    produced: int | None = None
    unread_settings: tuple[str, ...] = ()

    def __init__(self, calls: list[str], failing: str = "") -> None:
        self.calls = calls
        self.failing = failing
        self.query_load: Any = None
        self.verification = Verification(verified=True, problems=())
        self.connector_config = {"tasks.max": "2"}

    def do(self, what: str) -> None:
        """Note it, or fail."""
        self.calls.append(what)
        if what == self.failing:
            raise StackError(f"{what} failed")

    def configure(self) -> None:
        """Be called in phase `prepare`."""
        self.do("configure")

    def clear(self) -> None:
        """Be called in phase `prepare`."""
        self.do("clear")

    def create(self) -> None:
        """Be called in phase `prepare`."""
        self.do("create")

    def sources(self) -> str:
        """For the sampler."""
        return "sources"

    def phases_before_samples(self) -> Steps:
        """One phase."""
        yield "fill", lambda: self.do("fill")

    def phases(self, latest: Latest) -> Steps:
        """One phase, between things that are of none."""
        self.do("ready")
        try:
            yield "load", lambda: self.do(f"load after {latest()}")
        finally:
            self.calls.append("loaded")

    def settle(self, latest: Latest) -> None:
        """Be called in the phase of that name."""
        self.do(f"settle after {latest()}")

    def verify(self) -> tuple[object, Verification]:
        """Be called in the phase of that name."""
        self.do("verify")
        return run(Truth()).documents, self.verification

    def record(self) -> dict[str, Any]:
        """Fields of `Run`."""
        return {"topic": "books", "delivery": None, "sink_histograms": NO_HISTOGRAMS}

    def stop(self) -> None:
        """Be called in the end."""
        self.calls.append("stop")


class Phases:
    """Makes runs whose calls are kept.

    Attributes:
        calls: Names of functions and methods, in the order of their calls.
        cluster_calls: Calls of Elasticsearch and the guard.
        given: Function of the runner → the keywords of its last call.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.calls: list[str] = []
        self.cluster_calls: list[str] = []
        self.load = FakeLoad(self.calls)
        self.unchanged_since_s: list[float] = []
        self.given: dict[str, dict[str, Any]] = {}
        self._set = lambda name, value: monkeypatch.setattr(runner, name, value)
        self._set("cluster_of", lambda *_, **__: self.cluster())
        for client in ("worker_of", "topics_of"):
            self._set(client, lambda *_, **__: Recorder([], ""))
        self._set("loading_of", lambda *_: self.load)
        self._set("Sampler", self.sampler)
        self._set("describe_environment", self.describe)
        self.note("remove_connectors", "put_away", "remove_leftovers", checked_targets=("two",), deploy=None)
        self.note(ask_questions=(question(),))

    def note(self, *names: str, **answers: Any) -> None:
        """Keep calls of functions of the runner, which answer so."""

        def noted(name: str, answer: Any) -> Callable[..., Any]:
            def call(*_: object, **given: Any) -> Any:
                self.calls.append(name)
                self.given[name] = given
                return answer

            return call

        for name, answer in {**dict.fromkeys(names), **answers}.items():
            self._set(name, noted(name, answer))

    def cluster(self) -> Recorder:
        """An Elasticsearch."""

        def size(_: str, unchanged_since_s: float) -> dict[str, int]:
            self.unchanged_since_s.append(unchanged_since_s)
            return {"total": 1013}

        settings = {"index_settings": {"index": "settings"}, "cluster_settings": {"cluster": "settings"}}
        return Recorder(self.cluster_calls, "cluster", store_size_bytes=size, vector_options={"f": {}}, **settings)

    def describe(self, _: object, **given: Any) -> Environment:
        """An environment that has the connector."""
        self.given["describe_environment"] = given
        return EMPTY_ENVIRONMENT.model_copy(update={"connector": given["connector"]})

    @contextlib.contextmanager
    def sampler(self, *positional: object, **given: Any) -> Iterator[SimpleNamespace]:
        """A sampler."""
        self.given["Sampler"] = {"positional": positional, **given}
        self.calls.append("sampling begins")
        try:
            yield SimpleNamespace(latest="a sample")
        finally:
            self.calls.append("sampling ends")

    def context(self, name: str = "quickstart", *overrides: str, **others: Any) -> RunContext:
        """A run of a profile."""
        return context_of(self.folder, name, *overrides, **others)

    def make(self, name: str = "quickstart", *overrides: str, **others: Any) -> Run:
        """Make that run."""
        return runner._RunUnderWay(self.context(name, *overrides, **others), sleep=lambda _: None).make()


@pytest.fixture
def phases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Phases:
    """Runs on fakes."""
    return Phases(tmp_path, monkeypatch)


def request_of(context: RunContext) -> RunRequest:
    """The request that a context was made of."""
    return RunRequest(**{name: getattr(context, name) for name in RunRequest.__dataclass_fields__})


def phase_names(made: Run) -> list[str]:
    """The phases of a run."""
    return [phase.name for phase in made.phases]


def test_a_run_is_a_loop_over_its_phases_and_samples_from_the_load_until_it_has_settled(phases: Phases) -> None:
    """Work before, between and after the phases of a load counts for none of them."""
    made = phases.make()
    assert phase_names(made) == ["prepare", "fill", "load", "settle", "verify", "collect"]
    assert phases.calls[phases.calls.index("create") + 1 :] == [
        "fill",
        "sampling begins",
        "ready",
        "load after a sample",
        "loaded",
        "settle after a sample",
        "sampling ends",
        "verify",
    ]


def test_connectors_and_indices_of_earlier_runs_are_gone_before_disks_are_checked_and_indices_made(
    phases: Phases,
) -> None:
    """A sink that still runs would write into the new index, and old indices take the room that is looked for."""
    phases.make("products/deploy")
    assert phases.calls[: phases.calls.index("fill")] == [
        "configure",
        "remove_connectors",
        "put_away",
        "clear",
        "remove_leftovers",
        "checked_targets",
        "create",
    ]


@pytest.mark.parametrize(
    ("target", "profile", "removed"),
    [
        ("remote", "quickstart", ["remove_connectors"]),
        ("remote", "products/deploy", ["remove_connectors", "remove_leftovers"]),
        ("compose", "quickstart", ["remove_connectors", "put_away"]),
        ("local", "quickstart", ["remove_connectors", "put_away", "remove_leftovers"]),
    ],
)
def test_on_servers_of_others_only_what_is_of_the_profile_is_removed(
    phases: Phases, target: str, profile: str, removed: list[str]
) -> None:
    """Kept indices are their users', and without a deployment no repository can be of this profile's."""
    phases.make(profile, target={"name": target})
    assert [call for call in phases.calls if call in ("remove_connectors", "put_away", "remove_leftovers")] == removed
    assert phases.given["remove_connectors"] == {"shared": target == "remote"}


LIMIT = "elasticsearch.cluster_settings={indices.recovery.max_bytes_per_sec: 7mb}"


@pytest.mark.parametrize(("overrides", "guarded"), [((LIMIT,), ["guard.watch_settings"]), ((), [])])
def test_cluster_settings_are_set_while_a_guard_watches(
    phases: Phases, monkeypatch: pytest.MonkeyPatch, overrides: tuple[str, ...], guarded: list[str]
) -> None:
    """A run that is killed leaves none; those that earlier runs have left are taken back by a run without any."""
    monkeypatch.setattr(runner, "Guard", lambda _: Recorder(phases.cluster_calls, "guard"))
    phases.make("quickstart", *overrides)
    assert phases.cluster_calls[: len(guarded) + 1] == [*guarded, "cluster.own_cluster_settings"]


def test_indices_are_deployed_between_load_and_verification_where_the_profile_says_so(phases: Phases) -> None:
    """Samples end before: what is measured is over."""
    made = phases.make("products/deploy")
    assert phase_names(made) == ["prepare", "fill", "load", "settle", "maintain", "verify", "collect"]
    assert phases.calls[-3:] == ["sampling ends", "deploy", "verify"]


def test_questions_are_asked_of_an_index_that_is_verified(phases: Phases) -> None:
    """A phase of its own, in the record of the run."""
    made = phases.make("aladin/search-flat")
    assert phase_names(made)[-3:] == ["verify", "query", "collect"]
    assert made.questions == (question(),)
    assert made.verification.verified


def test_no_question_is_asked_of_an_index_that_is_void(phases: Phases) -> None:
    """Answers would be those of another index."""
    phases.load.verification = Verification(verified=False, problems=("7 documents are missing",))
    made = phases.make("aladin/search-flat")
    assert phase_names(made)[-2:] == ["verify", "collect"]
    assert made.verification == phases.load.verification


def test_questions_that_were_sent_with_the_load_are_not_asked_again(phases: Phases) -> None:
    """Each question has its answers already."""
    assert "query" not in phase_names(phases.make("events/ingest-queries"))


def test_nor_are_questions_that_were_sent_with_the_deployment(phases: Phases) -> None:
    """Each question has its answers from before, while and after the indices moved."""
    under_way = runner._RunUnderWay(phases.context("aladin/search-flat"), sleep=lambda _: None)
    under_way.verify()
    assert under_way.asks_questions
    maintain = load_profile("products/deploy").maintain
    for queries, asks in ((None, True), (QueryLoad(duration_s=7), False)):
        section = maintain and maintain.model_copy(update={"queries": queries})
        profile = under_way.run.profile.model_copy(update={"maintain": section})
        under_way.run = replace(under_way.run, profile=profile)
        assert under_way.asks_questions is asks


def test_a_wrong_answer_voids_the_run(phases: Phases) -> None:
    """Beside the problems that there are."""
    phases.note(problems_of=("question cheap-books: 1 of 7 answers is wrong",))
    made = phases.make("aladin/search-flat")
    assert not made.verification.verified
    assert made.verification.problems == ("question cheap-books: 1 of 7 answers is wrong",)


def test_wrong_answers_to_queries_of_the_load_and_of_a_deployment_void_the_run(
    phases: Phases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are told, with the section that asked for them."""
    deployment = Recorder([], "")
    deployment.__dict__["checked_queries"] = (SimpleNamespace(questions=("third",)),)
    monkeypatch.setattr(runner, "wrong_answers", lambda questions, section="load": (f"{section}: {questions[0]}",))
    phases.load.query_load = SimpleNamespace(questions=("first",))
    under_way = runner._RunUnderWay(phases.context(), sleep=lambda _: None)
    under_way.deployment = cast("Any", deployment)
    under_way.verify()
    assert under_way.verification == Verification(verified=False, problems=("load: first", "maintain: third"))


def test_the_record_says_what_was_done(phases: Phases) -> None:
    """Kind and way of the load, documents of a file, deployment."""
    deployment = Deployment.model_construct(queries={})
    phases.note(deploy=deployment)
    context = phases.context("products/deploy")
    cast("Any", context.dataset).content_hash = "c0ffee"
    made = runner._RunUnderWay(context, sleep=lambda _: None).make()
    assert (made.run_id, made.profile, made.index) == ("20260101-000007", "products/deploy", context.names.index)
    assert (made.load, made.via, made.content_hash) == ("drain", "direct", "c0ffee")
    assert made.deployment is deployment


def test_a_display_is_told_of_each_phase_of_the_runner(phases: Phases) -> None:
    """Loads tell of their own."""
    begun: list[str] = []
    context = phases.context("aladin/search-flat")
    progress = Recorder([], "", begin=lambda phase, *_: begun.append(phase))
    runner._RunUnderWay(replace(context, progress=cast("Any", progress)), sleep=lambda _: None).make()
    assert begun == ["prepare", "query", "collect"]


def test_the_record_has_what_the_load_says_of_itself(phases: Phases) -> None:
    """The command of the request and the connector are there, too."""
    made = phases.make(command=("./sluice", "run", "quickstart"))
    assert (made.topic, made.delivery, made.command) == ("books", None, ("./sluice", "run", "quickstart"))
    assert made.environment.connector == {"tasks.max": "2"}
    assert made.store_size_bytes == {"total": 1013}


def test_what_another_run_must_share_is_read_from_the_servers(phases: Phases) -> None:
    """Settings of index and cluster, connector, servers and vectors; the distribution from the profile."""
    target = {"java_versions": {"kafka": "21"}}
    context = phases.context("quickstart", "elasticsearch.distribution=official", target=target)
    runner._RunUnderWay(context, sleep=lambda _: None).make()
    request = json.loads((context.folder.path / "index.json").read_text(encoding="utf-8"))
    assert phases.given["describe_environment"] == {
        "target": "local",
        "servers": (),
        "java_versions": {"kafka": "21"},
        "index_settings": {"index": "settings"},
        "cluster_settings": {"cluster": "settings"},
        "connector": {"tasks.max": "2"},
        "vector_options": {"f": {}},
        "distribution": "official",
        "contents": contents_of(context.profile, request["mappings"], context.root),
    }


def test_settings_that_the_connector_does_not_have_are_warned_of(phases: Phases) -> None:
    """By their names."""
    phases.load.unread_settings = ("batchsize", "linger")
    warnings = {warning.kind: warning for warning in phases.make().warnings}
    assert "batchsize, linger" in warnings[WarningKind.UNREAD_SETTINGS].seen


def test_the_sampler_knows_the_processes_and_the_phase_as_they_are_at_each_instant(phases: Phases) -> None:
    """Processes are the servers', and those that the run has started."""
    context = phases.context(target={"process_ids": lambda: {"kafka": 41}, "beside_ids": lambda: (43,)})
    runner._RunUnderWay(context, sleep=lambda _: None).make()
    given = phases.given["Sampler"]
    context.children["sink"] = 47
    context.clock.current = "settle"
    phases.load.produced = 1013
    assert given["positional"] == ("sources", context.folder.samples, context.profile.sampling.interval_s)
    assert (given["processes"](), given["beside_ids"]()) == ({"kafka": 41, "sink": 47}, (43,))
    assert (given["phase"](), given["produced"]()) == ("settle", 1013)


def test_servers_that_do_not_answer_are_looked_after_while_a_run_waits_for_them(
    phases: Phases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients wait by way of the display, which ends the run if a server has ended for good."""
    waits: list[object] = []
    for client in ("cluster_of", "worker_of"):
        monkeypatch.setattr(runner, client, lambda *_, sleep, **__: waits.append(sleep) or Recorder([], ""))
    sleep = cast("Any", object())
    runner._RunUnderWay(phases.context(), sleep=sleep)
    assert waits == [sleep, sleep]


def test_the_size_on_disk_is_asked_for_as_of_when_the_load_has_settled(
    phases: Phases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or of an earlier instant that the load knows."""
    monkeypatch.setattr(runner.time, "monotonic", lambda: 1019.0)
    phases.make()
    phases.load.unchanged_since_s = 1013.0
    phases.make()
    assert phases.unchanged_since_s == [1019.0, 1013.0]


def test_a_reader_is_warned_of_cold_distant_and_incomplete_servers(phases: Phases) -> None:
    """Warnings keep this order."""
    phases.load.unassigned = 3
    made = phases.make(target={"fresh": True, "servers": (Server(name="kafka", version="4.1.0", pid=None),)})
    assert [warning.kind for warning in made.warnings] == [
        WarningKind.COLD_SERVERS,
        WarningKind.SERVERS_ELSEWHERE,
        WarningKind.SHARDS_UNASSIGNED,
    ]


def test_a_reader_is_warned_of_a_kernel_that_takes_pages_away_beside_a_limit(
    phases: Phases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limits are the profile's."""
    bounds: list[Bounds] = []
    monkeypatch.setattr(runner, "pages_taken_away", lambda _, given: bounds.append(given) or cold_servers("local"))
    context = phases.context()
    limited = context.profile.elasticsearch.model_copy(update={"memory_limit_mb": 2053})
    context = replace(context, profile=context.profile.model_copy(update={"elasticsearch": limited}))
    under_way = runner._RunUnderWay(context, sleep=lambda _: None)
    under_way.environment = EMPTY_ENVIRONMENT
    assert cold_servers("local") in under_way.warnings()
    assert bounds == [Bounds(memory_limit_mb=2053)]


def test_of_warm_servers_here_that_hold_all_shards_nobody_is_warned(phases: Phases) -> None:
    """One process that is known is enough."""
    servers = tuple(Server(name=name, version="4.1.0", pid=pid) for name, pid in (("kafka", None), ("connect", 41)))
    assert phases.make(target={"servers": servers}).warnings == ()


@pytest.mark.parametrize("failing", ["create", "load after a sample", "settle after a sample", "verify"])
def test_a_phase_that_fails_is_the_last_one_and_leaves_nothing_running(phases: Phases, failing: str) -> None:
    """Neither the sampler nor what the load has ready; the phase itself is in the record of phases."""
    phases.load.failing = failing
    context = phases.context()
    with pytest.raises(StackError, match=f"^{failing} failed$"):
        runner._RunUnderWay(context, sleep=lambda _: None).make()
    assert phases.calls.count("sampling begins") == phases.calls.count("sampling ends")
    assert phases.calls.count("ready") == phases.calls.count("loaded")
    assert failing in phases.calls[-3:]
    assert context.clock.phases[-1].name == context.clock.current


def test_each_phase_waits_at_the_gate_before_it_begins(phases: Phases) -> None:
    """A run beside this one may have to be as far; what stands between phases does not wait."""
    context = phases.context(gate=lambda phase: phases.calls.append(f"gate {phase}"))
    runner.run_profile(request_of(context), SilentProgress())
    assert [call for call in phases.calls if call.startswith("gate")] == [
        f"gate {phase}" for phase in ("prepare", "fill", "load", "settle", "verify", "collect")
    ]
    assert phases.calls.index("ready") < phases.calls.index("gate load") < phases.calls.index("load after a sample")
    assert phases.calls[-1] == "stop"


@pytest.mark.parametrize(("problems", "ended"), [((), "verified"), (("7 documents are missing",), "failed")])
def test_the_end_of_a_run_is_written_down(phases: Phases, problems: tuple[str, ...], ended: str) -> None:
    """Record and progress file agree."""
    phases.load.verification = Verification(verified=not problems, problems=problems)
    made = runner.run_profile(request_of(phases.context()), SilentProgress())
    assert Run.model_validate_json((phases.folder / "run.json").read_bytes()) == made
    assert json.loads((phases.folder / "progress.json").read_bytes())["ended"] == ended


def test_loads_offer_what_the_runner_asks_for() -> None:
    """The fake has the interface of the real ones."""
    asked = {name for name in vars(FakeLoad) if not name.startswith("_")} - {"do"}
    assert asked <= {*dir(Loading), "unassigned", "unchanged_since_s"}
