"""`sluice suite`: the folder that it leaves, however it ends."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.cli import beforehand, suite, suite_display
from lab.cli.app import main
from lab.cli.run import dataset_of
from lab.errors import ProfileError, StackError
from lab.monitor.beforehand import Others, Program
from lab.profiles import Profile
from lab.records.result import Result
from lab.records.suite import MetricKey, SuitePlan, Variant
from lab.run.folder import RunFolder
from lab.targets.servers import ONE_SET
from producers.dataset import Dataset
from tests.unit.analysis.suite.made_effects import an_effect
from tests.unit.analysis.suite.suite_folders import RATE
from tests.unit.messages import MakeMessage

Ended = tuple[int, str]
WRONG_RATES = ("fast", "0", "0%", "201%", "inf", "nan", "70%%")


class Servers:
    """Servers of a suite on which nothing comes to its end.

    Args:
        locked: Another command holds them.
        broken: They cannot be brought up.
    """

    def __init__(self, *, locked: bool = False, broken: bool = False) -> None:
        self.locked = locked
        self.broken = broken

    def fitted(self, profile: Any) -> Any:
        """As it is."""
        return profile

    def may_be_started_anew(self) -> bool:
        """Somebody else uses them, too."""
        return False

    def run_together(self, _: object) -> bool:
        """One set of them is all there is."""
        return False

    def refuse_duets(self, _: object) -> None:
        """One set of them is all there is."""
        raise ProfileError(ONE_SET)

    @contextlib.contextmanager
    def bench(self, *_: object) -> Iterator[Any]:
        """The servers, unless another command holds them."""
        if self.locked:
            raise StackError("another sluice command is using the servers")
        yield SimpleNamespace(prepare=self.prepare, run=self.run, run_ids=set())

    def prepare(self, _variant: Variant) -> frozenset[int]:
        """One server."""
        if self.broken:
            raise StackError("elasticsearch-1 has ended")
        return frozenset({1})

    def run(self, _variant: Variant, _folder: RunFolder, *, warm_up: bool, **_: object) -> Result:
        """The user presses Ctrl-C."""
        raise KeyboardInterrupt(warm_up)


@pytest.fixture
def ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Runs a suite on servers; its exit status, last line of output, and errors."""

    def command(servers: Servers, *words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(suite, "servers_of", lambda *_: servers)
        monkeypatch.setattr("sys.argv", ["sluice", "suite", "a-a", "--runs", str(tmp_path), *words])
        status = main()
        text = capsys.readouterr()
        return status, (text.out.splitlines() or [""])[-1], text.err

    return command


@pytest.mark.parametrize(
    ("servers", "error"),
    [
        (Servers(locked=True), "another sluice command is using the servers"),
        (Servers(broken=True), "elasticsearch-1 has ended"),
    ],
    ids=["locked", "broken"],
)
def test_a_suite_that_could_not_begin_leaves_nothing(
    ended: Callable[..., tuple[int, str, str]], tmp_path: Path, servers: Servers, error: str
) -> None:
    """No folder that `report` could take for a suite, and no `latest`."""
    status, _, errors = ended(servers)
    assert (status, errors) == (3, f"sluice: {error}\n")
    assert [path for path in tmp_path.rglob("*") if not path.is_dir() or path.is_symlink()] == []


@pytest.mark.parametrize("words", [(), ("--json",)], ids=["a terminal", "JSON"])
def test_a_busy_machine_is_told_before_servers_are_started(
    ended: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    message: MakeMessage,
) -> None:
    """On stderr, with what helps; servers elsewhere share no cores with this machine's programs."""
    monkeypatch.setattr(beforehand, "is_read", lambda _: True)
    monkeypatch.setattr(beforehand, "look", lambda _: Others(62.0, Program("java", 11, 1.2)))
    here, elsewhere = (
        [line for line in ended(Servers(locked=True), *words, *target)[2].splitlines() if line.startswith("! Other")]
        for target in ((), ("--target", "remote"))
    )
    assert (here, elsewhere) == ([message(62, "java", 11, "--duets", "--minutes")], [])


def test_an_interrupted_suite_can_be_resumed_and_is_not_the_latest(
    ended: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    """It says how, with every option that it was given; `--resume` goes on in the same folder."""
    again = ("--set", "index.refresh_interval=1s")
    told = (130, f"interrupted; resume with: ./sluice suite a-a --runs {tmp_path} {' '.join(again)} --resume")
    assert ended(Servers(), *again)[:2] == told
    assert ended(Servers(), *again, "--resume")[:2] == told
    assert [path.parent.parent.name for path in tmp_path.rglob("plan.json")] == ["a-a"]
    assert not (tmp_path / "suites" / "latest").is_symlink()


def test_a_suite_without_a_finished_run_has_no_report(
    ended: Callable[..., tuple[int, str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    message: MakeMessage,
) -> None:
    """Exit status 2, and how to go on, instead of a table of dashes."""
    ended(Servers())
    folder = next(tmp_path.rglob("plan.json")).parent
    monkeypatch.setattr("sys.argv", ["sluice", "report", "a-a", "--runs", str(tmp_path)])
    status = main()
    again = f"./sluice suite a-a --runs {tmp_path} --resume"
    assert (status, capsys.readouterr()) == (2, ("", message(again, folder=folder)))


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (("--repeats", "3", "--minutes", "9"), ("--repeats", "--minutes", "--precision")),
        (("--repeats", "3", "--precision", "5%"), ("--repeats", "--minutes", "--precision")),
        (("--starts", "2"), ("--starts", 2, 1)),
        (("--duets", "--repeats", "3"), ("--duets", 3, "--minutes", "--precision")),
        (("--duets", "--minutes", "9", "--rate", "70%"), ("--duets", "rate", "drains")),
        (("--duets", "--minutes", "9"), ("--duets", "--target local")),
        (("--precision", "narrow"), ("--precision", "narrow", 5)),
        (("--precision", "0%"), ("--precision", 0, 5)),
        (("--precision", "101%"), ("--precision", 101, 5)),
        *((("--rate", rate), ("--rate", rate, "70 %")) for rate in WRONG_RATES),
    ],
)
def test_what_a_suite_cannot_do_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    *,
    facts: tuple[object, ...],
    message: MakeMessage,
) -> None:
    """It ends by repeats, or by a width and a time, on servers of its own where they start anew; nothing is begun."""
    monkeypatch.setattr(suite, "servers_of", lambda *_: Servers())
    monkeypatch.setattr("sys.argv", ["sluice", "suite", "a-a", "--runs", str(tmp_path), *words])
    assert (main(), capsys.readouterr().err) == (2, message(*facts))
    assert list(tmp_path.iterdir()) == []


def test_a_suite_that_rates_decide_does_not_run_in_pairs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, message: MakeMessage
) -> None:
    """Who ends first leaves its cores to the other."""
    monkeypatch.setattr(suite, "servers_of", lambda *_: Servers())
    words = ["sluice", "suite", "sink-race", "--runs", str(tmp_path), "--duets", "--minutes", "9"]
    monkeypatch.setattr("sys.argv", words)
    assert main() == 2
    assert capsys.readouterr().err == message("--duets", "indexing_rate_docs_per_s/primaries", "cpu_s_per_million_docs")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--repeats", "3"), "6 runs in 3 blocks and some warm-up drains"),
        (
            ("--minutes", "7"),
            "million documents (elasticsearch), or within a quarter of its effect, at most 7 min. That is about",
        ),
        (
            ("--precision", "2.5%"),
            "±2.5 % in CPU per million documents (elasticsearch), or within a quarter of its effect, at most 15",
        ),
    ],
)
def test_a_plan_says_what_ends_the_suite(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], told: str
) -> None:
    """Before anything is started."""
    monkeypatch.setattr(suite, "servers_of", lambda *_: Servers())
    monkeypatch.setattr("sys.argv", ["sluice", "suite", "a-a", "--plan", *words])
    assert main() == 0
    assert told in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("rate", "told"),
    [("600/s", "a-a at 600 documents/s"), ("1e4", "a-a at 10,000"), ("70%", "a-a at 70 % of the limit")],
)
def test_a_plan_says_at_which_rate_a_suite_streams(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], rate: str, told: str
) -> None:
    """The share is told before the limit is known."""
    monkeypatch.setattr(suite, "servers_of", lambda *_: Servers())
    monkeypatch.setattr("sys.argv", ["sluice", "suite", "a-a", "--plan", "--rate", rate])
    assert main() == 0
    assert told in " ".join(capsys.readouterr().out.split())


