"""Which profiles the containers of a checkout can run, and what they are told."""

import json
from pathlib import Path
from typing import Any

import pytest

from lab.errors import ProfileError
from lab.profiles import load_profile, profile_names
from lab.stack.compose import ComposeProject
from lab.targets.compose import Compose, variables_of
from tests.unit.messages import MakeMessage


def project(folder: Path, sink: str = "sluice", brokers: int = 1, **settings: str) -> ComposeProject:
    """A project whose Compose files say this of Elasticsearch, of the worker and of the brokers."""
    said: dict[str, Any] = {
        "services": {
            "elasticsearch": {"environment": {name.replace("__", "."): value for name, value in settings.items()}},
            "connect": {"build": {"args": {"SINK": sink}}},
            "kafka-2": {"scale": brokers - 1},
        }
    }
    docker = folder / "docker"
    docker.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(said)}\nEND\n")
    docker.chmod(0o755)
    return ComposeProject(folder, {"PATH": f"{folder}:/usr/bin:/bin"})


@pytest.fixture(autouse=True)
def _found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program is looked for where this process looks."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")


def test_a_profile_runs_as_it_is(tmp_path: Path) -> None:
    """Containers are started as it asks for them."""
    profile = load_profile("quickstart", overrides=["elasticsearch.data_nodes=3"])
    assert Compose(project(tmp_path)).fitted(profile) is profile


@pytest.mark.parametrize(
    ("override", "facts"),
    [
        (
            "elasticsearch.node_settings={node.processors: 1}",
            ("quickstart: elasticsearch.node_settings", "experiments/profiles", "./sluice compose-env", "--target"),
        ),
        (
            "sink.config={connector.class: org.example.TheirSink}",
            ("sink.connector", "SINK=sluice", "org.example.TheirSink", "--target"),
        ),
        (
            "elasticsearch.data_nodes=5",
            ("elasticsearch.data_nodes", 5, 4, "compose.yaml", "--target"),
        ),
        (
            "opensearch=3.0.0",
            ("opensearch", "3.0.0", "--target"),
        ),
        (
            "elasticsearch.distribution=official",
            ("elasticsearch.distribution", "official", "--target compose"),
        ),
        (
            "sink.command=[no-such-program]",
            ("sink.command",),
        ),
    ],
)
def test_what_containers_do_not_have_is_refused(
    tmp_path: Path, override: str, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """With one sentence."""
    with pytest.raises(ProfileError) as error:
        Compose(project(tmp_path)).fitted(load_profile("quickstart", overrides=[override]))
    assert str(error.value) == message(*facts)


def test_a_pause_of_containers_is_refused(tmp_path: Path, message: MakeMessage) -> None:
    """Before any of them starts."""
    with pytest.raises(ProfileError) as error:
        Compose(project(tmp_path)).fitted(load_profile("pipelines/pause"))
    assert str(error.value) == message("pipelines/pause", "load.pause", "--target local")


def test_a_connector_that_the_image_is_built_with_is_there(tmp_path: Path) -> None:
    """`SINK` says which."""
    theirs = load_profile("quickstart", overrides=["sink.config={connector.class: io.confluent.connect.TheirSink}"])
    assert Compose(project(tmp_path, sink="confluent")).fitted(theirs) is theirs


def test_a_project_that_asks_who_is_there_is_refused(tmp_path: Path, message: MakeMessage) -> None:
    """With the other way to it."""
    secured = project(tmp_path, xpack__security__enabled="true")
    with pytest.raises(ProfileError) as error:
        Compose(secured).fitted(load_profile("quickstart"))
    assert str(error.value) == message("--target compose", "compose/secure.yaml")


def test_a_project_of_several_brokers_is_refused(tmp_path: Path, message: MakeMessage) -> None:
    """A run would start one of them, which waits for the others for ever."""
    with pytest.raises(ProfileError) as error:
        Compose(project(tmp_path, brokers=2)).fitted(load_profile("quickstart"))
    assert str(error.value) == message("--target compose", "compose/cluster.yaml")


def test_the_containers_are_told_what_the_profile_asks_for() -> None:
    """Whatever experiment `.env` chooses: its node settings must not get among those of the run."""
    variables = variables_of(load_profile("quickstart", overrides=["elasticsearch.heap_mb=509"]))
    assert variables["EXPERIMENT"] == "quickstart"
    assert (variables["ELASTICSEARCH_HEAP"], variables["ELASTICSEARCH_2"]) == ("509m", "0")


@pytest.mark.parametrize(("name", "version"), [("quickstart", ""), ("sink/rally", "7.17.7")])
def test_a_run_gets_the_locked_image_of_the_default_version(name: str, version: str) -> None:
    """As `docker compose up` does: a version, even the same one, would replace the digest. Empty, it hides `.env`'s."""
    assert variables_of(load_profile(name))["ELASTICSEARCH_VERSION"] == version


def test_a_limit_of_memory_is_that_of_the_container() -> None:
    """In place of one that follows from the heap."""
    profile = load_profile("quickstart")
    bounded = profile.elasticsearch.model_copy(update={"memory_limit_mb": 1213})
    variables = variables_of(profile.model_copy(update={"elasticsearch": bounded}))
    assert variables["ELASTICSEARCH_MEMORY"] == "1213m"


def test_a_bound_of_a_containers_disk_is_refused(tmp_path: Path, message: MakeMessage) -> None:
    """Its disk is not known here."""
    profile = load_profile("quickstart")
    bounded = profile.elasticsearch.model_copy(update={"read_iops_limit": 500})
    with pytest.raises(ProfileError) as error:
        Compose(project(tmp_path)).fitted(profile.model_copy(update={"elasticsearch": bounded}))
    assert str(error.value) == message("elasticsearch.read_iops_limit", 500, "--target")


def test_node_settings_are_read_from_the_files_of_their_profile(tmp_path: Path) -> None:
    """Those that `compose-env` has written."""
    names = [name for name in profile_names() if name != "file"]
    profiles = [profile for profile in map(load_profile, names) if profile.elasticsearch.node_settings]
    for profile in profiles:
        assert variables_of(profile)["EXPERIMENT"] == profile.name
        Compose(project(tmp_path)).fitted(profile)
