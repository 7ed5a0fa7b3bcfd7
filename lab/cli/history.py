"""`sluice runs`: what has been run here, by profile, and how its figures went."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Annotated, NamedTuple

import orjson
import typer
from rich.markup import escape

from lab.analysis.contents import NOT_RECORDED, unlike_contents
from lab.analysis.figures.limits import recorded_product, stage_text
from lab.analysis.figures.load_figures import LoadFigures, recorded_load_figures
from lab.analysis.text import UNKNOWN, count, figure, sparkline
from lab.cli import complete
from lab.cli.options import RUNS, JsonOption, RunsOption, parsed_labels
from lab.console import console, print_json, table_of
from lab.errors import ProfileError
from lab.profiles.problems import suggestion
from lab.records.marks import marks_text
from lab.run.folder import LATEST, SUITES, TUNES

ROUGH = "≈: documents ÷ drain time, since the run has no measured window"
UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


class PastRun(NamedTuple):
    """A run that has ended, as its `result.json` has it; figures are `None` where they were not measured.

    Attributes:
        product: The servers under test: `Elasticsearch` or `OpenSearch`.
        is_rough: The rate is documents ÷ drain time: there is no measured window.
        contents: Hashes of the files that its profile names; see `lab.analysis.contents`.
        labels: Those that the user gave it, by name.
    """

    run: str
    profile: str
    began: str
    status: str
    documents: int
    rate_docs_per_s: float | None
    latency_ms: float | None
    limited_by: str | None
    product: str
    is_rough: bool = False
    contents: dict[str, str] = {}
    labels: dict[str, str] = {}
    note: str = ""

    @property
    def rate_text(self) -> str:
        """The rate, marked where it is rough."""
        return LoadFigures(self.rate_docs_per_s, self.latency_ms, self.is_rough).rate_text


def runs(
    profile: Annotated[
        str | None,
        typer.Argument(help="Show only the runs of this profile, one line each.", autocompletion=complete.profiles),
    ] = None,
    *,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only runs since then: 12h, 2d, 3w or 2026-11-20.")
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Only runs with this label: branch=main.")
    ] = None,
    folder: RunsOption = RUNS,
    as_json: JsonOption = False,
) -> None:
    """List the finished runs, by profile."""
    first, wanted = instant(since) if since else None, parsed_labels(label or ()).items()
    past = [
        run
        for run in past_runs(folder)
        if first is None or datetime.fromisoformat(run.began) >= first
        if wanted <= run.labels.items()
    ]
    chosen_by = (f" since {since}" if since else "") + "".join(f" with {text}" for text in label or ())
    known = {run.profile for run in past}
    if profile is not None and profile not in known:
        raise ProfileError(f'no run of "{profile}" below {folder}{chosen_by}, {suggestion(profile, known, "one of")}')
    chosen = [run for run in past if profile in (None, run.profile)]
    if as_json:
        print_json([run._asdict() for run in chosen])
    elif not chosen:
        console.print(f"no run below {folder} has ended{escape(chosen_by)}; start with: ./sluice run quickstart")
    elif profile is not None:
        show_runs(chosen)
    else:
        show_profiles(chosen)


def instant(text: str) -> datetime:
    """The instant that is meant: so long ago, or a day's begin in UTC; raises ProfileError if it is neither."""
    try:
        if ago := re.fullmatch(r"(\d+)([hdw])", text):
            return datetime.now(UTC) - int(ago[1]) * UNITS[ago[2]]
        stated = datetime.fromisoformat(text)
        return stated if stated.tzinfo else stated.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ProfileError(f"--since: got {text}, expected a time such as 12h, 2d, 3w or 2026-11-20") from None


def past_runs(folder: Path) -> Iterator[PastRun]:
    """The runs below a folder, oldest first; those of suites and tunes are not among them."""
    files = [
        path for path in folder.rglob("result.json") if path.relative_to(folder).parts[0] not in {SUITES, TUNES, LATEST}
    ]
    for path in sorted(files, key=lambda path: path.parent.name):
        try:
            result = orjson.loads(path.read_bytes())
            of_load = recorded_load_figures(result)
            yield PastRun(
                run=result["run_id"],
                profile=result["profile"],
                began=datetime.fromtimestamp(result["started_s"], UTC).isoformat(timespec="seconds"),
                status=result["status"],
                documents=result["documents"]["produced"],
                rate_docs_per_s=of_load.rate_docs_per_s,
                latency_ms=of_load.latency_ms,
                limited_by=(result["limited_by"] or {}).get("stage"),
                product=recorded_product(result),
                is_rough=of_load.is_rough,
                contents=result["environment"].get("contents") or {"mapping": NOT_RECORDED},
                labels=result.get("labels") or {},
                note=result.get("note") or "",
            )
        except (OSError, ValueError, KeyError, TypeError):
            # Of a run that is being written, or of another version, nothing is told.
            continue


def show_runs(past: Sequence[PastRun]) -> None:
    """A line for each run."""
    rows = (
        (
            run.run,
            "[green]✓[/green]" if run.status == "verified" else "[red]✗[/red]",
            count(run.documents),
            run.rate_text,
            figure(run.latency_ms, "ms"),
            stage_text(run.limited_by, run.product) if run.limited_by else UNKNOWN,
        )
        for run in past
    )
    console.print(
        table_of(rows, "run", "", "documents", "rate", "latency", "limited by", right=("documents", "rate", "latency"))
    )
    explain_rough(past)
    for run in past:
        if marks := marks_text(run.labels, run.note):
            console.print(f"{run.run}: {escape(marks)}", soft_wrap=True)
    for before, run in pairwise(past):
        if changed := unlike_contents(before.contents, run.contents):
            console.print(
                f"[yellow]![/yellow] {run.run}: another content of {', '.join(changed)} than in {before.run}, under the"
                " same name; their rates are not of the same work",
                soft_wrap=True,
            )


def show_profiles(past: Sequence[PastRun]) -> None:
    """A line for each profile: its last run, and the rates of its runs with the same contents."""
    by_profile: dict[str, list[PastRun]] = defaultdict(list)
    for run in past:
        by_profile[run.profile].append(run)
    rows = (
        (
            escape(profile),
            str(len(of_profile)),
            of_profile[-1].run,
            of_profile[-1].rate_text,
            sparkline(
                [
                    run.rate_docs_per_s
                    for run in of_profile
                    if run.rate_docs_per_s and not run.is_rough
                    if not unlike_contents(run.contents, of_profile[-1].contents)
                ]
            ),
        )
        for profile, of_profile in sorted(by_profile.items(), key=lambda entry: entry[1][-1].run, reverse=True)
    )
    console.print(table_of(rows, "profile", "runs", "last run", "rate", "history", right=("runs", "rate")))
    explain_rough([of_profile[-1] for of_profile in by_profile.values()])


def explain_rough(shown: Sequence[PastRun]) -> None:
    """Say what ≈ means, where it is."""
    if any(run.is_rough for run in shown):
        console.print(f"[dim]{ROUGH}[/dim]", soft_wrap=True)
