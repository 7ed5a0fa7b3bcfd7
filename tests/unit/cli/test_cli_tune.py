"""`sluice tune` and `sluice screen`: what they plan, and what they refuse before anything is started."""

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.cli import beforehand, tune
from lab.cli.app import main
from lab.display import console
from lab.errors import ProfileError, StackError
from lab.monitor.beforehand import Others, Program
from lab.profiles import Profile
from tests.unit.messages import MakeMessage

Ended = tuple[int, str, str]


class Servers:
    """Servers that are never started.

    Args:
        together: Whether there is memory for two sets of them.
        lacking: A setting that they do not have.
    """

    def __init__(self, *, together: bool = False, lacking: str = "") -> None:
        self.together = together
        self.lacking = lacking

    def fitted(self, profile: Profile) -> Profile:
        """As it is, unless it asks for what they lack."""
        if self.lacking and self.lacking in profile.index:
            raise ProfileError(f"index.{self.lacking}: not here")
        return profile

    def may_be_started_anew(self) -> bool:
        """They are only for the command."""
        return True

    def run_together(self, _: object) -> bool:
        """Whether two sets run side by side."""
        return self.together

    @contextlib.contextmanager
    def bench(self, *_: object) -> Iterator[Any]:
        """Another command holds them."""
        raise StackError("another sluice command is using the servers")
        yield


@pytest.fixture
def sluice(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Ended]:
    """Runs `tune`, or another command, in a folder of its own; exit status, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(console, "width", 200)

    def command(*words: str, servers: Servers | None = None, name: str = "tune") -> Ended:
        monkeypatch.setattr(tune, "servers_of", lambda *_: servers or Servers())
        monkeypatch.setattr("sys.argv", ["sluice", name, *words])
        status = main()
        written = capsys.readouterr()
        assert "Traceback" not in written.err
        assert not any(tmp_path.glob("runs/*"))
        return status, written.out, written.err

    return command


def test_a_plan_says_what_will_be_tried_and_what_will_not(sluice: Callable[..., Ended]) -> None:
    """With the reasons, and how long it takes."""
    status, text, _ = sluice("quickstart", "--plan", "--keep", "size<=1.1x")
    words = " ".join(text.split())
    assert status == 0
    for expected in (
        "goal: indexing rate, keeping size<=1.1x",
        "tasks=2 │ topic.partitions=2",
        "refresh_interval=30s",
        "not tried: heap_mb=2048: it needs servers of its own, and this machine has no memory for both sets at once",
        "not tried: translog.durability=async: it is unsafe: acknowledged documents of up to 5 s are lost",
        "to try it: --allow async-translog",
        "candidates mixed at random, then the best side by side, then the choice against the start",
        "about 60 min",
    ):
        assert expected in words
    assert "replicas" not in text, "the start has none, so that there is nothing to weaken"


def test_an_allowed_knob_is_planned_with_its_risk(sluice: Callable[..., Ended]) -> None:
    """By name."""
    _, text, _ = sluice("quickstart", "--plan", "--allow", "async-translog", "--minutes", "90")
    assert "acknowledged documents of up to 5 s are lost when a node crashes" in text
    assert "not tried: translog.durability" not in text


def test_servers_of_its_own_are_tried_where_there_is_memory(sluice: Callable[..., Ended]) -> None:
    """Another heap is another start."""
    _, text, _ = sluice("quickstart", "--plan", servers=Servers(together=True))
    assert "not tried: heap_mb" not in text
    assert "heap_mb=2048" in text


def test_what_servers_lack_is_not_tried(sluice: Callable[..., Ended]) -> None:
    """As a suite leaves it out; the start must run."""
    _, text, _ = sluice("quickstart", "--plan", servers=Servers(lacking="codec"))
    assert "not tried: codec=best_compression: index.codec: not here" in text
    status, _, errors = sluice("quickstart", "--plan", servers=Servers(lacking="number_of_shards"))
    assert (status, errors) == (2, "sluice: index.number_of_shards: not here\n")


def test_little_time_tries_all_candidates(sluice: Callable[..., Ended], message: MakeMessage) -> None:
    """Each run tells something of all of them; what is too short for a block of them is refused."""
    _, short, _ = sluice("quickstart", "--plan", "--minutes", "10")
    _, long, _ = sluice("quickstart", "--plan", "--minutes", "90")
    assert [text.partition("at most")[0] for text in (short, long)] == [long.partition("at most")[0]] * 2
    status, _, errors = sluice("quickstart", "--plan", "--minutes", "3")
    assert (status, errors) == (2, message("--minutes", 3, 9))


def test_a_file_of_ones_own_needs_no_profile(sluice: Callable[..., Ended], tmp_path: Path) -> None:
    """Its documents are the profile `file`'s."""
    path = tmp_path / "books.ndjson"
    path.write_text("".join(json.dumps({"id": number}) + "\n" for number in range(2003)))
    status, text, errors = sluice("--path", str(path), "--key", "id", "--plan")
    assert (status, errors) == (0, "")
    assert "tune file" in text


def test_a_locked_tune_leaves_no_folder(sluice: Callable[..., Ended], message: MakeMessage) -> None:
    """Exit status 3."""
    status, _, errors = sluice("quickstart")
    assert (status, errors) == (3, message("another sluice command"))


