"""One run, or the runs of a suite, on the servers of a target, whichever it is."""

import contextlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Unpack

from lab.analysis.figures.definitions import BY_NAME
from lab.analysis.report_page.report import write_report
from lab.analysis.result import RunAnalysis, analyse, write_result
from lab.clients.target import Target, topics_of
from lab.console import as_called
from lab.display import RunDisplay
from lab.endpoints import Endpoints, words_without_secrets
from lab.engines import ENGINES, Release
from lab.errors import ProfileError, StackError
from lab.profiles import Profile, QueryOnly
from lab.profiles.index_settings import codec_complaint, mode_complaint
from lab.profiles.maintain import refusal_of
from lab.profiles.mapping import leaves, load_mapping
from lab.profiles.problems import Place, Problem, suggestion
from lab.profiles.suites import Suite
from lab.records.marks import NO_MARKS, Marks
from lab.records.result import Result
from lab.records.suite import Variant
from lab.run.abort import Condition
from lab.run.environment import profile_without_secrets
from lab.run.folder import RunFolder, become_latest
from lab.run.load.connector import ELASTICSEARCH_URLS
from lab.run.load.drivers import Drivers
from lab.run.load.inputs import Inputs
from lab.run.names import Names, kept_index
from lab.run.phases import Gate, RunProgress, RunRequest, open_gate
from lab.run.prepare import INCLUDED, remove_kept, remove_traces
from lab.run.query.layout import refuse_updates
from lab.run.query.vectors import check_vectors
from lab.run.runner import run_profile
from lab.stack.elasticsearch import node_name
from lab.stack.kafka import OVERRIDABLE
from lab.stack.places import ROOT
from lab.suite.bench import RunOptions
from lab.suite.duets import PairBench
from lab.suite.plan import server_shape
from lab.targets.warm_up import warmed_up
from producers.dataset import BATCH_DOCUMENTS, Dataset

CLIENTS = ("consumer", "producer", "admin")
"""Those of a connector, as Connect names them before `.override.`."""
ONE_SET = "--duets: these servers are one set, expected --target local, which starts two"


