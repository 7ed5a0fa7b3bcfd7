"""What commands tell of a played world, beside the truth: a table, and exit status 1 if anything told is false.

python -m tests.worlds.by_hand                      # all cases, 40 minutes on two cores
python -m tests.worlds.by_hand --only drain,suite   # some
"""

import argparse
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import httpx
import orjson

from lab.analysis.figures.definitions import value_of
from lab.records.result import Result
from lab.records.run import WarningKind
from tests.worlds.bench import Bench, Row, Told, bench, counted_runs, table
from tests.worlds.stand_in import ROOT

RATE = 3_000
PACE = ("--docs-per-s", str(RATE), "--latency-ms", "3", "--cpu-us", "60")
RAMP = ("--ramp-s", "4", "--ramp-from", "0.5")
NOISE = ("--noise", "0.03", "--run-noise", "0.02")
REFRESH, CODEC = 1.3, 0.8
RULES = (
    "--rule",
    f"index.refresh_interval=30s: docs_per_s=x{REFRESH}",
    "--rule",
    f"index.codec=best_compression: docs_per_s=x{CODEC} cpu_us=x1.2",
)
SUITE = """
question: Does the suite tell the ratios that are true?
control: control
variants:
  - {profile: quickstart, name: control}
  - {profile: quickstart, name: refresh, set: {index.refresh_interval: 30s}}
  - {profile: quickstart, name: codec, set: {index.codec: best_compression}}
set: {dataset.documents: 24000}
window_s: 10
precision: 0.02
metrics:
  - indexing_rate_docs_per_s/primaries
  - cpu_s_per_million_docs/elasticsearch
"""
SPACE = """
question: Which settings does the played server serve faster?
knobs:
  index.refresh_interval: {values: [30s]}
  index.codec: {values: [best_compression]}
  index.translog.flush_threshold_size: {values: [2gb]}
"""
EFFECTS = {("refresh", "rate"): REFRESH, ("codec", "rate"): CODEC, ("refresh", "cpu"): 1.0, ("codec", "cpu"): 1.2}
OFFSET_IDS = ("sink.config.key.ignore=true", "sink.config.behavior.on.null.values=fail")
MANY = 300
"""With fewer requests than these, p99 is one of the two slowest, by how percentiles are counted."""
KEPT_BUSY = 0.97
"""Where workers had less to do than this, the rate is that of what sends to them."""

Case = Callable[[Bench], Iterator[Row]]


# --- one run --------------------------------------------------------------------------------------------------------


def drain(on: Bench) -> Iterator[Row]:
    """A drain at a steady rate: rate, CPU, latencies and what limits it."""
    on.tell(*PACE)
    output = on.measure("run", "quickstart", "--documents", "60000")
    told = on.result()
    yield limit("drain", RATE, told)
    yield from of_run("drain", on)
    yield Row("drain", "limited by", "Elasticsearch", limit_in(output, told))


def ramp(on: Bench) -> Iterator[Row]:
    """A drain with a warm-up: the rate is that after it, whether the drain is short or long."""
    for documents in (24_000, 60_000):
        on.tell(*PACE, *RAMP)
        on.measure("run", "quickstart", "--documents", str(documents))
        told, case = on.result(), f"ramp, {documents:,} documents"
        yield limit(case, RATE, told)
        yield from of_run(case, on)


def direct(on: Bench) -> Iterator[Row]:
    """A direct load, with bursts of merges in it."""
    on.tell(*PACE, "--burst-every-s", "5", "--burst-s", "1", "--burst-rate", "0.5")
    on.measure("run", "quickstart", "--documents", "60000", "--set", "load.via=direct")
    told = on.result()
    yield limit("direct, bursts", 0.9 * RATE, told)
    yield from of_run("direct, bursts", on)


def stream(on: Bench) -> Iterator[Row]:
    """A stream below the limit: its rate is the one asked for."""
    on.tell(*PACE)
    output = on.measure("run", "quickstart", "--documents", "60000", "--rate", "2000")
    told = on.result()
    yield Row("stream", "indexing rate", 2_000, told.value("indexing_rate_docs_per_s", "primaries"), 0.02)
    yield from of_run("stream", on)
    yield Row("stream", "limited by", "the requested rate", limit_in(output, told))


def overload(on: Bench) -> Iterator[Row]:
    """A stream above the limit: its rate is the limit, and the run says that it did not keep up."""
    on.tell(*PACE)
    output = on.measure("run", "quickstart", "--documents", "90000", "--rate", "4000")
    told = on.result()
    yield limit("overload", RATE, told)
    yield from of_run("overload", on)
    yield Row("overload", "says that it did not keep up", "yes", "yes" if "did NOT keep up" in output else "no")


