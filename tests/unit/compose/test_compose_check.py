"""The check of a release, as far as it needs no engine."""

from pathlib import Path

import pytest

from lab.profiles.containers import DEFAULT_VERSION
from tests.compose.engine import DockerError, Engine
from tools.compose_check import WAYS, Case, Table, case_of, check

NOBODY = Engine("unix:///nowhere/docker.sock", Path("/nowhere"))


@pytest.mark.parametrize("name", WAYS)
def test_every_way_up_names_its_files(name: str) -> None:
    """Or the checkout's `.env` would choose them, and another way be checked than the table says."""
    files = case_of(NOBODY, "9.5.3", name, {}).project.settings["COMPOSE_FILE"]
    assert files.split(":")[0] == "compose.yaml"


@pytest.mark.parametrize(("version", "named"), [(DEFAULT_VERSION, ""), ("9.5.3", "9.5.3")])
def test_the_default_version_is_checked_as_it_is_locked(version: str, named: str) -> None:
    """A version, even the same one, would replace the digest that a user gets."""
    settings = case_of(NOBODY, version, "default", {}).project.settings
    assert (settings["ELASTICSEARCH_VERSION"], settings["OBSERVER_VERSION"]) == (named, named)


def test_what_the_engine_refuses_is_a_row_of_the_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What comes after it is still tried."""

    def refused(case: Case) -> str:
        raise DockerError(f"docker inspect: refused {case.version}")

    for name in ("pulled", "built", "up", "verified", "monitored", "memory", "down"):
        monkeypatch.setattr(Case, name, lambda _: "ok")
    monkeypatch.setattr(Case, "unharmed", refused)
    monkeypatch.setattr("tests.compose.project.Project.remove", lambda _: None)
    table = Table()
    check(case_of(NOBODY, "9.5.3", "default", {}), "default", table, pull=True)
    assert table.failed == 1
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "| 9.5.3, default | no container was killed or restarted | **FAILED** | docker inspect: refused 9.5.3 |",
        "| 9.5.3, default | each has memory to spare | held | ok |",
        "| 9.5.3, default | `down --volumes` leaves nothing | held | ok |",
    ]
