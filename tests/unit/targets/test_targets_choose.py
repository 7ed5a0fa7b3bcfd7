"""Where the servers are that a command uses, and what a suite makes of servers that cannot be changed."""

from pathlib import Path

import pytest

from lab import errors
from lab.cli.suite import fitted
from lab.errors import ProfileError
from lab.profiles import Profile, load_profile
from lab.profiles.suites import Suite, SuiteVariant
from lab.targets import TargetName, choose
from lab.targets.choose import TARGET_FILE, remote_endpoints, servers_of
from lab.targets.local import Local
from lab.targets.remote import Remote
from lab.targets.servers import check_codecs, check_fields, check_mode, override_refusals
from tests.unit.messages import MakeMessage


class Fixed(Local):
    """Servers with one node."""

    def _fitted(self, profile: Profile) -> Profile:
        """The profile, of which it is written down that it ran on them."""
        if profile.elasticsearch.data_nodes != 1:
            raise ProfileError("two.yaml:3: elasticsearch.data_nodes: got 2, expected 1\ntwo.yaml:4: and so on")
        return profile.model_copy(update={"elasticsearch": profile.elasticsearch.model_copy(update={"heap_mb": 7919})})


def a_suite(*, repetition: str | None = None, **nodes: int) -> Suite:
    """A suite of variants with so many nodes, the first of them its control; each against the one before."""
    names = list(nodes)
    variants = tuple(
        SuiteVariant(name, load_profile("quickstart", overrides=[f"elasticsearch.data_nodes={count}"]), (), against)
        for (name, count), against in zip(nodes.items(), [None, *names], strict=False)
    )
    return Suite(
        "ladder", "Which?", names[0], repetition, variants, 3, 1, (("indexing_rate_docs_per_s", "total"),), None
    )


def test_a_suite_is_planned_with_the_servers_as_they_are() -> None:
    """So that its plan says what its runs will have."""
    chosen, skipped = fitted(a_suite(first=1, second=1), Fixed())
    assert skipped == {}
    assert [variant.profile.elasticsearch.heap_mb for variant in chosen.variants] == [7919, 7919]


def test_a_variant_that_cannot_run_is_left_out_and_so_is_what_is_compared_with_it(message: MakeMessage) -> None:
    """Each with its reason, in one line."""
    chosen, skipped = fitted(a_suite(first=1, fourth=1, second=2, third=1), Fixed())
    assert skipped == {
        "second": message("two.yaml:3: elasticsearch.data_nodes", 2, 1, "two.yaml:4"),
        "third": message("second"),
    }
    assert len(chosen.variants) == 4


def test_a_suite_of_which_only_the_control_can_run_is_refused(message: MakeMessage) -> None:
    """Nothing could be compared, but the control with itself."""
    with pytest.raises(ProfileError) as error:
        fitted(a_suite(first=1, again=1, second=2, third=1, repetition="again"), Fixed())
    assert str(error.value) == message("two.yaml:3", "elasticsearch.data_nodes", 2, 1, "two.yaml:4")


def test_a_suite_whose_control_cannot_run_is_refused(message: MakeMessage) -> None:
    """Nothing could be compared."""
    with pytest.raises(ProfileError) as error:
        fitted(a_suite(first=2, second=1), Fixed())
    assert str(error.value) == message("two.yaml:3", "elasticsearch.data_nodes", 2, 1, "two.yaml:4")


def test_servers_of_this_machine_fit_every_profile() -> None:
    """They are started as it asks for them."""
    profile = load_profile("quickstart")
    assert Local().fitted(profile) is profile
    assert isinstance(servers_of(TargetName.LOCAL, None), Local)


@pytest.mark.parametrize(
    ("setting", "fact"),
    [
        ("consumer.override.max.pol.records=7", "max.poll.records"),
        ("producer.override.sasl.jaas.config=x", "lab/stack/kafka.py"),
        ("admin.override.bootstrap.servers=x", "lab/stack/kafka.py"),
    ],
)
def test_what_the_worker_would_not_let_a_connector_override_is_refused_at_its_key(
    setting: str, fact: str, message: MakeMessage
) -> None:
    """Before a server is started, which would refuse the connector only then, and without a remedy."""
    name, _, value = setting.partition("=")
    plain = load_profile("quickstart")
    # Not by an override: a key that Kafka does not have is refused before there is a profile.
    sink, where = plain.sink.model_copy(update={"config": {name: value}}), {f"sink.config.{name}": "--set"}
    profile = plain.model_copy(update={"sink": sink, "where": {**plain.where, **where}})
    (sentence,) = override_refusals(profile)
    assert sentence == message(f"--set: sink.config.{name}", fact)
    with pytest.raises(ProfileError) as error:
        Local().fitted(profile)
    assert str(error.value) == sentence


def test_a_file_without_remote_servers_is_refused(message: MakeMessage) -> None:
    """Else somebody would measure this machine and believe it was another."""
    with pytest.raises(ProfileError) as error:
        servers_of(TargetName.LOCAL, Path("target.yaml"))
    assert str(error.value) == message("--target-file", "target.yaml")


