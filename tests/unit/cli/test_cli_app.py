"""How commands end: with a sentence and an exit status, never with a traceback for what a user can fix."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest
import typer
from typer.testing import CliRunner

from lab import VERSION
from lab.analysis.result import analyse
from lab.cli import app as app_module
from lab.cli import report, run, stack
from lab.cli.app import main
from lab.cli.commands import COMMANDS, help_of, loaded
from lab.engines import ELASTICSEARCH
from lab.errors import ProfileError, SluiceError, StackError, VerificationError
from lab.run.environment import servers_elsewhere
from lab.stack.artifacts import read_lock
from lab.stack.local import LocalStack
from lab.targets.local import Local
from tests.unit.analysis.synthetic import Truth, samples, with_warnings, written
from tests.unit.analysis.synthetic import run as measured
from tests.unit.messages import MakeMessage

Ended = tuple[int, str, str]
Command = Callable[..., Ended]


@pytest.fixture
def sluice(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """Runs a command line; its exit status, output and errors."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "intranet.example")
    monkeypatch.setenv("COLUMNS", "120")

    def command(*words: str) -> Ended:
        monkeypatch.setattr("sys.argv", ["sluice", *words])
        status = main()
        written = capsys.readouterr()
        assert "Traceback" not in written.err
        return status, written.out, written.err

    yield command
    for number, handler in handlers.items():
        signal.signal(number, handler)


def ending(error: BaseException) -> Callable[..., NoReturn]:
    """A function that ends so."""

    def end(*_: object, **__: object) -> NoReturn:
        raise error

    return end


# --- exit statuses --------------------------------------------------------------------------------------------------


def test_an_unknown_profile_names_the_nearest(sluice: Command, message: MakeMessage) -> None:
    """Exit status 2, and no server was started."""
    assert sluice("run", "quikstart") == (2, "", message("quikstart", "quickstart"))


def test_a_version_that_is_not_available_starts_no_server(sluice: Command, message: MakeMessage) -> None:
    """The input is wrong, not a server: exit status 2, and every version that is available."""
    there = ", ".join(release.version for release in read_lock().releases(ELASTICSEARCH))
    assert sluice("run", "quickstart", "--elasticsearch", "8.99.0") == (2, "", message("8.99.0", there))


@pytest.mark.parametrize(
    "folder",
    [
        ("notes.txt", "Not a directory"),
        ("notes.txt/runs", "Not a directory"),
        ("/proc/runs", "No such file or directory"),
    ],
)
@pytest.mark.parametrize("words", [("run", "quickstart"), ("suite", "a-a")])
def test_a_folder_that_no_run_can_be_kept_in_starts_no_server(
    words: tuple[str, str],
    folder: tuple[str, str],
    sluice: Command,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    *,
    message: MakeMessage,
) -> None:
    """Exit status 2, and what is in the way stays as it is."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Local, "run", ending(AssertionError("servers were started")))
    monkeypatch.setattr(Local, "bench", ending(AssertionError("servers were started")))
    (tmp_path / "notes.txt").write_text("mine", "utf-8")
    status, _, err = sluice(*words, "--runs", folder[0])
    assert (status, err) == (2, message("--runs", folder[0], folder[1]))
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_server_that_failed_shows_its_last_lines_and_then_the_sentence(
    sluice: Command, monkeypatch: pytest.MonkeyPatch, message: MakeMessage
) -> None:
    """Exit status 3; what looks like markup in a log is shown as it is."""
    failure = StackError("kafka: ended while starting", ("[2026-01-01] ERROR [bold]", "java.net.BindException"))
    monkeypatch.setattr(stack, "LocalStack", ending(failure))
    assert sluice("status") == (3, "", message("2026-01-01", "java.net.BindException", "kafka"))


def test_a_defect_of_ours_is_no_finding(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Python's own exit status for it, 1, would tell a monitor that records are missing."""
    monkeypatch.setattr(stack, "LocalStack", ending(KeyError("of ours")))
    monkeypatch.setattr("sys.argv", ["sluice", "status"])
    status, said = main(), capsys.readouterr().err.splitlines()
    assert (status, said[0], said[-2]) == (70, "Traceback (most recent call last):", "KeyError: 'of ours'")
    assert said[-1].startswith("sluice: ")