class Servers(ABC):
    """The servers of a target, as commands use them.

    Attributes:
        stay: Whether they outlive the command, so that what a suite has set in them must be taken back.
        may_be_licensed: Whether somebody may have given them a licence.
        has_plugins: Whether their engine may be more than its minimal distribution.
    """

    stay = True
    may_be_licensed = False
    has_plugins = True

    def fitted(self, profile: Profile) -> Profile:
        """The profile as it runs on them; nothing is started to find out.

        Raises:
            ProfileError: It asks for what they, or their version, lack; or an installed metric cannot be used.
        """
        BY_NAME.check()
        fitted = self._fitted(profile)
        check_codecs(fitted, plugins=self.has_plugins or fitted.elasticsearch.distribution is not None)
        check_mode(fitted)
        check_fields(fitted)
        check_vectors(fitted, ROOT, may_be_licensed=self.may_be_licensed)
        return fitted

    @abstractmethod
    def _fitted(self, profile: Profile) -> Profile:
        """The profile as it runs on these servers, before its codecs, index mode, fields and vectors are checked."""

    @abstractmethod
    def endpoints(self) -> Endpoints:
        """Where those that run already are found; raises StackError if they do not run."""

    @abstractmethod
    def held(self) -> AbstractContextManager[None]:
        """Hold them for this command; what only runs for it is stopped at the end."""

    @abstractmethod
    def target(self, profile: Profile, beside: Iterable[Profile] = ()) -> Target:
        """Have them run as a fitted profile asks; call it only while they are held.

        Args:
            beside: Profiles that will run on the same servers.
        """

    def run(
        self,
        profile: Profile,
        dataset: Dataset,
        runs: Path,
        drivers: Drivers | None = None,
        *,
        marks: Marks = NO_MARKS,
        abort_on: Sequence[Condition] = (),
    ) -> RunAnalysis:
        """Run a fitted profile once, its stream sent by drivers on other hosts where there are some; analyse it."""
        refuse_updates(profile, dataset)
        refuse_empty_indices(profile, dataset)
        with self.held():
            target = warmed_up(profile, dataset, self.target(profile))
            folder = RunFolder.create(runs, profile.name)
            try:
                request = RunRequest(
                    profile,
                    dataset,
                    target,
                    folder,
                    command=typed_command(),
                    drivers=drivers,
                    marks=marks,
                    abort_on=abort_on,
                )
                write_records(request, RunDisplay().showing())
            finally:
                # Servers of others keep nothing of ours.
                if target.name == "remote" and (kept := kept_index(profile, dataset, ROOT)):
                    remove_kept(target, {kept}, {folder.run_id})
            become_latest(folder.path, runs)
        return conclude(folder)

    def run_together(self, profiles: Iterable[Profile]) -> bool:  # noqa: ARG002 - these servers are one set
        """Whether the different servers that fitted profiles ask for can run at the same time, side by side."""
        return False

    def refuse_duets(self, profiles: Sequence[Profile]) -> None:  # noqa: ARG002 - these servers are one set
        """Raise ProfileError unless fitted profiles can run in pairs, at the same time on two sets of servers."""
        raise ProfileError(ONE_SET)

    def duet_bench(
        self,
        suite: Suite,  # noqa: ARG002 - as for servers that may be two sets
        datasets: Mapping[str, Dataset],  # noqa: ARG002
        command: Sequence[str],  # noqa: ARG002
    ) -> AbstractContextManager[PairBench]:
        """The servers of a suite twice, for two runs at the same time.

        Raises:
            ProfileError: These servers are one set.
        """
        raise ProfileError(ONE_SET)

    def may_be_started_anew(self) -> bool:
        """Whether they can be stopped and started within a command: only it uses them."""
        return False

    @abstractmethod
    def stop(self) -> None:
        """Stop those that only this command uses; call it only while they are held."""

    @contextlib.contextmanager
    def bench(self, suite: Suite, datasets: Mapping[str, Dataset], command: Sequence[str]) -> Iterator["VariantBench"]:
        """The servers of a suite whose profiles are fitted; datasets are given by variant."""
        profiles = {variant.name: variant.profile for variant in suite.variants}
        for name, profile in profiles.items():
            refuse_updates(profile, datasets[name])
            refuse_empty_indices(profile, datasets[name])
        with self.held():
            bench = StartedBench(profiles, datasets, command, suite.parts, self.target, self.stop)
            try:
                yield bench
            finally:
                bench.inputs.close()
                if self.stay:
                    bench.leave()


