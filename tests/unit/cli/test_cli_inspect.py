"""`sluice inspect`: how it is called, and what it refuses before it looks."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from lab.cli import inspect as command
from lab.cli.app import main
from lab.endpoints import Endpoints
from lab.errors import ProfileError

TARGET = """\
kafka: {bootstrap_servers: 'broker:9092'}
connect: {url: 'http://connect:8083'}
elasticsearch: {urls: ['http://es:9200']}
"""


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Endpoints, str]]:
    """Endpoints and connectors of the looks, none of which finds its connector."""
    looks: list[tuple[Endpoints, str]] = []

    def look(endpoints: Endpoints, name: str, **_: object) -> None:
        looks.append((endpoints, name))
        raise ProfileError("no such connector")

    monkeypatch.setattr(command, "look", look)
    return looks


def called(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """The exit status of the command."""
    monkeypatch.setattr("sys.argv", ["sluice", "inspect", *words])
    return main()


def test_a_target_file_is_enough_to_say_where_the_servers_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looked: list[tuple[Endpoints, str]]
) -> None:
    """Without `--target remote` beside it; an unknown connector is wrong input."""
    file = tmp_path / "target.yaml"
    file.write_text(TARGET)

    assert called(monkeypatch, "orders", "--target-file", str(file)) == 2
    ((endpoints, name),) = looked
    assert (name, endpoints.connect_url) == ("orders", "http://connect:8083")


@pytest.mark.parametrize(
    "words",
    [("--as-profile", "../x"), ("--seconds", "1"), ("--documents", "0"), ("--target-file", "none.yaml")],
)
def test_wrong_options_are_refused_before_it_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looked: list[tuple[Endpoints, str]], words: tuple[str, str]
) -> None:
    """Exit status 2."""
    monkeypatch.chdir(tmp_path)

    assert called(monkeypatch, "orders", *words) == 2
    assert looked == []


def test_a_name_with_brackets_is_shown_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And not taken for markup, some of which would end the command."""
    file = tmp_path / "target.yaml"
    file.write_text(TARGET)

    def look(_: Endpoints, name: str, *, on_begin: Callable[[object], None], **__: object) -> None:
        on_begin(SimpleNamespace(name=name))
        raise ProfileError("seen enough")

    monkeypatch.setattr(command, "look", look)
    assert called(monkeypatch, "odd[/red]", "--target-file", str(file)) == 2
    assert "watching odd[/red] for 20 s" in capsys.readouterr().out
