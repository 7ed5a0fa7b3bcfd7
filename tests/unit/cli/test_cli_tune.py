"""`sluice tune`: what it plans, and what it refuses before anything is started."""

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.cli import tune
from lab.cli.app import main
from lab.display import console
from lab.errors import ProfileError, StackError
from lab.profiles import Profile

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
    """Runs `tune` in a folder of its own; exit status, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(console, "width", 200)

    def command(*words: str, servers: Servers | None = None) -> Ended:
        monkeypatch.setattr(tune, "servers_of", lambda *_: servers or Servers())
        monkeypatch.setattr("sys.argv", ["sluice", "tune", *words])
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


def test_little_time_tries_all_candidates(sluice: Callable[..., Ended]) -> None:
    """Each run tells something of all of them; what is too short for a block of them is refused."""
    _, short, _ = sluice("quickstart", "--plan", "--minutes", "10")
    _, long, _ = sluice("quickstart", "--plan", "--minutes", "90")
    assert [text.partition("at most")[0] for text in (short, long)] == [long.partition("at most")[0]] * 2
    status, _, errors = sluice("quickstart", "--plan", "--minutes", "3")
    assert (status, errors) == (
        2,
        "sluice: --minutes: got 3, expected 9 or more: a block of combinations and a confirmation take as long here\n",
    )


def test_a_file_of_ones_own_needs_no_profile(sluice: Callable[..., Ended], tmp_path: Path) -> None:
    """Its documents are the profile `file`'s."""
    path = tmp_path / "books.ndjson"
    path.write_text("".join(json.dumps({"id": number}) + "\n" for number in range(2003)))
    status, text, errors = sluice("--path", str(path), "--key", "id", "--plan")
    assert (status, errors) == (0, "")
    assert "tune file" in text


def test_a_locked_tune_leaves_no_folder(sluice: Callable[..., Ended]) -> None:
    """Exit status 3."""
    status, _, errors = sluice("quickstart")
    assert (status, errors) == (3, "sluice: another sluice command is using the servers\n")


SPACE = "question: Which?\nknobs:\n  sink.taks: {values: [2]}\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "tune: got no profile, expected PROFILE, or --path FILE for your own documents"),
        (("quickstrat",), 'unknown profile "quickstrat", did you mean `quickstart`?'),
        (("quickstart", "--goal", "speed"), '--goal: got "speed", expected rate, cpu, size, or latency at a rate'),
        (
            ("sink/direct", "--goal", "latency at 5000"),
            "--goal: latency at 5000: got a load without Kafka, which has no end-to-end latency, expected another goal",
        ),
        (("quickstart", "--keep", "size"), '--keep: got "size", expected a bound relative to the start'),
        (("quickstart", "--space", "defalt"), 'unknown space "defalt", did you mean `default`?'),
        (("quickstart", "--space", "mine.yaml"), "mine.yaml:3: knobs.sink.taks: unknown key, did you mean `tasks`?"),
        (
            ("quickstart", "--allow", "async-trans"),
            '--allow: unknown unsafe knob "async-trans", did you mean `async-translog`?',
        ),
        (("quickstart", "--minutes", "0"), "--minutes: got 0, expected a number of minutes"),
        (("quickstart", "--minutes", "2"), "--minutes: got 2, expected "),
        (("aladin/stream",), "aladin/stream: load: expected a drain without a rate, whose settings decide its rate"),
        (("events/search",), "events/search: load: expected a drain without a rate"),
        (("file",), "dataset.path: missing"),
        (("--path", "absent.ndjson"), "absent.ndjson"),
        (("quickstart", "--resume"), "quickstart: no such tune has run below runs/tunes"),
        (("quickstart", "--set", "index.codecc=default"), "index.codecc: unknown key, did you mean `codec`?"),
    ],
)
def test_what_cannot_be_searched_is_refused(
    sluice: Callable[..., Ended], tmp_path: Path, words: tuple[str, ...], sentence: str
) -> None:
    """Exit status 2 and one sentence; nothing is begun."""
    (tmp_path / "mine.yaml").write_text(SPACE)
    status, _, errors = sluice(*words)
    assert (status, sentence in errors) == (2, True), errors


def test_a_latency_needs_a_file_that_is_long_enough(sluice: Callable[..., Ended], tmp_path: Path) -> None:
    """Before anything is started."""
    path = tmp_path / "few.ndjson"
    path.write_text('{"id": 1}\n{"id": 2}\n')
    status, _, errors = sluice("--path", str(path), "--goal", "latency at 5000")
    assert status == 2
    assert "got a file of 2 documents, expected 100,000 for 20 s; choose a lower rate" in errors
