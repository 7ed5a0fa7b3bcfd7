"""Command lines that are refused, or that only look: no server is started and no folder made for them."""

import io
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.cli.app import main
from lab.cli.produce import client_settings
from lab.display import console
from lab.stack.local import LocalStack
from tests.unit.messages import MakeMessage, Naming

Ended = tuple[int, str, str]
Command = Callable[..., Ended]
SUITE = """
question: Does a second primary shard make small drains faster?
control: one shard
variants:
  - {profile: quickstart, name: one shard}
  - {profile: quickstart, name: two shards, set: {index.number_of_shards: 2}}
set: {dataset.documents: 2003}
repeats: 2
"""


@pytest.fixture
def sluice(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Iterator[Command]:
    """Runs a command line that must neither start a server nor keep a record; its exit status, output and errors."""
    monkeypatch.setattr(LocalStack, "ensure", lambda *_, **__: pytest.fail("a server would have been started"))
    monkeypatch.setattr(console, "width", 200)
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.chdir(tmp_path)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}

    def command(*words: str) -> Ended:
        monkeypatch.setattr("sys.argv", ["sluice", *words])
        status = main()
        written = capsys.readouterr()
        assert "Traceback" not in written.err
        assert not any(tmp_path.glob("runs/*"))
        return status, written.out, written.err

    yield command
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (("quickstrat",), ("quickstrat", "quickstart")),
        (
            ("quickstart", "--set", "index.refresh_intervall=1s"),
            ("--set index.refresh_intervall", "refresh_interval"),
        ),
        (("quickstart", "--set", "mapping=aladin.nested.statik"), ("aladin.nested.static",)),
        (("quickstart", "--dataset", "aladdin"), ("aladin",)),
        (("quickstart", "--documennts", "3"), ("--documennts",)),
        (("file", "--path", "absent.ndjson", "--key", "k"), ("absent.ndjson",)),
        (
            ("sink/drain", "--set", "sink.config={connector.class: com.example.RivalSinkConnector}"),
            ("com.example.RivalSinkConnector",),
        ),
        (("sink/naive-python", "--set", "sink.command=[no-such-pipeline]"), ("no-such-pipeline",)),
        (("sink/drain", "--set", "sink.plugin_path=/plugins/gone"), ("/plugins/gone",)),
        (("pipelines/stream", "--documents", "900"), ("load.stages", "900")),
    ],
    ids=["profile", "key", "mapping", "dataset", "option", "file", "connector", "program", "plugin folder", "stage"],
)
def test_a_run_of_what_is_not_there_is_refused(
    sluice: Command, words: tuple[str, ...], facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Exit status 2, and the nearest name or the one that is missing."""
    status, _, errors = sluice("run", *words)
    assert (status, errors) == (2, message(*facts))


@pytest.mark.parametrize(
    "second_line",
    ["[1, 2]", '{"k": "2"', '{"other": "2"}', '{"k": "2", "text": "' + "x" * 1_100_000 + '"}'],
    ids=["no object", "no JSON", "no key", "over the broker's limit"],
)
def test_a_bad_line_of_a_file_is_named(sluice: Command, tmp_path: Path, second_line: str) -> None:
    """File and line are in the one sentence."""
    path = tmp_path / "bad.ndjson"
    path.write_text('{"k": "1"}\n' + second_line + "\n")
    status, _, errors = sluice("run", "file", "--path", str(path), "--key", "k")
    assert (status, errors.startswith(f"sluice: dataset: {path}:2: "), errors.count("\n")) == (2, True, 1), errors


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (("--dataset", "aladdin"), ("dataset", "aladin")),
        (("--option", "modell=flat"), ("dataset", "model")),
        (("--option", "shops_max=many"), ("--option shops_max", "many")),
        (("--client", "acks"), ("--client acks", "NAME=VALUE")),
        (("--share", "2"), ("--share", 2, "2/5")),
        (("--share", "2/5"), ("--share 2/5", "--start-at")),
        (("--start-at", "soon"), ("--start-at", "soon")),
        (("--start-at", "2020-01-01"), ("--start-at", "2020-01-01")),
        (("--record", "no/such/1.json"), ("--record", "no/such/1.json")),
        (("--path", "no-such.ndjson"), ("dataset: no-such.ndjson",)),
        (("--dataset", "aladin", "--key", "isbn"), ("dataset",)),
        (("--client-file", "no-such"), ("--client-file: no-such",)),
    ],
)
def test_produce_refuses_what_it_does_not_know(
    sluice: Command, words: tuple[str, ...], facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Before it asks a broker, of which there is none."""
    status, _, errors = sluice("produce", "never-made", "--bootstrap-servers", "127.0.0.1:1", *words)
    assert (status, errors) == (2, message(*facts))


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        (b"linger.ms=5\n\n# later\nsasl.username = lab\n", {"linger.ms": "5", "sasl.username": "lab"}),
        (b'{\n "ssl.key.pem": "one\\ntwo",\n "linger.ms": 5\n}', {"ssl.key.pem": "one\ntwo", "linger.ms": "5"}),
        (b"", {}),
    ],
)
def test_client_settings_come_from_a_file_or_from_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes, settings: dict[str, str]
) -> None:
    """In lines, with blank ones among them, or as an object: a key has several lines."""
    file = tmp_path / "client"
    file.write_bytes(text)
    assert client_settings(str(file)) == settings
    with file.open() as standard_input:
        monkeypatch.setattr("sys.stdin", standard_input)
        assert client_settings("-") == settings