SPACE = "question: Which?\nknobs:\n  sink.taks: {values: [2]}\n"


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        ((), ("tune", "--path")),
        (("quickstrat",), ("quickstrat", "quickstart")),
        (("quickstart", "--goal", "speed"), ("--goal", "speed")),
        (
            ("sink/direct", "--goal", "latency at 5000"),
            ("--goal", 5000),
        ),
        (("quickstart", "--keep", "size"), ("--keep", "size")),
        (("quickstart", "--space", "defalt"), ("defalt", "default")),
        (("quickstart", "--space", "mine.yaml"), ("mine.yaml:3: knobs.sink.taks", "tasks")),
        (
            ("quickstart", "--allow", "async-trans"),
            ("--allow", "async-trans", "async-translog"),
        ),
        (("quickstart", "--minutes", "0"), ("--minutes", 0)),
        (("quickstart", "--minutes", "2"), ("--minutes", 2)),
        (("aladin/stream",), ("aladin/stream",)),
        (("events/search",), ("events/search",)),
        (("file",), ("dataset.path",)),
        (("--path", "absent.ndjson"), ("absent.ndjson",)),
        (("quickstart", "--resume"), ("quickstart", "runs/tunes")),
        (("quickstart", "--set", "index.codecc=default"), ("index.codecc", "codec")),
    ],
)
def test_what_cannot_be_searched_is_refused(
    sluice: Callable[..., Ended],
    tmp_path: Path,
    words: tuple[str, ...],
    facts: tuple[object, ...],
    message: MakeMessage,
) -> None:
    """Exit status 2 and one sentence; nothing is begun."""
    (tmp_path / "mine.yaml").write_text(SPACE)
    status, _, errors = sluice(*words)
    assert (status, errors) == (2, message(*facts))


def test_a_latency_needs_a_file_that_is_long_enough(
    sluice: Callable[..., Ended], tmp_path: Path, message: MakeMessage
) -> None:
    """Before anything is started."""
    path = tmp_path / "few.ndjson"
    path.write_text('{"id": 1}\n{"id": 2}\n')
    status, _, errors = sluice("--path", str(path), "--goal", "latency at 5000")
    assert status == 2
    assert errors == message(2, "100,000", 20)


BUSY = Others(62.0, Program("java", 11, 1.2))


@pytest.mark.parametrize(
    ("words", "facts"),
    [(("tune", "quickstart"), ("--minutes", "--goal cpu")), (("screen", "quickstart", "--json"), ("--minutes",))],
    ids=["tune", "screen"],
)
def test_a_busy_machine_is_told_before_servers_are_started(
    sluice: Callable[..., Ended],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    facts: tuple[str, ...],
    message: MakeMessage,
) -> None:
    """On stderr, so that what is piped stays as it is; a plan alone looks at nothing."""
    monkeypatch.setattr(beforehand, "is_read", lambda _: True)
    monkeypatch.setattr(beforehand, "look", lambda _: BUSY)
    name, *options = words
    assert "! Other" not in sluice(*options, "--plan", name=name)[2]
    status, _, errors = sluice(*options, name=name)
    told = [line for line in errors.splitlines() if line.startswith("! Other")]
    assert (status, told) == (3, [message(62, "java", 11, *facts)])


# --- screen ---------------------------------------------------------------------------------------------------------


def test_a_screening_plans_one_value_of_each_setting_and_says_what_its_time_tells(sluice: Callable[..., Ended]) -> None:
    """And why it leaves the others out; nothing is started."""
    status, text, _ = sluice("quickstart", "--plan", name="screen")
    words = " ".join(text.split())
    assert status == 0
    for expected in (
        "screen quickstart",
        "goal: Elasticsearch's CPU per document",
        "tasks=4 │ topic.partitions=4",
        "not tried: tasks=2, refresh_interval=5s, batch.size=500, number_of_shards=2, max.in.flight.requests=10: a"
        " screening tries one value of a setting; to try another: --try NAME=VALUE",
        "not tried: partitions=4: tasks=4 moves it, too",
        "8 settings at two levels in blocks of 12 runs",
        "intervals of ±",
    ):
        assert expected in words


def test_a_screening_tries_the_value_that_is_named(sluice: Callable[..., Ended], message: MakeMessage) -> None:
    """In place of its own choice; an unknown one is refused."""
    _, text, _ = sluice("quickstart", "--plan", "--try", "batch.size=500", name="screen")
    assert "batch.size=5000, number_of_shards=2" in " ".join(text.split())
    status, _, errors = sluice("quickstart", "--plan", "--try", "batch.size=50", name="screen")
    assert (status, errors) == (2, message("--try", "batch.size=50", "batch.size=500"))


def test_a_screening_starts_no_servers_of_their_own_for_a_setting(sluice: Callable[..., Ended]) -> None:
    """It has no time to warm a second set, whatever memory there is."""
    _, text, _ = sluice("quickstart", "--plan", servers=Servers(together=True), name="screen")
    assert "not tried: heap_mb=2048: it needs servers of its own, and a screening has one set" in text


def test_a_screening_needs_time_for_one_block(sluice: Callable[..., Ended], message: MakeMessage) -> None:
    """And a profile; a screening that cannot have its servers leaves no folder."""
    status, _, errors = sluice("quickstart", "--minutes", "3", name="screen")
    assert (status, errors) == (2, message("--minutes", 3, 5))
    assert sluice(name="screen")[::2] == (2, message("screen", "--path"))
    assert sluice("quickstart", name="screen")[::2] == (3, message("another sluice command"))