def shapes(on: Bench) -> Iterator[Row]:
    """Updates, ids that are offsets, and several indices: the rate is that of operations, of all indices together."""
    on.tell(*PACE)
    for case, profile, *words in (
        ("updates", "quickstart", "dataset.updates=0.5"),
        ("ids that are offsets", "quickstart", *OFFSET_IDS),
        ("five indices", "products/five-indices"),
    ):
        options = [word for pair in words for word in ("--set", pair)]
        on.measure("run", profile, "--documents", "60000", *options)
        folder, truth = on.latest(*profile.split("/")), on.truth()
        result = Result.model_validate_json((folder / "result.json").read_bytes())
        indices = [
            each
            for each in truth["indices"]
            if result.phases[0].started_s <= each["began_s"] <= result.phases[-1].ended_s
        ]
        rate = value_of(result.metrics, "indexing_rate_docs_per_s", "primaries")
        served = sum(Told(result, each, truth["used_cpu_s"]).served_docs_per_s for each in indices)
        yield Row(case, "indexing rate, served in the window", served, rate, 0.01)
        yield Row(case, "status", "verified", result.status)
        cost = value_of(result.metrics, "cpu_s_per_million_docs", "elasticsearch")
        yield Row(case, "CPU-s per million documents", 60, cost, 0.05)


def faults(on: Bench) -> Iterator[Row]:
    """Documents that are lost or altered, and counters that begin again: void, or told as it was."""
    for case, *fault in (("one in 7,001 lost", "--lose-every", "7001"), ("one in 101 altered", "--alter-every", "101")):
        for ids, settings in (("keys", ()), ("offsets", OFFSET_IDS)):
            on.tell(*PACE, *fault)
            options = [word for setting in settings for word in ("--set", setting)]
            on.measure("run", "quickstart", "--documents", "30000", *options, expect=4)
            yield Row(case, f"status, ids are {ids}", "failed", on.result().result.status)
    on.tell(*PACE, "--forget-after-s", "9")
    on.measure("run", "quickstart", "--documents", "60000", expect=None)
    told = on.result()
    rate = told.value("indexing_rate_docs_per_s", "primaries")
    # By what the sink counted, which comes in requests of 2,000 documents.
    yield Row("counters begin again", "indexing rate, served in the window", told.served_docs_per_s, rate, 0.1)
    kinds = {warning.kind for warning in told.result.warnings}
    yield Row("counters begin again", "warned of", "yes", "yes" if WarningKind.SERVER_RESTARTED in kinds else "no")
    yield Row("counters begin again", "documents indexed", 60_000, float(told.result.documents.indexed), 1e-6)


def of_run(case: str, on: Bench) -> Iterator[Row]:
    """What every run tells, beside what the played server did in it."""
    told = on.result()
    truth = told.truth
    answered = truth["answered_ms"]
    yield Row(
        case,
        "indexing rate, served in the window",
        told.served_docs_per_s,
        told.value("indexing_rate_docs_per_s", "primaries"),
        0.01,
    )
    yield Row(
        case,
        "indexing latency, ms",
        told.served_latency_ms,
        told.value("indexing_latency_ms", "primaries"),
        0.05,
    )
    yield Row(case, "bulk service time p50, ms", answered["p50"], told.value("bulk_service_time_ms_p50"), 0.05)
    if truth["requests"] > MANY:
        yield Row(case, "bulk service time p99, ms", answered["p99"], told.value("bulk_service_time_ms_p99"), 0.05)
    yield Row(
        case,
        "CPU-s per million documents",
        told.cpu_us,
        told.value("cpu_s_per_million_docs", "elasticsearch"),
        0.02,
    )
    yield Row(case, "documents indexed", truth["documents"], float(told.result.documents.indexed), 1e-6)


def limit(case: str, truth: float, told: Told) -> Row:
    """The rate that the server would take if it always had something to do; not told where it had not."""
    is_limit = told.saturation > KEPT_BUSY
    rate = told.value("indexing_rate_docs_per_s", "primaries") if is_limit else None
    return Row(case, f"limit; {100 * told.saturation:.0f} % busy", truth, rate, 0.02)


def limit_in(output: str, told: Told) -> str | None:
    """What a run's first line says that it was limited by; `None` where other programs have taken all cores.

    The machine is the limit then, for all that the lab can see; the played server does not mind.
    """
    if any(warning.kind is WarningKind.BUSY_MACHINE for warning in told.result.warnings):
        return None
    match = re.search(r"limited by ([^·\n]+?) ·", output)
    return match[1] if match else None


# --- several --------------------------------------------------------------------------------------------------------


def suite(on: Bench) -> Iterator[Row]:
    """Three variants that differ by known ratios, each with its warm-up."""
    on.tell(*PACE, *RAMP, *NOISE, *RULES)
    yield from suite_rows("suite", on, "--minutes", "8")


