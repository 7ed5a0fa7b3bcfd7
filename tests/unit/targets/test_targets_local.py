"""What a profile may ask of the servers of this machine, before any is started."""

from pathlib import Path

import pytest

from lab.engines import Release
from lab.engines.opensearch import OPENSEARCH
from lab.errors import ProfileError
from lab.profiles import Profile, load_profile
from lab.stack.artifacts import read_lock
from lab.stack.local import LocalStack
from lab.stack.shape import StackShape
from lab.targets.local import Local, shape_of
from tests.unit.messages import Naming


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An unpacked OpenSearch 3.1.4 with a JDK."""
    home = tmp_path / "opensearch"
    for name in ("bin/opensearch", "lib/opensearch-3.1.4.jar", "jdk/bin/java"):
        (home / name).parent.mkdir(parents=True)
        (home / name).touch()
    (home / "jdk" / "release").write_text('JAVA_VERSION="24.0.2"\n')
    return home


@pytest.mark.parametrize("overrides", [(), ("opensearch=3.1.4",)], ids=["nothing stated", "the same"])
def test_a_profile_runs_on_the_release_of_its_distribution(
    overrides: tuple[str, ...], stack: LocalStack, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read from the folder, whose absolute path is recorded."""
    monkeypatch.chdir(archive.parent)
    stated = load_profile("quickstart", overrides=("elasticsearch.distribution=opensearch", *overrides))
    profile = Local(stack).fitted(stated)
    assert profile.release == Release(OPENSEARCH, "3.1.4")
    assert shape_of(profile).distribution == str(archive)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("opensearch=3.8.0", "got 3.8.0, expected 3.1.4"),
        ("elasticsearch.version=8.19.21", "got Elasticsearch 8.19.21, expected OpenSearch 3.1.4"),
    ],
    ids=["version", "engine"],
)
def test_another_release_than_that_of_the_distribution_is_refused(
    override: str, message: str, stack: LocalStack, archive: Path
) -> None:
    """Before anything is started."""
    profile = load_profile("quickstart", overrides=(f"elasticsearch.distribution={archive}", override))
    with pytest.raises(ProfileError) as refusal:
        Local(stack).fitted(profile)
    assert str(refusal.value) == f"--set {override.partition('=')[0]}: {message}, which {archive} holds"


def test_a_codec_of_a_plugin_may_be_in_a_distribution(stack: LocalStack, archive: Path) -> None:
    """The small one has no plugins."""
    overrides = (f"elasticsearch.distribution={archive}", "opensearch=3.1.4", "index.codec=zstd")
    assert Local(stack).fitted(load_profile("quickstart", overrides=overrides)).index["codec"] == "zstd"


# --- what is refused before anything is started -----------------------------------------------------------------------


BOUND = {"memory_limit_mb": 3001}


@pytest.mark.parametrize(
    ("overrides", "cluster", "facts"),
    [
        (("elasticsearch.java=11",), {}, ("elasticsearch.java", 11)),
        (("sink.plugin_path=/nowhere",), {}, ("sink.plugin_path", "/nowhere")),
        (("maintain={action: deploy, index_node: elasticsearch-7}",), {}, ("elasticsearch-7",)),
        (("sink.config.producer.override.batch.sizes=0",), {}, ("sink.config.producer.override.batch.sizes",)),
        ((), BOUND, ("elasticsearch.memory_limit_mb", 3001)),
        ((f"opensearch={read_lock().releases(OPENSEARCH)[-1].version}", "index.codec=zstd"), {}, ("index.codec",)),
    ],
    ids=["Java", "plugins", "node", "client", "bound", "codec"],
)
def test_what_this_machine_lacks_is_refused(
    overrides: tuple[str, ...], cluster: dict[str, object], facts: tuple[object, ...], stack: LocalStack
) -> None:
    """The small distributions have no plugins; other modules hold the words."""
    with pytest.raises(ProfileError) as refusal:
        Local(stack).fitted(bounded(load_profile("quickstart", overrides=overrides), cluster))
    assert str(refusal.value) == Naming(*facts)
    assert stack.state() is None


def bounded(profile: Profile, cluster: dict[str, object]) -> Profile:
    """The profile with bounds, which a loaded one has for queries alone."""
    return profile.model_copy(update={"elasticsearch": profile.elasticsearch.model_copy(update=cluster)})


def test_everything_that_this_machine_lacks_is_told_at_once(stack: LocalStack) -> None:
    """A line each."""
    overrides = ("sink.plugin_path=/nowhere", "sink.config.producer.override.batch.sizes=0")
    with pytest.raises(ProfileError) as refusal:
        Local(stack).fitted(bounded(load_profile("quickstart", overrides=overrides), BOUND))
    assert len(str(refusal.value).splitlines()) == 3


def test_the_java_of_an_official_distribution_is_not_judged_beforehand(stack: LocalStack) -> None:
    """Its archive brings one, once it is here."""
    overrides = ("elasticsearch.distribution=official", "elasticsearch.java=11")
    assert Local(stack).fitted(load_profile("quickstart", overrides=overrides)).elasticsearch.java == 11


def test_the_servers_are_those_that_the_profile_asks_for() -> None:
    """Heaps of the broker and of the worker are always the same."""
    overrides = (
        "elasticsearch.version=9.5.3",
        "elasticsearch.java=21",
        "elasticsearch.data_nodes=3",
        "elasticsearch.heap_mb=1013",
        "elasticsearch.node_settings={node.processors: 1}",
        "elasticsearch.distribution=official",
    )
    profile = load_profile("quickstart", overrides=overrides)
    assert shape_of(profile) == StackShape(
        release=profile.release,
        elasticsearch_java=21,
        data_nodes=3,
        elasticsearch_heap_mb=1013,
        node_settings={"node.processors": 1},
        distribution="official",
    )
