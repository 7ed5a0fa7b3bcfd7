"""The files that tell a CI system how a run ended."""

from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn
from xml.etree import ElementTree

import pytest

from lab.analysis.result import RunAnalysis, analyse
from lab.cli import run as run_command
from lab.cli.app import main
from lab.cli.ci_files import CiFiles, error_markdown, junit_file, timing_of
from lab.errors import ExpectationError, ProfileError, SluiceError, StackError, VerificationError, WritingError
from lab.records.result import Result
from lab.records.verification import Verification
from tests.unit.analysis.synthetic import Truth, run, samples, written
from tests.unit.messages import MakeMessage

FULL = Path("/dev/full")


def cases(path: Path) -> tuple[dict[str | None, list[tuple[str, str | None]]], dict[str, str]]:
    """What a JUnit file says of each case, and of all."""
    suite = ElementTree.parse(path).getroot()  # noqa: S314 - our own file
    return {
        case.get("name"): [(each.tag, each.get("message")) for each in case] for case in suite.iter("testcase")
    }, suite.attrib


def test_a_junit_file_has_a_case_for_each_expectation(tmp_path: Path) -> None:
    """As CI systems read it."""
    file = tmp_path / "junit.xml"
    file.write_bytes(junit_file("books", {"verified": None, "drain_s<1": "drain_s<1: it was 23.0 s"}))
    assert cases(file) == (
        {"verified": [], "drain_s<1": [("failure", "drain_s<1: it was 23.0 s")]},
        {"name": "sluice books", "tests": "2", "failures": "1", "errors": "0"},
    )


@pytest.mark.parametrize("text", ["\x1b[31m", "\x00", "\udcff", "\uffff"])
def test_a_character_that_xml_does_not_have_is_replaced(tmp_path: Path, text: str) -> None:
    """A server's sentence may hold any."""
    file = tmp_path / "junit.xml"
    file.write_bytes(junit_file("books", {"verified": f"kafka: ]]>{text}\n"}))
    (((_, told),),) = cases(file)[0].values()
    assert told == f"kafka: ]]>\ufffd{text[1:]}\n"


def test_summaries_of_several_runs_share_a_file(tmp_path: Path) -> None:
    """As the steps of a CI job do."""
    files = CiFiles(summary=tmp_path / "summary.md")
    for text in ("one\n", "two\n"):
        assert files.write(None, bytes, lambda text=text: text) is None
    assert (tmp_path / "summary.md").read_text() == "one\ntwo\n"


def test_a_summary_that_another_step_has_begun_in_another_encoding_stays(tmp_path: Path) -> None:
    """What it holds is none of ours."""
    (tmp_path / "summary.md").write_bytes(b"caf\xe9\n")
    assert CiFiles(summary=tmp_path / "summary.md").write(None, bytes, lambda: "two\n") is None
    assert (tmp_path / "summary.md").read_bytes() == b"caf\xe9\ntwo\n"