def refuse_empty_indices(profile: Profile, dataset: Dataset) -> None:
    """Raise ProfileError if the dataset has too few documents for each of several indices to get some."""
    most = max(1, dataset.documents // BATCH_DOCUMENTS)
    if profile.indices > most:
        place = profile.where.get("indices", profile.name)
        raise ProfileError(
            f"{place}: indices: got {profile.indices}, expected at most {most} for {dataset.documents:,} documents, "
            f"which are shared out in blocks of {BATCH_DOCUMENTS:,}"
        )


def refusal_among_first(profile: Profile) -> str | None:
    """Why a profile cannot be deployed among the nodes that it is given here; `None` if it can, or has no such wish."""
    return refusal_of(profile, [node_name(number) for number in range(1, profile.elasticsearch.data_nodes + 1)])


def release_refusals(profile: Profile, found: Release, which: str) -> Iterator[str]:
    """The sentence about a version or an engine that a profile states and its servers are not of.

    Args:
        which: Where the release was found: `the cluster runs`.
    """
    wanted = profile.release
    for key in (engine.dotted_key for engine in ENGINES):
        if (place := profile.where.get(key)) and wanted != found:
            got, expected = (wanted, found) if wanted.engine is not found.engine else (wanted.version, found.version)
            yield refusal_at(place, key, f"got {got}, expected {expected}, which {which}")


def refusal_at(place: str, key: str, message: str) -> str:
    """One line of a refusal, as the profile's own."""
    return str(Problem(Place.of_key(place, key), key, message))


def override_refusals(profile: Profile) -> Iterator[str]:
    """What a connector may not override of its clients in the workers that we start; a sentence each."""
    for name in profile.sink.config:
        client, _, setting = name.partition(".override.")
        if client in CLIENTS and setting and setting not in OVERRIDABLE:
            key = f"sink.config.{name}"
            remedy = suggestion(setting, OVERRIDABLE, "one of `OVERRIDABLE` in lab/stack/kafka.py")
            yield f"{profile.where.get(key, profile.name)}: {key}: cannot be overridden in our workers, {remedy}"


def check_codecs(profile: Profile, *, plugins: bool = True) -> None:
    """Raise ProfileError unless the profile's release has its codecs; a suite leaves such a variant out.

    Args:
        plugins: Whether it may have more of them by a plugin.
    """
    load = profile.load
    before = load.codec_before if isinstance(load, QueryOnly) else None
    for key, codec in (("index.codec", profile.index.get("codec")), ("load.codec_before", before)):
        if complaint := codec_complaint(codec, profile.release, plugins=plugins):
            raise ProfileError(f"{key}: {complaint}")


def check_mode(profile: Profile) -> None:
    """Raise ProfileError unless the profile's release has its index mode; a suite leaves such a variant out."""
    if complaint := mode_complaint(profile.index.get("mode"), profile.release):
        place = profile.where.get("index.mode", profile.name)
        raise ProfileError(refusal_at(place, "index.mode", complaint))


def check_fields(profile: Profile) -> None:
    """Raise ProfileError for a mapping with vectors on an engine that has them under another name, or not at all."""
    if profile.release.engine.dense_vectors:
        return
    types = leaves(load_mapping(profile.mapping, ROOT).get("mappings", {}))
    if fields := [key for key, value in types if value == "dense_vector" and key.endswith(".type")]:
        name = fields[0].removeprefix("properties.").removesuffix(".type")
        raise ProfileError(
            f"mapping: {profile.mapping}: {name} is a `dense_vector`, which {profile.release} does not have, expected "
            "a mapping without vectors; run it on Elasticsearch"
        )


def typed_command() -> tuple[str, ...]:
    """The command that this process is, as it may be written down."""
    return (as_called("./sluice"), *words_without_secrets(sys.argv[1:]))


def write_records(request: RunRequest, display: AbstractContextManager[RunProgress]) -> None:
    """Make the run, its records into its folder."""
    profile = profile_without_secrets(request.profile)
    request.folder.write_text("profile.json", profile.model_dump_json(indent=1) + "\n")
    with display as shown:
        run_profile(request, shown)


def conclude(folder: RunFolder) -> RunAnalysis:
    """Make result and report of a run's records."""
    analysis = analyse(folder.path)
    write_result(analysis)
    write_report(analysis)
    return analysis


@dataclass
class VariantBench(ABC):
    """Servers for all variants of a suite, and one run of a variant on them.

    Attributes:
        profiles: By variant, as the suite states them.
        datasets: By variant.
        resized: Both, as runs that count have them; `None` while they are the same.
        command: The one that the suite was started by.
        target: The servers of the next run.
        targets: All that runs were made on, by the address of their Connect worker.
        run_ids: Runs of the suite so far, those before it was interrupted included.
        inputs: What runs so far have filled and made for those to come.
        abort_on: Conditions that end the suite while a run loads that is no warm-up.
        after_run: Called after each run, while its index is there.
    """

    profiles: Mapping[str, Profile]
    datasets: Mapping[str, Dataset]
    command: Sequence[str]
    resized: tuple[Mapping[str, Profile], Mapping[str, Dataset]] | None = field(default=None, init=False)
    target: Target | None = field(default=None, init=False)
    targets: dict[str, Target] = field(default_factory=dict, init=False)
    run_ids: set[str] = field(default_factory=set, init=False)
    inputs: Inputs = field(default_factory=Inputs, init=False)
    abort_on: Sequence[Condition] = field(default=(), init=False)
    after_run: Callable[[Target, Profile, RunFolder], None] = field(default=lambda *_: None, init=False)

    @abstractmethod
    def prepare(self, variant: Variant) -> frozenset[Hashable]:
        """Set `target` to what the variant needs; each of its processes with the way in which it is used."""

    def add(self, profiles: Mapping[str, Profile], datasets: Mapping[str, Dataset]) -> None:
        """Have other variants run as well from here on, as drains of the first part."""
        self.profiles = {**self.profiles, **profiles}
        self.datasets = {**self.datasets, **datasets}

    def replace(self, profiles: Mapping[str, Profile], datasets: Mapping[str, Dataset]) -> None:
        """Run the variants with other profiles from here on, but for short runs; the kept indices are the same."""
        self.resized = (profiles, datasets)

    @abstractmethod
    def restart(self) -> None:
        """Stop all servers that only the suite uses, so that the next run has others."""

    @abstractmethod
    def change_part(self, before: str, after: str) -> None:
        """Stop the servers of a part that the next one does not use as they are."""

    def run(self, variant: Variant, folder: RunFolder, **how: Unpack[RunOptions]) -> Result:
        """Run the variant once on the servers that `prepare` gave it, and leave nothing of it in them."""
        self.record(variant, folder, **how)
        return self.concluded(variant, folder, short=how["short"])

    def inputs_of(self, variant: Variant, *, short: bool) -> tuple[Profile, Dataset]:
        """Profile and dataset of the next run of a variant."""
        stated = (self.profiles, self.datasets)
        profiles, datasets = stated if short or self.resized is None else self.resized
        return profiles[variant.name], datasets[variant.name]

    def record(
        self,
        variant: Variant,
        folder: RunFolder,
        *,
        warm_up: bool,
        short: bool,
        display: AbstractContextManager[RunProgress],
        gate: Gate = open_gate,
    ) -> None:
        """Run the variant once, and leave nothing of it in the servers."""
        assert self.target is not None  # noqa: S101 - `prepare` comes first
        profile, dataset = self.inputs_of(variant, short=short)
        self.run_ids.add(folder.run_id)
        self.targets[self.target.endpoints.connect_url] = self.target
        target = replace(self.target, fresh=warm_up, kept=self.kept, run_ids=frozenset(self.run_ids))
        self.inputs.forget_broken(profile, dataset, target.endpoints)
        try:
            request = RunRequest(
                profile,
                dataset,
                target,
                folder,
                command=self.command,
                inputs=self.inputs,
                gate=gate,
                # Cold servers are slow, and a run of them counts for nothing.
                abort_on=() if warm_up else self.abort_on,
            )
            write_records(request, display)
            self.after_run(target, profile, folder)
        finally:
            remove_traces(target, profile, folder.run_id, kept=self.inputs.topic_names)

    def concluded(self, variant: Variant, folder: RunFolder, *, short: bool) -> Result:
        """Result and report of a run's records."""
        assert self.target is not None  # noqa: S101 - the run had one
        result = conclude(folder).result
        if result.status != "verified":
            self.inputs.forget(*self.inputs_of(variant, short=short), self.target.endpoints)
        return result

    @cached_property
    def kept(self) -> frozenset[str]:
        """The kept indices that variants of the suite read."""
        reading = {name: profile for name, profile in self.profiles.items() if not profile.load.fills_index}
        names = (kept_index(profile, self.datasets[name], ROOT) for name, profile in reading.items())
        return frozenset(filter(None, names))

    def leave(self) -> None:
        """Remove what runs of the suite have made and shared in servers that stay after it."""
        for target in self.targets.values():
            if self.kept:
                remove_kept(target, self.kept, self.run_ids)
            with contextlib.suppress(StackError):
                topics = topics_of(target.endpoints)
                topics.delete(sorted(self.made_topics() & set(topics.names())))

    def made_topics(self) -> set[str]:
        """What the topics are called that runs of the suite have made, those before it was interrupted included."""
        names = (Names.of(profile, run_id) for profile in self.profiles.values() for run_id in self.run_ids)
        return {topic for each in names for topic in (*each.topics, each.dead_letter_topic)}


@dataclass
class StartedBench(VariantBench):
    """Servers that are started for a suite.

    As many Elasticsearch nodes run as any variant of the part on the same servers needs. A variant with fewer gets the
    first ones: the others hold no shard and are sent no request. Stopping them instead would mean a cold JVM each time
    they come back, whose warm-up is a larger effect than most that a suite looks for.

    Attributes:
        parts: Variant → the part of the suite that it is of.
        start: `Servers.target` of the servers.
        stop: `Servers.stop` of the servers.
    """

    parts: Mapping[str, str]
    start: Callable[[Profile, Iterable[Profile]], Target]
    stop: Callable[[], None]

    def add(self, profiles: Mapping[str, Profile], datasets: Mapping[str, Dataset]) -> None:
        """Have other variants run as well from here on, on servers of the first part."""
        super().add(profiles, datasets)
        self.parts = {**self.parts, **dict.fromkeys(profiles, "")}

    def restart(self) -> None:
        """Stop all servers that only the suite uses; topics that were in them are filled anew."""
        self.stop()

    def change_part(self, before: str, after: str) -> None:
        """Stop them if the next part needs others; nodes alone are added and removed, and all else stays warm."""
        shapes = [
            {server_shape(self.profiles[name]) for name, part in self.parts.items() if part == wanted}
            for wanted in (before, after)
        ]
        if shapes[0] != shapes[1]:
            self.stop()

    def prepare(self, variant: Variant) -> frozenset[Hashable]:
        """Have the servers that the variant needs; each of their processes with the way in which it is used."""
        profile = self.profiles[variant.name]
        used = profile.elasticsearch.data_nodes
        beside = [self.profiles[other] for other, part in self.parts.items() if part == variant.part]
        alike = (other for other in beside if server_shape(other) == server_shape(profile))
        nodes = max(other.elasticsearch.data_nodes for other in alike)
        shape = profile.elasticsearch.model_copy(update={"data_nodes": nodes})
        whole = self.start(profile.model_copy(update={"elasticsearch": shape}), beside)
        names = ",".join(map(node_name, range(1, used + 1)))
        # Of the index and not of the cluster, which would move what other variants keep there.
        self.target = replace(narrowed(whole, used), index_settings={INCLUDED: names} if used < nodes else {})
        return frozenset((variant.way, server.pid) for server in self.target.servers)


def narrowed(target: Target, data_nodes: int) -> Target:
    """The target with only its first Elasticsearch nodes."""
    whole = target.endpoints
    used = {node_name(number) for number in range(1, data_nodes + 1)}

    def is_used(name: str) -> bool:
        return name in used or not name.startswith(node_name(1).rstrip("1"))

    sink = dict(target.access.sink)
    if ELASTICSEARCH_URLS in sink:
        sink[ELASTICSEARCH_URLS] = ",".join(sink[ELASTICSEARCH_URLS].split(",")[:data_nodes])
    containers = target.containers
    if containers is not None:
        names = {server: name for server, name in containers.names.items() if is_used(server)}
        containers = replace(containers, names=names)
    return replace(
        target,
        endpoints=replace(
            whole, elasticsearch_urls=whole.elasticsearch_urls[:data_nodes], access=replace(whole.access, sink=sink)
        ),
        process_ids=lambda: {name: pid for name, pid in target.process_ids().items() if is_used(name)},
        servers=[server for server in target.servers if is_used(server.name)],
        containers=containers,
    )