def test_a_void_run_says_every_law_that_is_broken(
    sluice: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, message: MakeMessage
) -> None:
    """Exit status 4, after table and report."""
    result = SimpleNamespace(
        status="failed", warnings=(), verification=SimpleNamespace(problems=("7 documents are missing", "1 is double"))
    )
    no_questions = SimpleNamespace(questions=(), query_load=None)
    folder = SimpleNamespace(path=tmp_path, samples=(), run=no_questions)
    analysis = SimpleNamespace(result=result, folder=folder)
    servers = SimpleNamespace(fitted=lambda profile: profile, run=lambda *_, **__: analysis, stay=False)
    monkeypatch.setattr(run, "servers_of", lambda *_: servers)
    monkeypatch.setattr(run, "verdict_line", lambda *_: "the line")
    monkeypatch.setattr(run, "terminal_table", lambda _: "the table")
    status, out, err = sluice("run", "quickstart")
    assert (status, err) == (4, message("void", 7, 1))
    assert out.splitlines()[-3:] == ["the line", "the table", f"report: {tmp_path}/report.html"]


def test_a_report_that_is_drawn_again_says_what_its_run_said(
    sluice: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Warnings, and the path of the report as it can be typed."""
    warned = with_warnings(measured(Truth(ticks=2)), servers_elsewhere())
    folder = written(tmp_path / "runs" / "books" / "1", warned, samples(Truth(ticks=2)))
    analysis = analyse(folder)
    servers = SimpleNamespace(fitted=lambda profile: profile, run=lambda *_, **__: analysis, stay=False)
    monkeypatch.setattr(run, "servers_of", lambda *_: servers)
    monkeypatch.chdir(tmp_path)
    ran = sluice("run", "quickstart")[1].splitlines()
    again = sluice("report", "1")[1].splitlines()
    assert again == ran[1:]
    assert sum(line.startswith("! ") for line in again) == len(analysis.result.warnings) > 1
    assert again[-1] == "report: runs/books/1/report.html"


def test_a_report_that_cannot_be_written_is_one_sentence(sluice: Command, tmp_path: Path, message: MakeMessage) -> None:
    """Exit status 3, and the file's name: a folder stands in its place."""
    folder = written(tmp_path / "runs" / "books" / "1", measured(Truth()), samples(Truth()))
    (folder / "report.html").mkdir()
    assert sluice("report", str(folder)) == (3, "", message(f"{folder}/report.html"))


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(errno.EROFS, "Read-only file system", "/media/runs"), "/media/runs: Read-only file system"),
        (OSError(errno.ENOSPC, "No space left on device"), "a file: No space left on device"),
    ],
    ids=["a file", "a full disk"],
)
def test_a_file_that_no_command_looks_after_is_no_traceback(
    sluice: Command, monkeypatch: pytest.MonkeyPatch, error: OSError, sentence: str
) -> None:
    """Exit status 3; Python does not say which file a full disk has no room for."""
    monkeypatch.setattr(report, "find_run", ending(error))
    assert sluice("report") == (3, "", f"sluice: {sentence}\n")


