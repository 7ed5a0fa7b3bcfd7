"""What the `docker` command says of containers, and what is made of its failures."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from lab.errors import StackError
from lab.stack.compose import ComposeProject, Container, container_of, failure

TOLD: dict[str, Any] = {
    "Name": "/sluice-elasticsearch-1",
    "State": {"Pid": 4099},
    "Config": {
        "Image": "docker.elastic.co/elasticsearch/elasticsearch:8.19.21",
        "Labels": {"com.docker.compose.service": "elasticsearch"},
    },
    "NetworkSettings": {
        "Ports": {"9200/tcp": [{"HostIp": "127.0.0.1", "HostPort": "49153"}], "9300/tcp": None},
    },
    "HostConfig": {"Memory": 1_610_612_736},
}


def program(folder: Path, script: str) -> ComposeProject:
    """A project whose `docker` is this script."""
    docker = folder / "docker"
    docker.write_text(f"#!/bin/sh\n{script}\n")
    docker.chmod(0o755)
    return ComposeProject(folder, {"PATH": f"{folder}:/usr/bin:/bin"})


def test_a_container_is_what_the_engine_says_of_it() -> None:
    """A port that is not published is none."""
    assert container_of(TOLD) == Container(
        service="elasticsearch",
        name="sluice-elasticsearch-1",
        pid=4099,
        image="docker.elastic.co/elasticsearch/elasticsearch:8.19.21",
        ports={9200: 49153},
        memory_bytes=1_610_612_736,
    )


def test_no_limit_is_no_number() -> None:
    """The engine says 0."""
    assert container_of({**TOLD, "HostConfig": {"Memory": 0}}).memory_bytes is None


def test_without_the_program_it_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the way around it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StackError) as error:
        ComposeProject(tmp_path, {"PATH": str(tmp_path)}).containers()
    assert str(error.value) == (
        "docker: cannot be run (No such file or directory), expected Docker with Compose 2.31 or newer; install "
        "it, or run without --target compose"
    )


def test_without_compose_it_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not the help of a program that takes the options for its own."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(StackError) as error:
        program(tmp_path, 'echo "unknown flag: $3" >&2; exit 125').containers()
    assert str(error.value) == (
        "docker: has no `docker compose`, expected Docker with Compose 2.31 or newer; install it, or run without "
        "--target compose"
    )


def test_a_failure_is_the_last_that_the_program_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what it said before is kept for whoever looks into it."""
    project = program(
        tmp_path, "[ $2 = version ] && exit 0; echo first >&2; echo 'Cannot connect to the Docker daemon' >&2; exit 1"
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(StackError) as error:
        project.containers()
    assert str(error.value) == "docker compose ps: Cannot connect to the Docker daemon"
    assert error.value.log_lines == ("first", "Cannot connect to the Docker daemon")


def test_a_failure_without_words_has_its_exit_status() -> None:
    """There is nothing else to say."""
    assert failure("docker compose up", 137, []) == "docker compose up: ended with exit status 137"


@pytest.mark.parametrize(
    "sentence",
    [
        "dependency failed to start: container sluice-kafka-1 is unhealthy",
        "container sluice-kafka-1 exited (1)",
        """Container sluice-kafka-1  service "kafka" didn't complete successfully: exit 1""",
    ],
)
def test_a_service_that_does_not_start_is_shown_with_the_end_of_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentence: str
) -> None:
    """Compose itself only says which one it was."""
    script = (
        '[ "$2" = version ] && exit 0\n'
        'if [ "$1" = logs ]; then echo "log of $4: no room"; exit 0; fi\n'
        f"echo {shlex.quote(sentence)}; echo; echo $HEAP is too much; exit 1"
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    lines: list[str] = []
    with pytest.raises(StackError) as error:
        program(tmp_path, script).up(["kafka"], {"HEAP": "7m"}, lines.append)
    assert str(error.value) == "docker compose up: 7m is too much"
    assert error.value.log_lines == ("log of sluice-kafka-1: no room",)
    assert lines == [sentence, "7m is too much"]


def test_a_container_that_vanished_while_compose_made_it_anew_is_looked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once: what is missing then is missing."""
    script = (
        "echo up >>calls\n"
        'if [ "$(wc -l <calls)" = 1 ]; then echo "Error response from daemon: No such container: 7f"; exit 1; fi\n'
        "echo started"
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    lines: list[str] = []
    program(tmp_path, script).up(["kafka"], {}, lines.append)
    assert lines == ["Error response from daemon: No such container: 7f", "started"]


def test_an_engine_on_another_machine_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ports of its containers are there, not here."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(StackError) as error:
        program(tmp_path, "echo ssh://lab@example.org").engine()
    assert str(error.value) == (
        "docker: got an engine at ssh://lab@example.org, expected one on this machine (unix:// or tcp://)"
    )
