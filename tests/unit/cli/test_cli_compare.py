"""`sluice compare`: what it prints, and how it ends."""

import json
import re
from pathlib import Path

import pytest

from lab.analysis.compare import Side, compare
from lab.analysis.text import NARROW_SPACE
from lab.cli.app import main
from lab.cli.compare import show
from lab.records.result import Metric
from lab.records.run import Environment, RunWarning, WarningKind
from lab.records.suite import MetricKey, SuitePlan, SuiteRun, Variant
from lab.run.folder import become_latest
from lab.suite.folder import SuiteFolder
from tests.unit.analysis.synthetic import Truth, run, samples, with_warnings, written
from tests.unit.messages import MakeMessage

PROFILE = {"dataset": {"name": "aladin", "seed": 1}, "mapping": "books"}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two runs that can be compared, and one from another machine."""
    made = run(Truth())
    elsewhere = Environment.model_validate(made.environment.model_dump() | {"cpu_cores": 64})
    for name, environment in (("one", made.environment), ("two", made.environment), ("elsewhere", elsewhere)):
        profile = {"dataset": {"name": "aladin", "seed": 1}, "mapping": f"{name}.json"}
        changed = made.model_copy(update={"environment": environment})
        written(tmp_path / "books" / name, changed, samples(Truth()), profile)
    return tmp_path


def ended(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str, columns: int = 120
) -> tuple[int, str, str]:
    """Exit status, output and errors of a command line."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("sys.argv", ["sluice", "compare", *words])
    status = main()
    written_text = capsys.readouterr()
    return status, written_text.out, written_text.err


def test_two_runs_are_laid_beside_each_other_without_a_verdict(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One run each: a ratio, what was tried, and why there is no verdict."""
    status, out, _ = ended(monkeypatch, capsys, "one", "two", "--runs", str(runs))
    assert status == 0
    assert "compared: mapping: one.json and two.json" in out
    assert "no verdict: the two were measured at different times" in out
    assert "1.00" in out


def test_a_figure_stands_in_one_row(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without replicas all shards are the primaries, and a document is an entity; `--all` shows each by its name."""
    _, out, _ = ended(monkeypatch, capsys, "one", "two", "--runs", str(runs))
    _, every, _ = ended(monkeypatch, capsys, "one", "two", "--runs", str(runs), "--all")
    doubled = [
        re.compile(rf"^ *{label} +{scope} ", re.MULTILINE)
        for label, scope in (("Indexing rate", "total"), ("Entities indexed", "run"))
    ]
    assert [bool(pattern.search(text)) for text in (out, every) for pattern in doubled] == [False, False, True, True]


def test_runs_from_two_machines_are_refused_with_what_differs(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], message: MakeMessage
) -> None:
    """Exit status 2; both values, and the three ways on."""
    status, out, err = ended(monkeypatch, capsys, "one", "elsewhere", "--runs", str(runs))
    assert (status, "! cpu_cores: 2 and 64" in out, "ratio" in out) == (2, True, False)
    assert err == message("cpu_cores", "--vary", "--force")


@pytest.mark.parametrize("option", [("--force",), ("--vary", "cpu_cores")])
def test_they_are_compared_when_asked_for(
    option: tuple[str, ...], runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Forced ratios are marked; those of what varies on purpose are not."""
    status, out, _ = ended(monkeypatch, capsys, "one", "elsewhere", "--runs", str(runs), *option)
    assert (status, "1.00 !" in out) == (0, option == ("--force",))


def test_the_figures_of_two_runs_are_a_line_each_in_80_columns(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Why ratios are marked is said once."""
    _, out, _ = ended(monkeypatch, capsys, "one", "elsewhere", "--runs", str(runs), "--force", columns=80)
    lines = out.replace(NARROW_SPACE, " ").splitlines()
    head = lines.index("metric                      scope                  first       second    ratio")
    assert lines[:2] == ["first: one", "second: elsewhere"]
    assert "Indexing rate               primaries            5,000/s      5,000/s   1.00 !" in lines[head:]
    assert all(len(line) <= 80 for line in lines[head:])
    assert lines.count("!: not comparable, since the inputs marked above differ") == 1


def test_an_input_that_there_is_not_is_refused(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], message: MakeMessage
) -> None:
    """With the nearest that there is."""
    status, _, err = ended(monkeypatch, capsys, "one", "two", "--runs", str(runs), "--vary", "cpu_core")
    assert (status, err) == (2, message("--vary", "cpu_core", "cpu_cores"))