def test_only_drains_can_stream_instead(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, message: MakeMessage
) -> None:
    """A load of queries loads nothing."""
    monkeypatch.setattr(suite, "servers_of", lambda *_: Servers())
    monkeypatch.setattr("sys.argv", ["sluice", "suite", "vectors-recall", "--runs", str(tmp_path), "--rate", "600"])
    assert main() == 2
    assert capsys.readouterr().err == message("hnsw")


def test_a_suite_keeps_its_rate_when_it_is_resumed(
    ended: Callable[..., tuple[int, str, str]], tmp_path: Path, message: MakeMessage
) -> None:
    """Another one would be another suite."""
    ended(Servers(), "--rate", "70 %")
    (folder,) = (file.parent for file in tmp_path.rglob("plan.json"))
    status, last, _ = ended(Servers(), "--resume")
    assert (status, last.startswith("interrupted")) == (130, True)
    status, _, errors = ended(Servers(), "--rate", "600", "--resume")
    assert (status, errors) == (2, message(70, folder=folder))


def minutes_of(runs: Path) -> float | None:
    """The time that the begun suite has."""
    (file,) = runs.rglob("plan.json")
    return SuitePlan.model_validate_json(file.read_bytes()).minutes


def test_a_suite_may_be_given_another_time_when_it_is_resumed(
    ended: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    """Without a word of it, it keeps the one that it has."""
    ended(Servers(), "--minutes", "9")
    ended(Servers(), "--resume")
    assert minutes_of(tmp_path) == 9
    ended(Servers(), "--minutes", "20", "--resume")
    assert minutes_of(tmp_path) == 20


def test_a_suite_keeps_its_seed_when_it_is_resumed(
    ended: Callable[..., tuple[int, str, str]], tmp_path: Path, message: MakeMessage
) -> None:
    """Another order for the rest would be one that nobody has drawn."""
    ended(Servers(), "--minutes", "9", "--seed", "7")
    (folder,) = (file.parent for file in tmp_path.rglob("plan.json"))
    status, _, errors = ended(Servers(), "--seed", "8", "--resume")
    assert (status, errors) == (2, message(7, "--seed", folder=folder))


@pytest.mark.parametrize(
    ("begun", "resumed", "facts"),
    [
        (("--minutes", "9"), ("--repeats", "3"), ("width",)),
        (("--repeats", "3"), ("--minutes", "9"), (3,)),
        (("--repeats", "3"), ("--repeats", "4"), (3,)),
    ],
)
def test_a_suite_is_not_ended_in_another_way_than_it_was_begun(
    ended: Callable[..., tuple[int, str, str]],
    tmp_path: Path,
    begun: tuple[str, ...],
    resumed: tuple[str, ...],
    facts: tuple[object, ...],
    *,
    message: MakeMessage,
) -> None:
    """Its first blocks would follow one rule, and its last another."""
    ended(Servers(), *begun)
    (folder,) = (file.parent for file in tmp_path.rglob("plan.json"))
    status, _, errors = ended(Servers(), *resumed, "--resume")
    assert status == 2
    assert errors == message("--repeats", "--minutes", "--precision", *facts, folder=folder)


@pytest.mark.parametrize("resumed", [("--label", "branch=other"), ("--note", "later")])
def test_a_suite_that_goes_on_keeps_its_labels(
    ended: Callable[..., tuple[int, str, str]], resumed: tuple[str, ...], message: MakeMessage
) -> None:
    """Others would be lost without a word; the same ones are what the command to go on has."""
    begun = ("--label", "branch=main", "--note", "first")
    ended(Servers(), *begun)
    assert ended(Servers(), *begun, "--resume")[0] == 130
    assert ended(Servers(), *resumed, "--resume")[::2] == (2, message("--label", "--note", "branch=main: first"))


CPU = MetricKey(name="cpu_s_per_million_docs", scope="elasticsearch")


def test_a_suite_under_way_says_how_wide_its_intervals_are(message: MakeMessage) -> None:
    """Other metrics do not count."""
    effects = (
        an_effect("narrow", CPU, (1 / 1.05, 1.0, 1.05), "undecided", ratios=(0.98, 1.0, 1.02)),
        an_effect("wide", CPU, (1 / 1.2, 1.0, 1.2), "undecided", ratios=(0.98, 1.0, 1.02, 1.0, 1.0)),
        an_effect("other", RATE, (0.1, 1.0, 10.0), "undecided"),
    )
    assert suite_display.widths_text(effects, CPU) == message("±5.0 % to ±20 %", "3–5 blocks")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("--set", "sink.tasks=1,2,4"),
            ["What does sink.tasks change in quickstart?", "tasks=2 │ tasks=1", "tasks=4 │ tasks=1", "at most 10 min"],
        ),
        (
            ("--set", "sink.tasks=1,2", "--set", "index.codec=default,best_compression", "--minutes", "5"),
            ["tasks=2 codec=best_compression", "at most 5 min"],
        ),
        (("--set", "sink.tasks=1,2", "--set", "dataset.documents=1009"), ["1,009", "dataset.documents=1009"]),
        (("--set", "sink.tasks=1,2"), ["60,000", "dataset.documents=60000"]),
        (("--set", "dataset.documents=1009,2003"), ["1,009", "2,003"]),
        (("--set", "sink.tasks=1,2", "--documents", "1009"), ["1,009", "dataset.documents=1009"]),
    ],
)
def test_a_race_compares_values_that_the_command_line_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], told: list[str]
) -> None:
    """Without a file; the first value of each setting is the control."""
    monkeypatch.setattr(suite, "servers_of", lambda *_: Servers())
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("sys.argv", ["sluice", "race", "quickstart", "--plan", *words])
    assert main() == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert [text for text in told if text not in shown] == []