def test_the_file_may_be_named_by_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The option wins over it."""
    monkeypatch.delenv(TARGET_FILE, raising=False)
    read: list[tuple[Path | None, bool]] = []
    monkeypatch.setattr(choose, "load_remote", lambda file, *, needs_connect: read.append((file, needs_connect)))
    remote_endpoints(None)
    monkeypatch.setenv(TARGET_FILE, "named.yaml")
    remote_endpoints(None)
    remote_endpoints(Path("given.yaml"), needs_connect=False)
    assert read == [(None, True), (Path("named.yaml"), True), (Path("given.yaml"), False)]


def test_servers_of_others_are_those_of_the_file(tmp_path: Path) -> None:
    """The file is read at once, so that a wrong one is told before anything else is done."""
    file = tmp_path / "target.yaml"
    addresses = ("kafka: {bootstrap_servers: k.example:9092}", "connect: {url: http://c.example:8083}")
    file.write_text("\n".join((*addresses, "elasticsearch: {urls: http://es.example:9200}")))
    servers = servers_of(TargetName.REMOTE, file)
    assert isinstance(servers, Remote)
    assert servers.endpoints().elasticsearch_urls == ("http://es.example:9200",)


def test_containers_need_a_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files describe them; an installed Sluice has none."""
    monkeypatch.setattr(choose, "ComposeProject", lambda: "the checkout's")
    monkeypatch.setattr(choose, "Compose", lambda project: ("compose", project))
    assert servers_of(TargetName.COMPOSE, None) == ("compose", "the checkout's")
    monkeypatch.setattr(errors, "IS_CHECKOUT", False)
    with pytest.raises(ProfileError):
        servers_of(TargetName.COMPOSE, None)


@pytest.mark.parametrize("codec", ["index.codec=legacy_best_compression", "load.codec_before=legacy_best_compression"])
def test_a_version_without_the_codec_is_refused(codec: str, message: MakeMessage) -> None:
    """7.17.7 refuses the name; 8.19.21 and 9.5.3 take it, so that deflate and zstd can be compared on one version."""
    key, _, name = codec.partition("=")
    asked = ("load.route=rewritten", "load.codec_before=default", codec)
    fitting = load_profile("events/queries", overrides=(*asked, "elasticsearch.version=9.5.3"))
    check_codecs(fitting)
    with pytest.raises(ProfileError) as refused:
        check_codecs(load_profile("events/queries", overrides=(*asked, "elasticsearch.version=7.17.7")))
    assert str(refused.value) == message(key, name, "7.17.7", "default", "best_compression")


@pytest.mark.parametrize("codec", ["legacy_default", "best_speed"])
def test_a_codec_that_opensearch_does_not_have_is_refused(codec: str, message: MakeMessage) -> None:
    """Those of a plugin it may have: only the server knows."""
    check_codecs(load_profile("events/queries", overrides=("opensearch=3.0.0", "index.codec=zlib")))
    with_plugin = load_profile("events/queries", overrides=("opensearch=3.0.0", "index.codec=zstd"))
    check_codecs(with_plugin)
    with pytest.raises(ProfileError) as error:
        check_codecs(with_plugin, plugins=False)
    assert str(error.value) == message("zstd")
    legacy = load_profile("events/queries", overrides=("opensearch=3.0.0",))
    legacy = legacy.model_copy(update={"index": {**legacy.index, "codec": codec}})
    with pytest.raises(ProfileError) as refused:
        check_codecs(legacy)
    assert str(refused.value) == message("index.codec", codec, "3.0.0", "default", "best_compression")


@pytest.mark.parametrize(("profile", "line"), [("events/columnar", 7), ("events/logsdb-columnar", 4)])
def test_an_index_mode_that_a_version_lacks_is_refused_with_the_first_that_has_it(
    profile: str, line: int, message: MakeMessage
) -> None:
    """At its place, before any server starts; a suite leaves such a variant out."""
    check_mode(load_profile(profile))
    check_mode(load_profile("events/logsdb", overrides=("elasticsearch.version=8.17.4",)))
    with pytest.raises(ProfileError) as refused:
        check_mode(load_profile(profile, overrides=("elasticsearch.version=9.0.0",)))
    assert str(refused.value) == message(f"{profile}.yaml:{line}: index.mode", "9.0.0", "9.5")


def test_a_mapping_with_vectors_is_refused_for_opensearch(message: MakeMessage) -> None:
    """Before any server starts; a suite leaves such a variant out."""
    check_fields(load_profile("vectors/append"))
    check_fields(load_profile("events/queries", overrides=("opensearch=3.0.0",)))
    with pytest.raises(ProfileError) as refused:
        check_fields(load_profile("vectors/append", overrides=("opensearch=3.0.0",)))
    assert str(refused.value) == message("mapping: vectors.hnsw", "dense_vector", "3.0.0")
