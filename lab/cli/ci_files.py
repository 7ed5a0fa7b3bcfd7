"""The files that tell a CI system how a run ended, whatever its end: `--junit` and `--summary`."""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated
from xml.etree import ElementTree

import typer
from rich.markup import escape

from lab.analysis.report_page.markdown import plain_line
from lab.console import console
from lab.errors import ExpectationError, ProfileError, SluiceError, VerificationError, WritingError, writing
from lab.records.result import Result

CHECKS = "Checks, for CI"
NO_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not have, not even escaped: one of them, and no CI system reads the file."""
NO_RESULT = "**✗ no result**:"
JunitOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write all that is expected as a JUnit file.", rich_help_panel=CHECKS),
]
SummaryOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Append the result as Markdown, such as to $GITHUB_STEP_SUMMARY.", rich_help_panel=CHECKS
    ),
]


@dataclass(frozen=True)
class Timing:
    """When something ran, in seconds since the epoch, and facts about it for a JUnit file."""

    started_s: float
    ended_s: float
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Checks:
    """Everything that was expected of a run or of a suite.

    Attributes:
        failures: What was expected → why it is not so; `None` where it is.
        undecided: What was expected → why nothing tells whether it is so.
    """

    failures: Mapping[str, str | None]
    undecided: Mapping[str, str] = field(default_factory=dict)

    def __or__(self, other: "Checks") -> "Checks":
        """Both."""
        return Checks({**self.failures, **other.failures}, {**self.undecided, **other.undecided})


def print_undecided(undecided: Mapping[str, str]) -> None:
    """Print what was expected and nothing tells, with the reason."""
    for name, why in undecided.items():
        console.print(f"[yellow]![/yellow] {escape(name)}: cannot tell: {escape(why)}", soft_wrap=True)


@dataclass(frozen=True)
class CiFiles:
    """Where the files are wanted; `None` for one that is not.

    Attributes:
        junit: Written anew.
        summary: Appended to, as the steps of a job share one; earlier attempts at a profile without a result go.
    """

    junit: Path | None = None
    summary: Path | None = None

    @classmethod
    def checked(cls, junit: Path | None, summary: Path | None) -> "CiFiles":
        """The files, which can be written; raises ProfileError if one of them cannot."""
        files = cls(junit, summary)
        files.check()
        return files

    def check(self) -> None:
        """See that they can be written; nothing is made, and nothing of what is there changes.

        Raises:
            ProfileError: One of them cannot.
        """
        for option, path in (("junit", self.junit), ("summary", self.summary)):
            if path is None:
                continue
            try:
                _try_out(path)
            except OSError as error:
                raise ProfileError(
                    f"--{option}: got {path}, expected a file that can be written ({error.strerror})"
                ) from error

    @contextmanager
    def without_result(self, profile: str) -> Iterator[None]:
        """Write them, too, if the run of a profile ends before it has a result."""
        started_s = time.time()
        try:
            yield
        except SluiceError as error:
            ending, checks = error, {"verified": str(error)}
            kind = "failure" if isinstance(error, (VerificationError, ExpectationError)) else "error"
            timing = Timing(started_s, time.time())
            self.write(
                ending,
                lambda: junit_file(profile, checks, kind, timing=timing),
                lambda: error_markdown(profile, ending),
            )
            raise

    def write(
        self, ending: SluiceError | None, junit_of: Callable[[], bytes], summary_of: Callable[[], str]
    ) -> SluiceError | None:
        """Write them; how the command ends.

        Args:
            ending: How it ends otherwise: a file that cannot be written hides nothing worse.
        """
        unwritten = [
            *_unwritten("junit", self.junit, "wb", junit_of),
            *_unwritten("summary", self.summary, "ab", lambda: self._last_section(summary_of()).encode()),
        ]
        if ending is None and unwritten:
            return WritingError("; ".join(unwritten))
        for sentence in unwritten:
            console.print(f"[yellow]![/yellow] {escape(sentence)}", soft_wrap=True)
        return ending

    def _last_section(self, text: str) -> str:
        """The section to append, once those of earlier attempts without a result are out of the file."""
        head, _, _ = text.partition("\n")
        if self.summary and self.summary.is_file():
            with writing(self.summary):
                # As bytes: other steps may have written what is no UTF-8.
                before = self.summary.read_bytes()
                section = rf"^{re.escape(head)}\n\n{re.escape(NO_RESULT)}.*\n\n".encode()
                kept = re.sub(section, b"", before, flags=re.MULTILINE)
                if kept != before:
                    self.summary.write_bytes(kept)
        return text


def _try_out(path: Path) -> None:
    if path.exists():
        with path.open("ab"):
            return
    with TemporaryFile(dir=path.absolute().parent):
        return


def _unwritten(option: str, path: Path | None, mode: str, content: Callable[[], bytes]) -> Iterator[str]:
    """Write a file, if it is wanted; why it cannot be."""
    if path is None:
        return
    whole = content()
    try:
        with writing(path), path.open(mode) as file:
            file.write(whole)
    except WritingError as error:
        yield f"--{option}: {error}"


def junit_file(
    profile: str,
    checks: Mapping[str, str | None],
    kind: str = "failure",
    *,
    undecided: Mapping[str, str] | None = None,
    timing: Timing | None = None,
) -> bytes:
    """What was expected of a run, as a JUnit file.

    Args:
        checks: What was expected → why it is not so; `None` where it is. The first one has the time of the run.
        kind: `failure`, or `error` where the run came to no end that could be judged.
        undecided: What was expected → why nothing tells; skipped tests, of which CI systems tell and do not fail.
    """
    failed = sum(failure is not None for failure in checks.values())
    skipped = undecided or {}
    counts = {"tests": len(checks) + len(skipped), "failures": 0, "errors": 0} | {f"{kind}s": failed}
    of_suite = {name: str(number) for name, number in (counts | ({"skipped": len(skipped)} if skipped else {})).items()}
    if timing:
        of_suite["time"] = f"{timing.ended_s - timing.started_s:.3f}"
        of_suite["timestamp"] = datetime.fromtimestamp(timing.started_s, UTC).isoformat(timespec="seconds")
    suite = ElementTree.Element("testsuite", {"name": f"sluice {profile}"} | of_suite)
    if timing and timing.properties:
        properties = ElementTree.SubElement(suite, "properties")
        for name, value in timing.properties.items():
            ElementTree.SubElement(properties, "property", name=name, value=value)
    for place, (name, failure) in enumerate({**checks, **skipped}.items()):
        case = ElementTree.SubElement(suite, "testcase", classname=profile, name=name)
        if timing:
            case.set("time", "0.000" if place else of_suite["time"])
        if failure is not None:
            ElementTree.SubElement(case, "skipped" if name in skipped else kind, message=failure)
    file = ElementTree.tostring(suite, encoding="unicode")
    return f"<?xml version='1.0' encoding='utf-8'?>\n{NO_XML.sub(chr(0xFFFD), file)}\n".encode()


def timing_of(result: Result) -> Timing:
    """When a run began and ended, with the time of each phase, its labels and what it ran on."""
    phases = {f"phase.{phase.name}_s": f"{phase.ended_s - phase.started_s:.3f}" for phase in result.phases}
    labels = {f"label.{name}": value for name, value in result.labels.items()}
    note = {"note": result.note} if result.note else {}
    return Timing(result.started_s, result.ended_s, {"run": result.run_id, **phases, **labels, **note})


def error_markdown(profile: str, error: SluiceError) -> str:
    """A run without a result, for the summary of a CI job."""
    return f"## {plain_line(profile)}\n\n{NO_RESULT} {plain_line(str(error))}\n\n"