@pytest.mark.parametrize("name", ["load.mode", "mapping"])
def test_all_that_the_output_names_can_vary(
    name: str, runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the name that it has there: a stream beside a drain needs it, a setting that is compared does no harm."""
    stream = run(Truth()).model_copy(update={"load": "stream"})
    profile = {"dataset": {"name": "aladin", "seed": 1}, "mapping": "one.json", "load": {"mode": "stream"}}
    written(runs / "books" / "streamed", stream, samples(Truth()), profile)
    _, out, err = ended(monkeypatch, capsys, "two", "streamed", "--runs", str(runs))
    assert ("! load.mode: drain and stream" in out, "compared: load" in out) == (True, False)
    assert "their inputs differ: load.mode;" in err
    status, out, err = ended(monkeypatch, capsys, "two", "streamed", "--runs", str(runs), "--vary", name)
    assert (status, "1.00" in out) == ((0, True) if name == "load.mode" else (2, False))
    assert "unknown input" not in err


def suite_folder(
    runs: Path, suite_id: str, ms_per_1000_docs: tuple[int, ...], slim: tuple[int, ...] = (), commit: str | None = None
) -> None:
    """A suite of a control, and of a variant if asked: a run for each latency, and a warm-up that must not count."""
    folder = SuiteFolder(runs / "suites" / "small" / suite_id)
    names = ("books", "slim") if slim else ("books",)
    variants = tuple(Variant(name=name, profile=name, fingerprint=name) for name in names)
    folder.path.mkdir(parents=True)
    plan = SuitePlan(
        suite="small",
        suite_id=suite_id,
        question="Does a suite compare with another?",
        started_s=0.0,
        seed=1,
        repeats=len(ms_per_1000_docs),
        control="books",
        repetition=None,
        variants=variants,
        order=(names,) * len(ms_per_1000_docs),
        starts=len(ms_per_1000_docs),
        started=tuple(range(1, 1 + len(ms_per_1000_docs))),
        metrics=(MetricKey(name="indexing_latency_ms", scope="primaries"),),
    )
    (folder.path / "plan.json").write_text(plan.model_dump_json())
    runs = [("books", block, spent) for block, spent in enumerate((9_001, *ms_per_1000_docs))]
    runs += [("slim", block, spent) for block, spent in enumerate(slim, 1)]
    for name, block, spent in runs:
        truth, place = Truth(ms_per_1000_docs=spent), f"runs/{name}-{block}"
        made = run(truth)
        environment = made.environment.model_copy(update={"git_commit": commit or made.environment.git_commit})
        made = made.model_copy(update={"environment": environment})
        written(folder.path / place, made, samples(truth), {"dataset": {"name": "aladin"}})
        folder.append(
            SuiteRun(
                block=block,
                variant=name,
                attempt=1,
                folder=place,
                status="verified",
                warm_up=block == 0,
                started_s=0.0,
                ended_s=1.0,
            )
        )


def test_two_suites_are_compared_through_the_control_of_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the second session all takes twice as long, and the variant half as long against the control as before."""
    suite_folder(tmp_path, "a", (401, 409, 397), slim=(401, 409, 397))
    suite_folder(tmp_path, "b", (802, 818, 794), slim=(398, 422, 394))
    small = tmp_path / "suites" / "small"
    status, out, _ = ended(monkeypatch, capsys, str(small / "a"), str(small / "b"), "--runs", str(tmp_path))
    of_control, _, of_slim = out.partition("first: a slim")
    told = next(line for line in of_slim.splitlines() if "Indexing latency" in line and "primaries" in line)
    assert (status, " 0.50 " in told, "faster by 50 % (" in told) == (0, True, True)
    assert "what the machine did between the two suites is in both" in re.sub(r"\s+", " ", of_slim)
    assert "no verdict: the two were measured at different times" in of_control


def two_figures(label: str, control: tuple[str, ...]) -> Side:
    """Runs in three starts with two key figures, of which the control beside them has these."""
    names = ("indexing_rate_docs_per_s", "end_to_end_latency_ms_p99")
    runs = tuple(
        tuple(Metric(name=name, value=value, unit="", scope="run") for name in names)
        for value in (9_973.0, 10_007.0, 10_037.0)
    )
    beside = tuple(tuple(metric for metric in metrics if metric.name in control) for metrics in runs)
    return Side(label, {}, {}, runs, control=Side("control", {}, {}, beside), beside=beside, starts=(1, 2, 3))


@pytest.mark.parametrize(
    ("control", "verdicts", "told"),
    [
        pytest.param(("indexing_rate_docs_per_s", "end_to_end_latency_ms_p99"), [True, True], False, id="both"),
        pytest.param(("indexing_rate_docs_per_s",), [True, False], True, id="one"),
        pytest.param((), [False, False], True, id="none"),
    ],
)
def test_a_figure_that_the_control_lacks_is_of_the_variants_alone(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    control: tuple[str, ...],
    verdicts: list[bool],
    *,
    told: bool,
) -> None:
    """Such as a latency beside a control without a topic; ratio and footer were said to be those to the control."""
    monkeypatch.setenv("COLUMNS", "200")
    show(compare(two_figures("one", control), two_figures("two", control)), every=False)
    out = capsys.readouterr().out
    lines = [next(line for line in out.splitlines() if name in line) for name in ("Indexing rate", "End to end, p99")]
    assert ["same within 5 %" in line for line in lines] == verdicts
    assert ("the control, or the variant, has it above zero in fewer than three starts" in out) == told
    assert "too few runs" not in out
    assert "run both in one suite" not in out


def test_a_metric_that_is_not_judged_has_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Holm's procedure is for the key figures that are shown; of all others it was said that there are too few runs."""
    for name in ("a", "b"):
        suite_folder(tmp_path, name, (401, 409, 397), slim=(401, 409, 397))
    small = tmp_path / "suites" / "small"
    _, out, _ = ended(monkeypatch, capsys, str(small / "a"), str(small / "b"), "--runs", str(tmp_path), "--json")
    rows = next(facts["rows"] for facts in json.loads(out) if facts["first"] == "a slim")
    verdicts = {row["name"]: row["verdict"] for row in rows}
    assert (verdicts["store_size_bytes"], verdicts["segments_count"]) == ("same within 5 %", None)


def test_a_run_is_not_compared_with_a_suite(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], message: MakeMessage
) -> None:
    """One of a kind."""
    suite_folder(runs, "a", (401,))
    status, _, err = ended(monkeypatch, capsys, "one", "small", "--runs", str(runs))
    assert (status, err) == (2, message("one", "small"))


