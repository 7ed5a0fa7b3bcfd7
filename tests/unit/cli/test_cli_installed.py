"""An installed package, which has neither the Compose files nor the tests of a checkout."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from lab import VERSION, console, errors
from lab.analysis.report_page.templates import PAGES
from lab.cli import commands, doctor
from lab.cli.app import app
from lab.errors import ProfileError
from lab.stack.plugin import stamp_file
from lab.targets import TargetName
from lab.targets.choose import servers_of
from lab.targets.servers import typed_command
from tests.unit.messages import MakeMessage


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs these tests is a checkout."""
    for module in (commands, console, errors):
        monkeypatch.setattr(module, "IS_CHECKOUT", False)


@pytest.mark.parametrize("words", [("test",), ("test", "--quick"), ("compose-env",), ("doctor", "--compose")])
def test_what_needs_a_checkout_is_refused_in_a_sentence(words: tuple[str, ...], message: MakeMessage) -> None:
    """With exit status 2, as every input that cannot be right."""
    what = "doctor --compose" if "--compose" in words else words[0]

    done = CliRunner().invoke(app, words)

    assert isinstance(done.exception, ProfileError)
    assert str(done.exception) == message(what)


def test_containers_are_those_of_a_checkout(message: MakeMessage) -> None:
    """Before anything is asked of Docker."""
    with pytest.raises(ProfileError) as refusal:
        servers_of(TargetName.COMPOSE, None)
    assert str(refusal.value) == message("--target compose")


def test_the_help_lists_what_can_be_run() -> None:
    """All but the two that need a checkout."""
    shown = CliRunner().invoke(app, ["--help"]).output.split()
    listed = {name for name in commands.COMMANDS if name in shown}
    assert listed == commands.COMMANDS.keys() - {"compose-env", "test"}


def test_doctor_tells_the_version_of_a_plugin_that_came_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A wheel brings it."""
    stamp = stamp_file(tmp_path / "connect")
    stamp.parent.mkdir(parents=True)
    stamp.write_text("0123456789abcdef")
    monkeypatch.setattr(doctor, "ROOT", tmp_path)

    assert list(doctor.plugin()) == [doctor.Finding("sink plugin", "good", VERSION)]


def test_messages_name_commands_as_they_are_typed(capsys: pytest.CaptureFixture[str]) -> None:
    """In lines, tables and reports."""
    shown = console.PipeProofConsole(highlight=False)
    shown.print("start them with: ./sluice up")
    shown.print(console.table_of([("./sluice down",)]))

    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == [
        "start them with: sluice up",
        "sluice down",
    ]
    assert PAGES.from_string("{{ text }} {{ 7 }}").render(text="./sluice <up>") == "sluice &lt;up&gt; 7"


def test_a_run_records_the_command_as_it_was_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The report shows it to whoever wants to run it again."""
    monkeypatch.setattr("sys.argv", ["/usr/bin/sluice", "run", "quickstart"])
    assert typed_command() == ("sluice", "run", "quickstart")