def test_an_error_that_is_of_no_file_is_shown_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a mistake of ours, which its traceback helps to find."""
    monkeypatch.setattr(report, "find_run", ending(OSError(errno.EBADF, "Bad file descriptor")))
    monkeypatch.setattr("sys.argv", ["sluice", "report"])
    with pytest.raises(OSError, match="Bad file descriptor"):
        app_module.outcome_of_command()


def test_ctrl_c_is_no_error(sluice: Command, monkeypatch: pytest.MonkeyPatch, message: MakeMessage) -> None:
    """Exit status 130, as shells expect it."""
    monkeypatch.setattr(report, "find_run", ending(KeyboardInterrupt()))
    assert sluice("report") == (130, "", message("interrupted"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_is_treated_like_ctrl_c(
    sluice: Command, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """Servers are stopped on the way out. The tests themselves may run under `nohup`."""
    signal.signal(number, signal.SIG_DFL)
    monkeypatch.setattr(report, "find_run", lambda *_: signal.raise_signal(number))
    assert sluice("report")[0] == 130


def test_nohup_outlives_its_terminal(sluice: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal that was ignored when the command began stays ignored."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    monkeypatch.setattr(
        report, "find_run", lambda *_: signal.raise_signal(signal.SIGHUP) or ending(ProfileError("x"))()
    )
    assert sluice("report") == (2, "", "sluice: x\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("run", "quickstart", "--nope"), "No such option: --nope"),
        (("quickstart",), "No such command 'quickstart'."),
        (("run",), "Missing argument"),
        (
            ("run", "quickstart", "--documents", "many"),
            "Invalid value for '--documents': got \"many\", expected a whole number",
        ),
        (("run", "quickstart", "--rate", "fast"), "Invalid value for '--rate': got \"fast\", expected a number"),
        (("run", "quickstart", "--target", "here"), "'here' is not one of 'local', 'compose', 'remote'\n"),
        (("up", "--data-nodes", "7"), "Invalid value for '--data-nodes'"),
        (("up", "--kafka-port", "70001"), "Invalid value for '--kafka-port'"),
        (("produce", "books"), "Missing option '--bootstrap-servers'"),
    ],
    ids=["option", "command", "argument", "value", "number", "choice", "too many nodes", "port", "missing option"],
)
def test_a_wrong_command_line_is_refused(sluice: Command, words: tuple[str, ...], sentence: str) -> None:
    """Exit status 2, and the word that is wrong."""
    status, out, err = sluice(*words)
    assert (status, out) == (2, "")
    assert sentence in err


def test_the_exit_status_of_a_command_is_that_of_the_program(
    sluice: Command, monkeypatch: pytest.MonkeyPatch, message: MakeMessage
) -> None:
    """Without servers, `status` says so with 3."""
    monkeypatch.setattr(stack, "LocalStack", lambda: SimpleNamespace(state=lambda: None))
    assert sluice("status") == (3, message("./sluice up"), "")


def test_help_is_no_error(sluice: Command) -> None:
    """It goes to the output."""
    status, out, err = sluice("--help")
    assert (status, err) == (0, "")
    assert "how fast Kafka Connect feeds Elasticsearch" in out


@pytest.mark.parametrize(
    ("error", "status"), [(SluiceError, 1), (ProfileError, 2), (StackError, 3), (VerificationError, 4)]
)
def test_the_exit_status_says_who_must_act(
    sluice: Command, monkeypatch: pytest.MonkeyPatch, error: type[SluiceError], status: int
) -> None:
    """The author of a file, the keeper of the servers, or the reader of a void result."""
    monkeypatch.setattr(report, "find_run", ending(error("what [happened]")))
    assert sluice("report") == (status, "", "sluice: what [happened]\n")


def test_a_long_sentence_is_not_broken_into_lines(sluice: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path must stay in one piece to be copied."""
    monkeypatch.setattr(report, "find_run", ending(ProfileError("word " * 101)))
    assert sluice("report")[2] == "sluice: " + "word " * 101 + "\n"


def test_the_servers_of_this_machine_are_never_asked_through_a_proxy(
    sluice: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the user has excluded stays excluded."""
    monkeypatch.setattr(stack, "LocalStack", lambda: SimpleNamespace(state=lambda: None))
    sluice("status")
    assert {os.environ[name] for name in ("no_proxy", "NO_PROXY")} == {"intranet.example,127.0.0.1,localhost"}


@pytest.mark.parametrize("command", ["down", "clean"])
def test_servers_that_another_command_uses_are_not_stopped(
    sluice: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, message: MakeMessage
) -> None:
    """A run would go on without them."""
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path))
    with LocalStack().exclusively():
        assert sluice(command) == (3, "", message(pid=os.getpid()))
    assert sluice(command)[0] == 0


@pytest.mark.parametrize("command", ["logs", "restart"])
def test_a_server_that_is_not_there_is_a_wrong_argument(
    sluice: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, message: MakeMessage
) -> None:
    """Whatever is asked of it."""
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path))
    assert sluice(command, "kibana") == (2, "", message("kibana", "./sluice up"))


@pytest.mark.parametrize(
    ("server", "place"),
    [("kafka", "kept/kafka/kafka.log"), ("elasticsearch-2", "run/elasticsearch-9.5.4/node-2/logs/sluice.log")],
)
def test_the_log_of_a_stopped_server_can_be_read(tmp_path: Path, server: str, place: str) -> None:
    """`down` keeps it, and it says why a run failed."""
    log = tmp_path / place
    log.parent.mkdir(parents=True)
    log.touch()
    assert stack.log_of(LocalStack(tmp_path), server) == log


@pytest.mark.parametrize(("answer", "is_removed"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_clean_asks_at_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, *, is_removed: bool
) -> None:
    """The data of kept servers may have taken hours."""
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path))
    with LocalStack().exclusively():
        pass
    monkeypatch.setattr(stack, "at_terminal", lambda: True)
    done = CliRunner().invoke(app_module.app, ["clean"], input=answer)
    assert (str(tmp_path) in done.output, tmp_path.exists()) == (True, not is_removed)


def test_clean_asks_nothing_where_it_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripts at a terminal say `--yes`."""
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path))
    with LocalStack().exclusively():
        pass
    monkeypatch.setattr(stack, "at_terminal", lambda: True)
    CliRunner().invoke(app_module.app, ["clean", "--yes"])
    assert not tmp_path.exists()