def test_a_setting_without_a_value_is_refused_and_not_shown(
    sluice: Command, tmp_path: Path, message: MakeMessage
) -> None:
    """It may be a secret on a line of its own."""
    file = tmp_path / "client.properties"
    file.write_text("# of the lab\n\nsasl.username = lab\nhunter\n")
    words = ("produce", "never-made", "--bootstrap-servers", "127.0.0.1:1", "--client-file", str(file))
    assert sluice(*words) == (2, "", message("--client-file", f"{file}:4", "NAME=VALUE"))


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (("--drivers", "2"), ("--drivers", "--target")),
        (("--drivers", "2", "--driver", "a"), ("--drivers", "--driver")),
        (("--drivers", "2", "--target", "remote"), ("--drivers: quickstart", "load.mode=drain")),
        (("--start-in", "30"), ("--start-in", "--drivers", "--driver")),
    ],
)
def test_drivers_of_what_they_cannot_send_are_refused(
    sluice: Command, words: tuple[str, ...], facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Before the servers are asked for."""
    status, _, errors = sluice("run", "quickstart", *words)
    assert (status, errors) == (2, message(*facts))


def test_profiles_are_listed_and_shown_with_where_each_value_comes_from(sluice: Command) -> None:
    """The list has the quickstart with its question; `show` names file, line and command line."""
    listed, shown = sluice("profiles"), sluice("show", "quickstart", "--set", "topic.partitions=7")
    assert (listed[0], shown[0]) == (0, 0)
    assert "quickstart" in listed[1]
    assert re.search(r"dataset\.name +│ aladin +│ quickstart:\d+", shown[1])
    assert re.search(r"topic\.partitions +│ 7 +│ --set", shown[1])


def test_the_plan_of_a_suite_starts_nothing(sluice: Command, tmp_path: Path) -> None:
    """It prints variants, order and time."""
    path = tmp_path / "shards.yaml"
    path.write_text(SUITE)
    status, output, errors = sluice("suite", str(path), "--plan", "--repeats", "3")
    assert (status, errors) == (0, "")
    assert "9 runs in 3 blocks" in output
    assert "block 3:" in output


def test_without_servers_of_up_there_is_nothing_to_replay(sluice: Command, message: MakeMessage) -> None:
    """And the sentence says what leads there."""
    assert sluice("dead-letters", "show") == (3, "", message("./sluice up"))


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (("show", "--place", "books:7"), ("--place", "books:7", "TOPIC-PARTITION@OFFSET")),
        (("discard",), ("--all", "--reason", "--status", "--place")),
        (("discard", "--all", "--status", "400"), ("--all", "--reason", "--status", "--place")),
        (("replay", "--set", "batch.size"), ("--set batch.size", "NAME=VALUE")),
    ],
)
def test_a_choice_of_dead_letters_that_means_nothing_is_one_sentence(
    sluice: Command, message: MakeMessage, words: tuple[str, ...], facts: tuple[str, ...]
) -> None:
    """Before any server is looked for."""
    assert sluice("dead-letters", *words) == (2, "", message(*facts))


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("run", "quickstart", "--runs", ""), "--runs"),
        (("run", "file", "--path="), "--path"),
        (("report", "latest", "-o", ""), "-o"),
        (("dead-letters", "discard", "--reason", "", "--yes"), "--reason"),
        (("run", ""), "an argument"),
    ],
)
def test_an_empty_value_is_no_value(sluice: Command, message: MakeMessage, words: tuple[str, ...], named: str) -> None:
    """An empty path would be the current folder, and every reason holds an empty text."""
    assert sluice(*words) == (2, "", message(named))


def test_a_note_may_be_taken_away(sluice: Command) -> None:
    """By an empty one; here there is no run that has one."""
    status, _, errors = sluice("label", "latest", "--note", "")
    assert (status, errors) == (2, Naming("latest"))


def test_nothing_is_discarded_where_nobody_can_be_asked(
    sluice: Command, message: MakeMessage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program says so with an option."""
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert sluice("dead-letters", "discard", "--all") == (2, "", message("--yes"))


def test_two_commands_do_not_share_servers_at_once(sluice: Command, tmp_path: Path) -> None:
    """The second is told which process to wait for."""
    with LocalStack(tmp_path / "state").exclusively():
        status, _, errors = sluice("run", "quickstart", "--documents", "11")
    assert (status, errors) == (3, Naming(os.getpid()))
