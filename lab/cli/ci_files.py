"""The files that tell a CI system how a run ended, whatever its end: `--junit` and `--summary`."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from xml.etree import ElementTree

from rich.markup import escape

from lab.analysis.report_page.markdown import plain_line
from lab.console import console
from lab.errors import ProfileError, SluiceError, VerificationError, WritingError, writing


@dataclass(frozen=True)
class CiFiles:
    """Where the files are wanted; `None` for one that is not.

    Attributes:
        junit: Written anew.
        summary: Appended to, as the steps of a job share one.
    """

    junit: Path | None = None
    summary: Path | None = None

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
        try:
            yield
        except SluiceError as error:
            ending, checks = error, {"verified": str(error)}
            kind = "failure" if isinstance(error, VerificationError) else "error"
            self.write(ending, lambda: junit_file(profile, checks, kind), lambda: error_markdown(profile, ending))
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
            *_unwritten("summary", self.summary, "ab", lambda: summary_of().encode()),
        ]
        if ending is None and unwritten:
            return WritingError("; ".join(unwritten))
        for sentence in unwritten:
            console.print(f"[yellow]![/yellow] {escape(sentence)}", soft_wrap=True)
        return ending


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


def junit_file(profile: str, checks: Mapping[str, str | None], kind: str = "failure") -> bytes:
    """What was expected of a run, as a JUnit file.

    Args:
        checks: What was expected → why it is not so; `None` where it is.
        kind: `failure`, or `error` where the run came to no end that could be judged.
    """
    failed = sum(failure is not None for failure in checks.values())
    counts = {"tests": len(checks), "failures": 0, "errors": 0} | {f"{kind}s": failed}
    of_suite = {name: str(number) for name, number in counts.items()}
    suite = ElementTree.Element("testsuite", {"name": f"sluice {profile}"} | of_suite)
    for name, failure in checks.items():
        case = ElementTree.SubElement(suite, "testcase", classname=profile, name=name)
        if failure is not None:
            ElementTree.SubElement(case, kind, message=failure)
    file: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return file + b"\n"


def error_markdown(profile: str, error: SluiceError) -> str:
    """A run without a result, for the summary of a CI job."""
    return f"## {plain_line(profile)}\n\n**✗ no result**: {plain_line(str(error))}\n\n"