@pytest.mark.parametrize(("path", "facts"), [("", ()), ("nowhere/junit.xml", ())])
@pytest.mark.parametrize("option", ["junit", "summary"])
def test_a_file_that_cannot_be_written_is_refused_beforehand(
    tmp_path: Path, option: str, path: str, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """By the name of the option."""
    with pytest.raises(ProfileError) as refused:
        CiFiles(**{option: tmp_path / path}).check()
    assert str(refused.value) == message(option, tmp_path / path, *facts)


def test_a_folder_that_takes_no_file_is_refused_beforehand(message: MakeMessage) -> None:
    """Though it exists."""
    with pytest.raises(ProfileError) as refused:
        CiFiles(junit=Path("/proc/junit.xml")).check()
    assert str(refused.value) == message("--junit", "/proc/junit.xml")


def test_to_see_that_files_can_be_written_changes_nothing(tmp_path: Path) -> None:
    """None is made, and one that is there stays as it is."""
    (tmp_path / "summary.md").write_text("one\n")
    CiFiles(junit=tmp_path / "junit.xml", summary=tmp_path / "summary.md").check()
    assert [path.name for path in tmp_path.iterdir()] == ["summary.md"]
    assert (tmp_path / "summary.md").read_text() == "one\n"


@pytest.mark.parametrize("ending", [VerificationError("void"), ExpectationError("too slow"), StackError("kafka ended")])
def test_a_file_that_cannot_be_written_hides_nothing_worse(
    ending: SluiceError, capsys: pytest.CaptureFixture[str], message: MakeMessage
) -> None:
    """The sentence about the file stands beside it."""
    assert CiFiles(junit=FULL).write(ending, lambda: b"<a/>", str) is ending
    assert "".join(capsys.readouterr()) == message("--junit: /dev/full")


def test_a_file_that_cannot_be_written_fails_a_run_that_ended_well(message: MakeMessage) -> None:
    """CI would miss it; the others are written all the same."""
    ending = CiFiles(junit=FULL, summary=FULL).write(None, lambda: b"<a/>", lambda: "one\n")
    assert isinstance(ending, WritingError)
    assert str(ending) == message("--junit: /dev/full", "--summary: /dev/full")


class Servers:
    """Servers on which a run ends so."""

    stay = False

    def __init__(self, ending: Path | SluiceError) -> None:
        self.ending = ending

    def fitted(self, profile: object) -> object:
        """The profile itself."""
        return profile

    def run(self, *_: object, **__: object) -> RunAnalysis:
        """The run and its result, or the error that ended it."""
        if isinstance(self.ending, SluiceError):
            raise self.ending
        return analyse(self.ending)


def ran(monkeypatch: pytest.MonkeyPatch, folder: Path, ending: Path | SluiceError) -> int:
    """The exit status of a run that ends so, with both files in a folder."""
    monkeypatch.setattr(run_command, "servers_of", lambda *_: Servers(ending))
    files = ("--junit", str(folder / "junit.xml"), "--summary", str(folder / "summary.md"))
    monkeypatch.setattr("sys.argv", ["sluice", "run", "quickstart", "--runs", str(folder / "runs"), *files])
    return main()


def test_a_void_run_ends_as_such_with_its_files_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit status 4."""
    void = Verification(verified=False, problems=("7 documents are missing",))
    made = run(Truth()).model_copy(update={"verification": void})
    assert ran(monkeypatch, tmp_path, written(tmp_path / "run", made, samples(Truth()))) == 4
    assert cases(tmp_path / "junit.xml")[0] == {"verified": [("failure", "7 documents are missing")]}
    assert (tmp_path / "summary.md").read_text("utf-8").startswith("## aladin/synthetic\n\n**✗ VOID")


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (StackError("kafka: ended while starting"), 3, "error"),
        (VerificationError("this run has no figures: a driver was late"), 4, "failure"),
    ],
    ids=["servers", "a late driver"],
)
def test_a_run_without_a_result_is_told_to_ci_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: SluiceError, status: int, kind: str
) -> None:
    """A step without a JUnit file would look as if nothing had been tested."""
    assert ran(monkeypatch, tmp_path, error) == status
    assert cases(tmp_path / "junit.xml")[0] == {"verified": [(kind, str(error))]}
    assert (tmp_path / "summary.md").read_text("utf-8") == f"## quickstart\n\n**✗ no result**: {error}\n\n"


def test_files_that_cannot_be_written_start_no_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit status 2."""

    def started(*_: object) -> NoReturn:
        raise AssertionError("servers were started")

    monkeypatch.setattr(Servers, "run", started)
    assert ran(monkeypatch, tmp_path / "nowhere", tmp_path) == 2


def test_a_junit_file_has_the_time_of_the_run_and_of_its_phases() -> None:
    """Once: CI systems add the times of tests up."""
    result = measured_result()
    file = junit_file("books", {"verified": None, "drain_s<1": None}, timing=timing_of(result))
    suite = ElementTree.fromstring(file)  # noqa: S314 - our own file
    took = f"{result.ended_s - result.started_s:.3f}"
    assert suite.get("time") == took
    assert suite.get("timestamp") == datetime.fromtimestamp(result.started_s, UTC).isoformat(timespec="seconds")
    assert [case.get("time") for case in suite.iter("testcase")] == [took, "0.000"]
    properties = {each.get("name"): each.get("value") for each in suite.iter("property")}
    load = next(phase for phase in result.phases if phase.name == "load")
    assert properties["phase.load_s"] == f"{load.ended_s - load.started_s:.3f}"
    assert properties["label.branch"] == "main"


def test_what_cannot_be_told_is_a_skipped_test() -> None:
    """It fails no job, and is no success either."""
    file = junit_file("books", {"verified": None}, undecided={"drain_s<1 baseline": "no interval"})
    suite = ElementTree.fromstring(file)  # noqa: S314 - our own file
    assert [suite.get(name) for name in ("tests", "failures", "skipped")] == ["2", "0", "1"]
    assert [(each.tag, each.get("message")) for each in suite[1]] == [("skipped", "no interval")]


def test_an_earlier_attempt_without_a_result_leaves_the_summary(tmp_path: Path) -> None:
    """The sections of others stay."""
    files, error = CiFiles(summary=tmp_path / "summary.md"), StackError("kafka ended")
    for profile in ("books", "other", "books"):
        files.write(error, bytes, lambda profile=profile: error_markdown(profile, error))
    files.write(None, bytes, lambda: "## books\n\n**✓ verified**\n")
    assert (tmp_path / "summary.md").read_text() == error_markdown("other", error) + "## books\n\n**✓ verified**\n"


def measured_result() -> Result:
    """The result of a run with a label."""
    with TemporaryDirectory() as folder:
        made = run(Truth()).model_copy(update={"labels": {"branch": "main"}})
        return analyse(written(Path(folder) / "run", made, samples(Truth()))).result