def suite_rows(case: str, on: Bench, *options: str) -> Iterator[Row]:
    """The effects that the suite tells."""
    path = on.folder / "known.yaml"
    path.write_text(SUITE)
    on.measure("suite", str(path), *options)
    result = orjson.loads((on.latest("suites", "known") / "suite.json").read_bytes())
    yield from effects(case, result["effects"])


def effects(case: str, told: list[Mapping[str, Any]]) -> Iterator[Row]:
    """Each effect beside the true one."""
    for effect in told:
        kind = {"indexing_rate_docs_per_s": "rate", "cpu_s_per_million_docs": "cpu"}.get(effect["metric"])
        if kind is None or effect["ratio"] is None:
            continue
        variant = effect["variant"]
        truth = 1.0 if "again" in variant else EFFECTS[variant.partition(" ")[0], kind]
        figure = f"{variant} ÷ {effect['against']}, {kind}"
        yield Row(case, figure, truth, effect["ratio"], low=effect["low"], high=effect["high"])


def race(on: Bench) -> Iterator[Row]:
    """Values of a setting."""
    on.tell(*PACE, *RAMP, *NOISE, *RULES)
    on.measure(
        "race",
        "quickstart",
        *("--set", "dataset.documents=24000", "--set", "index.refresh_interval=1s,30s", "--minutes", "6"),
    )
    result = orjson.loads((on.latest("suites", "race-quickstart") / "suite.json").read_bytes())
    for effect in result["effects"]:
        if effect["metric"] == "indexing_rate_docs_per_s" and effect["ratio"] is not None:
            truth = 1.0 if "again" in effect["variant"] else REFRESH
            yield Row("race", effect["variant"], truth, effect["ratio"], low=effect["low"], high=effect["high"])


def share(on: Bench) -> Iterator[Row]:
    """Streams at 70 % of the limit: of the true one, however short the warm-up."""
    on.tell(*PACE, *RAMP)
    output = on.measure(
        "race",
        "quickstart",
        *(
            "--set",
            "dataset.documents=12000",
            "--set",
            "index.refresh_interval=1s,5s",
            "--rate",
            "70%",
            "--minutes",
            "8",
        ),
    )
    folder = on.latest("suites", "race-quickstart")
    plan = orjson.loads((folder / "plan.json").read_bytes())
    yield interval(
        "70 %", "limit", RATE, {"value": plan["limit_docs_per_s"], "low": plan["limit_low"], "high": plan["limit_high"]}
    )
    yield Row("70 %", "rate of the streams, docs/s", 0.7 * RATE, plan["rate_docs_per_s"], 0.05)
    titles = re.findall(r"at (\S+ %) of the\s+limit\s+\(([\d,]+)\s+documents/s\)", output)
    yield Row("70 %", "title: share", "70 %", titles[-1][0] if titles else None)
    yield Row("70 %", "title: docs/s", plan["rate_docs_per_s"], float(titles[-1][1].replace(",", "")), 0.02)
    runs = counted_runs(folder, on.truth())
    rates = [told.value("indexing_rate_docs_per_s", "primaries") for _, told in runs]
    known = [rate for rate in rates if rate is not None]
    served = fmean(told.served_docs_per_s for _, told in runs)
    yield Row("70 %", "mean indexing rate, served in the windows", served, fmean(known) if known else None, 0.02)
    costs = [told.value("cpu_s_per_million_docs", "elasticsearch") for _, told in runs]
    yield Row("70 %", "CPU-s per million documents", 60, fmean(cost for cost in costs if cost is not None), 0.05)


def tune(on: Bench) -> Iterator[Row]:
    """Three knobs, of which one helps, one harms and one does nothing."""
    on.tell(*PACE, *RAMP, *NOISE, *RULES)
    space = on.folder / "space.yaml"
    space.write_text(SPACE)
    on.measure("tune", "quickstart", "--documents", "24000", "--space", str(space), "--minutes", "15")
    result = orjson.loads((on.latest("tunes", "quickstart") / "tune.json").read_bytes())
    recommended = " + ".join(sorted(result["recommended"]))
    yield Row("tune", "recommended", "refresh_interval=30s", recommended)
    for effect in result["confirmation"]:
        if effect["metric"] == "indexing_rate_docs_per_s" and effect["ratio"] is not None:
            truth = combined(effect["variant"]) / combined(effect["against"])
            yield Row(
                "tune",
                f"confirmed: {effect['variant']}",
                truth,
                effect["ratio"],
                low=effect["low"],
                high=effect["high"],
            )
    for mixed in result["mixed"]:
        truth = combined(mixed["candidate"])
        yield Row("tune", f"mixed: {mixed['candidate']}", truth, mixed["ratio"], low=mixed["low"], high=mixed["high"])
    for tried in result["tried"]:
        for effect in tried["effects"]:
            if effect["metric"] == "indexing_rate_docs_per_s" and effect["ratio"] is not None:
                truth = combined(" ".join(tried["combination"]))
                yield Row(
                    "tune",
                    f"tried: {effect['variant']}",
                    truth,
                    effect["ratio"],
                    low=effect["low"],
                    high=effect["high"],
                )


