"""What profiles ask of the containers, and that the files of the repository say the same."""

from pathlib import Path

import pytest

from lab.errors import ProfileError
from lab.profiles import load_profile
from lab.profiles.containers import FOLDER, env_files, env_text, environment, memory_file, node_settings
from lab.profiles.memory import limit_mb
from lab.stack.places import ROOT
from tests.unit.messages import MakeMessage


def test_a_profile_decides_nodes_version_memory_and_rate() -> None:
    """Three nodes of another version and heap, and a stream: all of it stands in the file."""
    overrides = (
        "elasticsearch.version=7.17.7",
        "elasticsearch.data_nodes=3",
        "elasticsearch.heap_mb=700",
        "load.mode=stream",
        "load.rate_docs_per_s=1009",
    )
    assert env_text("quickstart", environment(load_profile("quickstart", overrides=overrides))).splitlines() == [
        "# Made by `./sluice compose-env` from experiments/profiles/quickstart.yaml; do not edit.",
        "ELASTICSEARCH_VERSION=7.17.7",
        "ELASTICSEARCH_HEAP=700m",
        f"ELASTICSEARCH_MEMORY={limit_mb('elasticsearch', 700)}m",
        "ELASTICSEARCH_NODES=3",
        "ELASTICSEARCH_BOOTSTRAP=elasticsearch-1",
        "ELASTICSEARCH_URLS=http://elasticsearch:9200,http://elasticsearch-2:9200,http://elasticsearch-3:9200",
        "ELASTICSEARCH_2=1",
        "ELASTICSEARCH_3=1",
        "ELASTICSEARCH_4=0",
        "RATE=1009",
    ]


def test_node_settings_are_text_as_elasticsearch_reads_it() -> None:
    """Numbers, truth values and lists."""
    overrides = (
        "elasticsearch.node_settings.thread_pool.write.size=1",
        "elasticsearch.node_settings.node.store.allow_mmap=false",
        "elasticsearch.node_settings.reindex.remote.whitelist=[a:9200, b:9200]",
    )
    assert node_settings(load_profile("quickstart", overrides=overrides)) == {
        "thread_pool.write.size": "1",
        "node.store.allow_mmap": "false",
        "reindex.remote.whitelist": "a:9200,b:9200",
    }


@pytest.mark.parametrize("value", ["[]", "''"])
def test_a_node_setting_without_a_value_is_refused(value: str, message: MakeMessage) -> None:
    """Elasticsearch from 8 on does not start with one."""
    profile = load_profile("quickstart", overrides=(f"elasticsearch.node_settings.path.repo={value}",))
    with pytest.raises(ProfileError) as error:
        node_settings(profile)
    assert str(error.value) == message("elasticsearch.node_settings.path.repo")


def test_every_way_to_form_a_cluster_has_its_file() -> None:
    """The experiment names it, and Docker Compose refuses a file that is missing."""
    named = {
        environment(load_profile("quickstart", overrides=(f"elasticsearch.data_nodes={count}",)))[
            "ELASTICSEARCH_BOOTSTRAP"
        ]
        for count in (1, 2)
    }
    assert {path.stem for path in (ROOT / "compose" / "bootstrap").iterdir()} == named


def test_the_files_of_the_repository_are_those_of_its_profiles() -> None:
    """`./sluice compose-env` was called after the last change of a profile, and nothing else lies there."""
    present = {path.relative_to(ROOT): path.read_text() for path in (ROOT / FOLDER).rglob("*.env")}
    assert present == dict(env_files(ROOT))


def test_a_profile_s_own_limit_holds() -> None:
    """In place of the one that its heap needs."""
    bounded = load_profile("events/queries", overrides=("elasticsearch.memory_limit_mb=1709",))
    assert environment(bounded)["ELASTICSEARCH_MEMORY"] == "1709m"


def test_the_file_of_heaps_and_limits_is_the_one_that_is_computed() -> None:
    """`./sluice compose-env` was called after the last change of a need."""
    path, text = memory_file()
    assert (ROOT / path).read_text() == text


def test_an_experiment_without_node_settings_has_no_file_of_them() -> None:
    """Docker Compose takes the absence of the file for an absence of settings."""
    assert Path("compose/experiments/quickstart.settings.env") not in dict(env_files(ROOT))
    assert Path("compose/experiments/sink/rejecting.settings.env") in dict(env_files(ROOT))