def test_a_log_has_no_negative_number_of_lines(sluice: Command, message: MakeMessage) -> None:
    """`tail` would take it for something else."""
    status, _, errors = sluice("logs", "kafka", "-n", "-5")
    assert status == 2
    assert errors == message("--lines", -5, 0)


# --- help -----------------------------------------------------------------------------------------------------------


def test_the_version_is_told(sluice: Command) -> None:
    """That of the package, as every run records it."""
    assert sluice("--version") == (0, f"sluice {VERSION}\n", "")


def test_the_commands_are_those_that_are_promised() -> None:
    """From an empty machine to a report, and the servers without a run."""
    assert {"run", "profiles", "show", "report", "produce", "doctor", "test"} <= COMMANDS.keys()
    assert {"up", "status", "logs", "restart", "down", "clean"} <= COMMANDS.keys()


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_says_what_it_does(name: str) -> None:
    """In a whole sentence."""
    assert loaded(name).help.rstrip().endswith(".")


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_list_of_commands_says_of_each_what_its_own_help_says(name: str) -> None:
    """It is read without importing the command."""
    assert help_of(COMMANDS[name]).split() == loaded(name).help.split()


def test_help_imports_no_command() -> None:
    """It is there at once: what draws reports and starts servers is not needed for it."""
    looked = "import sys; from lab.cli import app; sys.argv = ['sluice', '--help']; app.main(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", looked], check=True, capture_output=True, text=True)
    loaded_modules = done.stdout.splitlines()[-1].split()
    assert {"altair", "numpy", "httpx", "pydantic", "lab.analysis", "lab.stack"}.isdisjoint(loaded_modules)


def test_statistics_are_imported_when_they_are_asked_for() -> None:
    """Not at the start of each command that may report some: they take a fifth of it."""
    looked = "import sys; from lab.cli import run, suite, tune; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", looked], check=True, capture_output=True, text=True)
    assert {"scipy.special", "scipy.optimize", "scipy.linalg"}.isdisjoint(done.stdout.split())


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_parameter_says_what_it_is(name: str) -> None:
    """Arguments and options alike."""
    silent = [
        parameter.name
        for parameter in loaded(name).params
        if parameter.name != "help" and not (getattr(parameter, "help", "") or "").strip()
    ]
    assert silent == []


def test_an_interrupt_inside_kafkas_client_is_an_interrupt(sluice: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its C code turns the exception of a signal into the cause of another one."""
    turned = SystemError("returned a result with an exception set")
    turned.__cause__ = KeyboardInterrupt()
    monkeypatch.setattr(report, "find_run", ending(turned))
    assert sluice("report")[0] == 130


def test_a_command_that_is_left_by_typer_ends_with_its_status(sluice: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Typer's own way to end is respected."""
    monkeypatch.setattr(report, "find_run", ending(typer.Exit(7)))
    assert sluice("report")[0] == 7


def test_the_program_has_a_name() -> None:
    """It is what messages begin with."""
    assert app_module.app.info.name == "sluice"


@pytest.mark.parametrize("words", [(), ("suite",), ("mapping", "infer"), ("dead-letters", "replay")])
def test_help_leaves_room_for_words(sluice: Command, words: tuple[str, ...]) -> None:
    """A flag has no type, and a range stands beside the number once."""
    status, out, _ = sluice(*words, "--help")
    assert status == 0
    assert [kind for kind in ("<bool>", "range>") if kind in out] == []


@pytest.mark.parametrize(("asked", "usual"), [(("help",), ("--help",)), (("help", "run"), ("run", "--help"))])
def test_help_is_a_command_too(sluice: Command, asked: tuple[str, ...], usual: tuple[str, ...]) -> None:
    """As with git or docker."""
    status, output, errors = sluice(*asked)
    assert (status, output, errors) == sluice(*usual)
    assert (status, errors) == (0, "")