def combined(names: str) -> float:
    """The true ratio of a combination to the start."""
    return (REFRESH if "refresh_interval=30s" in names else 1.0) * (CODEC if "best_compression" in names else 1.0)


def size(on: Bench) -> Iterator[Row]:
    """Machines from a few drains: what they rest on, beside the truth."""
    on.tell(*PACE)
    runs = []
    for _ in range(3):
        on.measure("run", "quickstart", "--documents", "60000")
        runs.append(on.result())
    options = [word for run in runs for word in ("--run", run.result.run_id)]
    on.measure("size", "--rate", "20000", "--replicas", "1", "--json", *options)
    output = on.said[-1].partition("\n")[2]
    sizing = orjson.loads(output[: output.rindex("}") + 1])
    costs, cpu_us = sizing["measured"]["costs"], fmean(run.cpu_us for run in runs)
    yield interval("size", "CPU of Elasticsearch, µs", cpu_us, costs["elasticsearch_cpu_us"])
    requests = [(run.truth["answered_ms"]["mean"], run.truth["requests"], run.truth["documents"]) for run in runs]
    request_us = fmean(1000 * mean_ms * count / documents for mean_ms, count, documents in requests)
    yield interval("size", "request time of a document, µs", request_us, costs["request_us"])
    cores = next(each for each in sizing["parts"][0]["demands"] if each["resource"] == "CPU")
    yield interval("size", "cores busy in Elasticsearch", 20_000 * 2 * cpu_us / 1e6, cores["amount"])


def interval(case: str, figure: str, truth: float, told: Mapping[str, float | None]) -> Row:
    """A figure with its interval; without one it may be off by 5 %."""
    return Row(case, figure, truth, told["value"], 0.05, told["low"], told["high"])


def page(on: Bench) -> Iterator[Row]:
    """The live page while a run is on: the rates of its points, and what it says limits the run."""
    on.tell(*PACE)
    command = [str(ROOT / "sluice"), "page", "--runs", str(on.runs)]
    serving = subprocess.Popen(command, env=on.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert serving.stdout is not None
    try:
        address = next(match[1] for line in serving.stdout if (match := re.search(r"page: (http://[^/]+)/", line)))
        threading.Thread(target=serving.stdout.read, daemon=True).start()
        running = threading.Thread(target=on.measure, args=("run", "quickstart", "--documents", "60000"))
        running.start()
        seen: dict[str, Any] = {}
        while running.is_alive():
            now = httpx.get(f"{address}/api/now", timeout=30).json()
            if (run := now.get("run")) and (run["state"].get("limit")):
                seen = run
            time.sleep(1.0)
        running.join()
    finally:
        serving.terminate()
        serving.wait()
    told = on.result()
    window = told.result.measured_window
    assert window is not None
    rates = [
        point["indexing_rate_docs_per_s"]
        for point in seen["points"]
        if window.started_s + 1 < point["at_s"] < window.ended_s and point["indexing_rate_docs_per_s"] is not None
    ]
    yield Row("page", "mean rate of the points", told.served_docs_per_s, fmean(rates), 0.03)
    is_busy = limit_in("limited by x ·", told) is None
    yield Row("page", "limited by", "Elasticsearch", None if is_busy else seen["state"]["limit"]["stage"])


CASES: tuple[Case, ...] = (drain, ramp, direct, stream, overload, shapes, faults, size, page, share, race, suite, tune)


def main() -> int:
    """Run the cases; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help=f"of {', '.join(case.__name__ for case in CASES)}, with commas")
    parser.add_argument("--report", type=Path, help="the file that gets the output of all commands, and the table")
    given = parser.parse_args()
    wanted = [case for case in CASES if not given.only or case.__name__ in given.only.split(",")]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the servers end, too
    rows: list[Row] = []
    with bench() as on:
        for case in wanted:
            began_s = time.monotonic()
            try:
                of_case = list(case(on))
            except (RuntimeError, LookupError, ValueError) as error:
                of_case = [Row(case.__name__, "ran to its end", "yes", f"no: {type(error).__name__}: {error}"[:3000])]
            rows += of_case
            print(table(of_case), f"({time.monotonic() - began_s:.0f} s)\n", flush=True)  # noqa: T201
            if given.report:
                given.report.write_text("\n".join([*on.said, table(rows)]))
    print(table(rows))  # noqa: T201
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
