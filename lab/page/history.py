"""Every run, suite and tune that has been made, from an index beside their folders."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import ValidationError

from lab.analysis.figures.limits import recorded_product, stage_text
from lab.analysis.figures.load_figures import LATENCY, RATE, recorded_load_figures
from lab.analysis.figures.rates import index_totals, rate_per_s, read_s
from lab.errors import ProfileError, WritingError
from lab.files import write_whole
from lab.page.tree import RunTree
from lab.records.marks import marks_text
from lab.records.samples import Sample

INDEX = ".page-index.json"
VERSION = 4
"""Of the index: one of another version is made anew."""
SPARKS = 24
SORTS = ("started_s", "profile", "status", *(name for name, _ in (RATE, LATENCY)))
KINDS = ("run", "suite", "tune")
SHOWN_AS = {"failed": "void", "broken": "failed"}
"""Status of a run → the word that browsers show, and that is searched."""
MOST_ROWS = 500

Row = dict[str, Any]
Stamp = tuple[int, int]
"""When the file that a row was made from was written, and its size."""
UNREAD: Stamp = (0, 0)
MOST_QUERY_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Question:
    """Query of a browser to the history.

    Attributes:
        words: A row has each of them in its profile, id, verdict, status, labels or note.
    """

    words: tuple[str, ...] = ()
    kind: str | None = None
    sort: str = "started_s"
    descending: bool = True
    offset: int = 0
    limit: int = 100

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Question":
        """The question in an address; raises ProfileError if a value is none of those that there are."""
        return cls(
            words=tuple(short(query.get("q", ""), "q").casefold().split()),
            kind=one_of(query.get("kind") or None, "kind", (None, *KINDS)),
            sort=one_of(query.get("sort") or "started_s", "sort", SORTS) or "started_s",
            descending=one_of(query.get("order") or "desc", "order", ("asc", "desc")) == "desc",
            offset=whole(query.get("offset") or "0", "offset", 10**9),
            limit=whole(query.get("limit") or "100", "limit", MOST_ROWS),
        )


def short(text: str, what: str) -> str:
    """A text that is not too long."""
    if len(text) > MOST_QUERY_CHARACTERS:
        raise ProfileError(f"{what}: got {len(text):,} characters, expected at most {MOST_QUERY_CHARACTERS}")
    return text


def one_of(value: str | None, what: str, known: Sequence[str | None]) -> str | None:
    """The value, which must be one of those."""
    if value not in known:
        raise ProfileError(f"{what}: got {str(value)[:40]}, expected one of {', '.join(filter(None, known))}")
    return value


def whole(text: str, what: str, most: int) -> int:
    """A whole number from 0 on."""
    if not (text.isascii() and text.isdigit()) or len(text) > len(str(most)) or int(text) > most:
        raise ProfileError(f"{what}: got {text[:40]}, expected a whole number from 0 to {most:,}")
    return int(text)


@dataclass
class History:
    """The rows of all runs, suites and tunes.

    What has not changed since the index was written is not opened again. An index that is missing, broken or of another
    version is made anew; one that cannot be written only costs time.

    Attributes:
        left: Folders whose rows are still to be made.
        refreshed_s: When the last refresh began, by the monotonic clock.
        opened: Folders that rows were made of so far.
    """

    tree: RunTree
    rows: dict[str, Row] = field(default_factory=dict, init=False)
    left: int = field(default=0, init=False)
    refreshed_s: float = field(default=float("-inf"), init=False)
    opened: int = field(default=0, init=False)
    _stamps: dict[str, Stamp] = field(default_factory=dict, init=False)
    _is_read: bool = field(default=False, init=False)

    @property
    def index(self) -> Path:
        """File of the index."""
        return self.tree.runs / INDEX

    def refresh(self, is_over: Callable[[], bool] = lambda: False) -> None:
        """Take up what has changed.

        Args:
            is_over: Whether the time for it is over; what is left then, the next refresh takes up.
        """
        self.refreshed_s = time.monotonic()
        if not self._is_read:
            self._is_read = True
            self._read_index()
        stamped = dict(self._stamped_folders())
        gone = self.rows.keys() - stamped.keys()
        for name in gone:
            del self.rows[name], self._stamps[name]
        new = sorted((name for name in stamped if self._stamps.get(name) != stamped[name][-1]), reverse=True)
        done = 0
        for name in new:
            if done and is_over():
                break
            self._take(name, *stamped[name])
            done += 1
        self.left = len(new) - done
        if new or gone:
            self._write_index()

    def _stamped_folders(self) -> Iterator[tuple[str, tuple[str, Path, Stamp]]]:
        """Each folder by its name below that of all runs: its kind, and the file that tells most of it."""
        folders = (self.tree.run_folders(), self.tree.suite_folders(), self.tree.tune_folders())
        for kind, folder in ((kind, folder) for kind, these in zip(KINDS, folders, strict=True) for folder in these):
            for name in MAKERS[kind]:
                row = folder.relative_to(self.tree.runs).as_posix()
                try:
                    status = (folder / name).stat()
                except FileNotFoundError:
                    continue
                except OSError:
                    # What cannot be seen now has not gone, and is what it was.
                    stamp = self._stamps.get(row, UNREAD)
                else:
                    stamp = (status.st_mtime_ns, status.st_size)
                yield row, (kind, folder / name, stamp)
                break

    def _take(self, name: str, kind: str, file: Path, stamp: Stamp) -> None:
        self.opened += 1
        try:
            row = MAKERS[kind][file.name](file, name)
        except OSError:
            # Nothing about the file need change when it can be read again: it is opened anew each time.
            row, stamp = blank(name, kind), UNREAD
        except (ValueError, LookupError, TypeError, AttributeError):
            # Of a record that is being written, or of another version, no more is told than that it is there.
            row = blank(name, kind)
        self.rows[name], self._stamps[name] = row, stamp

    def _report(self, name: str) -> str | None:
        """Address of a report; `None` where none was drawn."""
        return f"/runs/{name}/report.html" if (self.tree.runs / name / "report.html").is_file() else None

    def _read_index(self) -> None:
        try:
            tree = orjson.loads(self.index.read_bytes())
            if tree["version"] == VERSION:
                whole = {
                    name: entry for name, entry in tree["rows"].items() if entry["row"].keys() == blank("", "").keys()
                }
                self.rows = {name: entry["row"] for name, entry in whole.items()}
                self._stamps = {name: (entry["stamp"][0], entry["stamp"][1]) for name, entry in whole.items()}
        except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
            self.rows, self._stamps = {}, {}

    def _write_index(self) -> None:
        rows = {name: {"stamp": self._stamps[name], "row": row} for name, row in self.rows.items()}
        with contextlib.suppress(WritingError):
            write_whole(self.index, orjson.dumps({"version": VERSION, "rows": rows}).decode())

    def answer(self, question: Question) -> dict[str, Any]:
        """The rows that a question asks for, those without a value of its sort last."""
        chosen = [row for row in self.rows.values() if fits(row, question)]
        known = [row for row in chosen if row[question.sort] is not None]
        known.sort(key=lambda row: (row[question.sort], row["id"]), reverse=question.descending)
        rows = [*known, *(row for row in chosen if row[question.sort] is None)]
        # A report is drawn after the result that its row was made of.
        shown = [row | {"report": self._report(row["id"])} for row in rows[question.offset :][: question.limit]]
        return {"total": len(rows), "left": self.left, "rows": shown}


def fits(row: Row, question: Question) -> bool:
    """Check that a query selects a row."""
    status = SHOWN_AS.get(row["status"], row["status"])
    text = " ".join(str(word) for word in (row["id"], row["profile"], status, row["verdict"], row["marks"])).casefold()
    return question.kind in (None, row["kind"]) and all(word in text for word in question.words)


def blank(name: str, kind: str) -> Row:
    """A row of which nothing is known but its folder; `is_rough`: its rate is documents ÷ drain time."""
    return {
        "kind": kind,
        "id": name,
        "profile": Path(name).parent.as_posix().removeprefix(f"{kind}s/"),
        "started_s": None,
        "ended_s": None,
        "status": "unknown",
        "indexing_rate_docs_per_s": None,
        "indexing_latency_ms": None,
        "is_rough": False,
        "spark": [],
        "verdict": "",
        "marks": "",
    }


def of_result(file: Path, name: str) -> Row:
    """The row of a run that came to its end, out of its `result.json`."""
    result = orjson.loads(file.read_bytes())
    of_load = recorded_load_figures(result)
    return blank(name, "run") | {
        "profile": result["profile"],
        "started_s": result["started_s"],
        "ended_s": result["ended_s"],
        "status": result["status"],
        "indexing_rate_docs_per_s": of_load.rate_docs_per_s,
        "indexing_latency_ms": of_load.latency_ms,
        "is_rough": of_load.is_rough,
        "spark": spark(file.parent / "samples.ndjson"),
        "verdict": verdict(result),
        "marks": marks_text(result.get("labels") or {}, result.get("note") or ""),
    }


def verdict(result: Mapping[str, Any]) -> str:
    """Outcome of a run in one line: its limit, or the reason why it is void."""
    if result["status"] != "verified":
        problems = result["verification"]["problems"]
        return f"void: {problems[0]}" if problems else "void"
    limit = result["limited_by"]
    warned = len(result["warnings"])
    warnings = f"; {warned} {'warning' if warned == 1 else 'warnings'}" if warned else ""
    limited = f"limited by {stage_text(limit['stage'], recorded_product(result))}" if limit else "no limit seen"
    return limited + warnings


def of_progress(file: Path, name: str) -> Row:
    """The row of a run without a result, out of its `progress.json`."""
    progress = orjson.loads(file.read_bytes())
    ended = progress["ended"]
    reason = f": {progress['reason']}" if progress["reason"] else ""
    return blank(name, "run") | {
        "profile": progress["profile"],
        "started_s": progress["started_s"],
        "ended_s": progress["updated_s"] if ended else None,
        "status": ended or "unfinished",
        "verdict": f"{ended or 'last seen'} in “{progress['phase']}”{reason}",
    }


def of_suite(file: Path, name: str) -> Row:
    """The row of a suite that has been analysed, out of its `suite.json`."""
    suite = orjson.loads(file.read_bytes())
    plan = suite["plan"]
    figures = {
        (figure["name"], figure["scope"]): figure for figure in suite["figures"] if figure["variant"] == plan["control"]
    }
    rate, latency = (figures.get(key, {}) for key in (RATE, LATENCY))
    return of_plan(file, name, plan) | {
        "ended_s": suite["ended_s"],
        "status": "complete" if suite["complete"] else "unfinished",
        "indexing_rate_docs_per_s": rate.get("median"),
        "indexing_latency_ms": latency.get("median"),
        "spark": [value for value in rate.get("values", []) if value is not None][-SPARKS:],
        "verdict": suite.get("answer") or suite.get("headline") or plan["question"],
    }


def of_plan(file: Path, name: str, plan: Mapping[str, Any] | None = None) -> Row:
    """The row of a suite that has not been analysed, out of its `plan.json`."""
    plan = orjson.loads(file.read_bytes()) if plan is None else plan
    return begun(name, "suite", plan)


def begun(name: str, kind: Literal["suite", "tune"], plan: Mapping[str, Any]) -> Row:
    """As much of a row as is known before the first figure."""
    return blank(name, kind) | {
        "profile": plan[kind],
        "started_s": plan["started_s"],
        "status": "unfinished",
        "verdict": plan["question"],
        "marks": marks_text(plan.get("labels") or {}, plan.get("note") or ""),
    }


def of_tune(file: Path, name: str) -> Row:
    """The row of a tune, out of its `tune.json`: what was confirmed."""
    tune = orjson.loads(file.read_bytes())
    return begun(name, "tune", tune["plan"]) | {
        "ended_s": tune["ended_s"],
        "status": "complete" if tune["complete"] else "unfinished",
        "verdict": tune["headline"],
    }


def of_tune_plan(file: Path, name: str) -> Row:
    """The row of a tune that has found nothing yet, out of its `plan.json`."""
    return begun(name, "tune", orjson.loads(file.read_bytes()))


MAKERS: Mapping[str, Mapping[str, Callable[[Path, str], Row]]] = {
    "run": {"result.json": of_result, "progress.json": of_progress},
    "suite": {"suite.json": of_suite, "plan.json": of_plan},
    "tune": {"tune.json": of_tune, "plan.json": of_tune_plan},
}
"""By kind, the files that a row can be made of: the first that a folder has tells most of it."""


def spark(samples: Path) -> list[float]:
    """The indexing rate over the load in at most 24 stretches of equal length, documents per second.

    Only the samples between two stretches are read as such.
    """
    with contextlib.suppress(OSError, ValidationError):
        lines = [line for line in samples.read_bytes().split(b"\n")[:-1] if b'"phase":"load"' in line]
        cells = min(SPARKS, len(lines) - 1)
        if cells < 1:
            return []
        places = sorted({round(cell * (len(lines) - 1) / cells) for cell in range(cells + 1)})
        between = [Sample.model_validate_json(lines[place]) for place in places]
        counted = index_totals(between)
        pairs = zip(pairwise(between), pairwise(counted), strict=True)
        rates = (rate_per_s(*grown, read_s(after) - read_s(before)) for (before, after), grown in pairs)
        return [round(rate, 1) for rate in rates if rate is not None]
    return []