def test_a_plan_reads_documents_once_that_variants_share(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A large file takes minutes from end to end, and was read for each variant."""
    read: list[int | None] = []

    def reading(profile: Profile) -> Dataset:
        read.append(profile.dataset.documents)
        return dataset_of(profile)

    monkeypatch.setattr(suite, "dataset_of", reading)
    monkeypatch.setattr(suite, "servers_of", lambda *_: Servers())
    values = ("--set", "sink.tasks=1,2,3", "--set", "dataset.documents=1009,2003")
    monkeypatch.setattr("sys.argv", ["sluice", "race", "quickstart", "--plan", *values])
    assert (main(), sorted(filter(None, read))) == (0, [1009, 2003])
    assert "2,003" in capsys.readouterr().out


def test_a_race_of_queries_is_decided_by_their_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They index nothing."""
    monkeypatch.setattr(suite, "servers_of", lambda *_: Servers())
    monkeypatch.setattr("sys.argv", ["sluice", "race", "events/queries", "--plan", "--set", "load.queries.clients=1,8"])
    assert main() == 0
    assert "±5 % in query service time, mean" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        ((), ("--set", "sink.config.batch.size=2000,500,5000")),
        (
            ("--set", "sink.tasks=1"),
            ("--set", "sink.config.batch.size=2000,500,5000"),
        ),
        (("--set", "sink.tasks=1,many"), ("--set sink.tasks", "many")),
    ],
)
def test_a_race_of_nothing_is_refused(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    facts: tuple[object, ...],
    message: MakeMessage,
) -> None:
    """Before anything is started."""
    monkeypatch.setattr(suite, "servers_of", lambda *_: Servers())
    monkeypatch.setattr("sys.argv", ["sluice", "race", "quickstart", *words])
    assert main() == 2
    assert capsys.readouterr().err == message(*facts)


def test_pairs_are_called_pairs() -> None:
    """A block of them is one comparison."""
    known = an_effect("wide", CPU, (0.9, 1.0, 1.1), "undecided", ratios=(0.98, 1.0, 1.02))
    assert suite_display.widths_text((known,), CPU, "pair").endswith(" after 3 pairs")


def test_one_block_says_nothing_of_widths() -> None:
    """No interval is known."""
    known = an_effect("wide", CPU, (1.0, 1.0, 1.0), "too few runs", ratios=(1.0,))
    assert suite_display.widths_text((known.model_copy(update={"low": None, "high": None}),), CPU) == ""