def test_the_word_latest_is_a_run(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As for `report`, also after a suite has left a `latest` of its own."""
    suite_folder(runs, "a", (401,))
    become_latest(runs / "suites" / "small" / "a", runs / "suites")
    become_latest(runs / "books" / "two", runs)
    status, out, _ = ended(monkeypatch, capsys, "one", "latest", "--runs", str(runs))
    assert (status, "compared: mapping: one.json and two.json" in out) == (0, True)


def test_nothing_is_compared_with_itself(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], message: MakeMessage
) -> None:
    """A table of "no difference" would say nothing."""
    suite_folder(runs, "a", (401,))
    become_latest(runs / "books" / "two", runs)
    assert ended(monkeypatch, capsys, "two", "latest", "--runs", str(runs)) == (2, "", message("two", "latest"))
    assert ended(monkeypatch, capsys, "small", str(runs / "suites" / "small" / "a"), "--runs", str(runs)) == (
        2,
        "",
        message(f"{runs}/suites/small/a"),
    )


def test_warnings_of_both_runs_stand_beside_their_ratio(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], message: MakeMessage
) -> None:
    """Each with its remedy; figures that one of them touches are marked, others are not."""
    busy = RunWarning(kind=WarningKind.BUSY_MACHINE, seen="a build took 0.7 cores", likely_cause="-", remedy="stop it")
    made = run(Truth())
    for name, of in (("calm", made), ("busy", with_warnings(made, busy))):
        written(tmp_path / "books" / name, of, samples(Truth()), PROFILE)

    _, out, _ = ended(monkeypatch, capsys, "calm", "busy", "--runs", str(tmp_path))
    _, as_json, _ = ended(monkeypatch, capsys, "calm", "busy", "--runs", str(tmp_path), "--json")

    lines = out.replace(NARROW_SPACE, " ").splitlines()
    assert [line.endswith("1.00 *") for line in lines if line.startswith("Indexing rate")] == [True]
    assert [line for line in lines if "Busy machine" in line] == [message("second", "0.7 cores", "stop it")]
    [facts] = json.loads(as_json)
    assert [warning["kind"] for warning in facts["warnings"]["second"]] == ["busy_machine"]
    warned = {row["name"]: row["warned"] for row in facts["rows"]}
    touched = ("drain_s", "cpu_s_per_million_docs", "store_size_bytes")
    assert [warned[name] for name in touched] == [["busy_machine"], ["busy_machine"], []]


def test_two_mappings_of_one_name_are_shown_with_their_first_fields(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], message: MakeMessage
) -> None:
    """Eight of eleven, and how many more there are; a run without a record of its mapping is said to have none."""
    made = run(Truth())
    for name, kind in (("one", "keyword"), ("two", "text"), ("old", None)):
        contents = kind and {"mapping": f"{kind}-hash"}
        environment = made.environment.model_copy(update={"contents": contents})
        path = written(
            tmp_path / "books" / name, made.model_copy(update={"environment": environment}), samples(Truth()), PROFILE
        )
        properties = {f"field{number:02}": {"type": kind} for number in range(11)}
        if kind:
            (path / "index.json").write_text(json.dumps({"mappings": {"properties": properties}}), encoding="utf-8")

    shown = {
        names: ended(monkeypatch, capsys, *names, "--runs", str(tmp_path))[1].splitlines()
        for names in (("one", "two"), ("old", "two"))
    }

    assert "\n".join(shown["one", "two"][:12]) == message("mapping.content", "field07", "3 more fields")
    assert shown["old", "two"][2] == message("mapping.content", "not recorded")
