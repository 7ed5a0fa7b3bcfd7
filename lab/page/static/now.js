// The view of the run under way: phase, key figures, what limits it, charts, tasks.
import { LiveChart } from "./charts.js";
import { find, hasChanged, make, measured, nothing, rebuild, reveal, say, tabulate } from "./dom.js";
import { count, duration, figure, sentence } from "./text.js";

const TILES = [
  ["indexing_latency_ms", "Indexing latency", "ms"],
  ["end_to_end_latency_ms_p99", "End to end, p99", "ms"],
  ["lag_records", "Lag, records", "count"],
  ["dead_letters", "Dead letters", "count"],
  ["produced_docs_per_s", "Delivery rate", "/s"],
  ["sink_docs_per_s", "Sink’s rate", "/s"],
];
const ENDED = { verified: "✓ Verified", failed: "✗ Void", interrupted: "Interrupted", aborted: "✗ Aborted", broken: "✗ Failed" };
const TONES = { verified: "good", failed: "failed", broken: "failed", aborted: "failed", interrupted: "care" };
const RUNNING = "RUNNING";
const MARKS = { on: "●", well: "✓", wrong: "✗" };
const BROKEN_OFF = 130;

let charts = [];
let drawnFor = "";

/** Shows the model's run; where none was there yet, how to start one. */
export function show(model) {
  const { run } = model;
  reveal(find("now-run"), Boolean(run));
  say(find("now-question"), run && !model.isStarting() ? run.question : idleWords(model));
  showChild(model.child);
  if (!run) return endCharts();
  const state = run.state, last = run.points.at(-1) ?? {};
  showState(run, state, last);
  // The end-to-end latency of a drain is the time in a topic that was filled beforehand.
  const hidden = run.load === "drain" ? ["end_to_end_latency_ms_p99"] : [];
  showTiles(hidden, state.ended ? { ...last, indexing_latency_ms: state.outcome?.indexing_latency_ms } : last);
  say(find("now-span"), state.span ?? "");
  showTasks(state.pipeline?.tasks ?? []);
  showPhases(state, model);
  showCharts(run);
}

function idleWords({ page, child }) {
  if (child?.running) return `Starting: ${child.command}`;
  if (page?.ends_with_it) return `Starting: ${page.command}`;
  return "No run is under way. Start one here, or with ./sluice run in a shell.";
}

/** What the run that was started from here said last, where it ended otherwise than well. */
function showChild(child) {
  const place = find("now-child");
  const hasFailed = Boolean(child && !child.running && child.exit_status && child.exit_status !== BROKEN_OFF);
  reveal(place, hasFailed);
  rebuild(place, hasFailed ? child : null, () => hasFailed ? [
    make("strong", {}, `Ended with exit status ${child.exit_status}: ${child.command}`),
    make("pre", {}, child.said.join("\n")),
  ] : []);
}

/** Whether the process of a run that has not ended is still there. */
export const isAlive = (run) => Boolean(run.state.ended) || (run.state.alive ?? run.pid_alive) !== false;

/** What a run is doing, in a few words: for the title, the tab and a screen reader. */
export function inShort(run) {
  if (!run) return "No run";
  const { ended, phase } = run.state;
  if (ended) return ENDED[ended] ?? ended;
  return isAlive(run) ? phase ?? "starting" : "✗ Killed";
}

function showState(run, state, last) {
  const tone = isAlive(run) ? TONES[state.ended] ?? "" : "failed";
  find("now-answer").className = `answer ${tone}`.trim();
  say(find("now-phase"), state.ended || !isAlive(run) ? inShort(run) : `● ${inShort(run)}`);
  const value = find("now-rate"), of = state.ended ? state.outcome : last;
  const rate = figure(of?.indexing_rate_docs_per_s, "/s"), rough = of?.is_rough ? "≈ " : "";
  rebuild(value, [rough, rate], () => [rough, ...measured(rate)]);
  say(find("now-step"), state.ended ? sentence(state.reason) : stepWords(state));
  showProgress(state);
  showLimit(state);
  showWarnings(state.warnings ?? []);
  showOutcome(run, state);
}

function stepWords(state) {
  const step = state.step || state.phase || "starting";
  const parts = [
    step[0].toUpperCase() + step.slice(1),
    state.total ? `${count(state.done)} of ${count(state.total)}` : "",
    state.detail === step ? "" : state.detail,
    state.left_s == null || state.left_s < 1 ? "" : `about ${duration(Math.round(state.left_s))} left`,
  ];
  return parts.filter(Boolean).join(" · ");
}

function showProgress(state) {
  const bar = find("now-progress");
  const share = state.total && !state.ended ? Math.min(1, (state.done ?? 0) / state.total) : null;
  reveal(bar, share !== null);
  if (share !== null) bar.firstElementChild.style.width = `${(100 * share).toFixed(1)}%`;
}

function showLimit(state) {
  const { limit, limit_asked_s: askedS } = state;
  const text = limit ? [limit.stage, limit.evidence] : duration(Math.round(askedS));
  reveal(find("now-limit"), askedS != null);
  rebuild(find("now-limit"), text, () => limit
    ? ["Limited by ", make("strong", {}, limit.stage), `: ${limit.evidence}`]
    : [`Limit not identified in the last ${text}.`]);
}

function showWarnings(warnings) {
  const texts = warnings.map(({ heading, seen }) => `${heading}: ${seen}`);
  rebuild(find("now-warnings"), texts, () => texts.map((text) => make("li", {}, sentence(text))));
}

/** What came out, with the way to the report: known once the run has its result. */
function showOutcome(run, state) {
  const place = find("now-verdict");
  if (!state.ended) return reveal(place, false);
  const report = state.report, verdict = state.outcome?.verdict;
  reveal(place, Boolean(report || verdict));
  rebuild(place, [verdict, report], () => [
    verdict ? `${sentence(verdict)} ` : "",
    report ? make("a", { href: report, target: "_blank", rel: "noopener" }, "Open the report") : "",
  ]);
}

function showTiles(hidden, last) {
  const tiles = find("now-tiles");
  if (!tiles.children.length) {
    tiles.append(...TILES.map(([key, label]) =>
      make("div", { class: "tile", "data-figure": key },
        make("div", { class: "label" }, label), make("div", { class: "value" }, make("span")))));
  }
  TILES.forEach(([key, , unit], place) => {
    const tile = tiles.children[place], shown = figure(last[key], unit);
    const isGrave = key === "dead_letters" && last[key] > 0;
    reveal(tile, !hidden.includes(key));
    tile.classList.toggle("grave", isGrave);
    rebuild(tile.lastChild.firstChild, [shown, isGrave], () => [isGrave ? "⚠ " : "", ...measured(shown)]);
  });
}

function showTasks(tasks) {
  const place = find("now-tasks");
  if (!hasChanged(place, tasks)) return;
  if (!tasks.length) return nothing(place, "No connector is running.");
  tabulate(place, "Tasks of the sink", ["task", "state", "worker"], tasks.map((task) => [
    String(task.id),
    () => make("span", { class: task.state === RUNNING ? "balances" : "differs" },
      `${task.state === RUNNING ? "●" : "✗"} ${task.state.toLowerCase()}${task.reason ? `: ${task.reason}` : ""}`),
    task.worker ?? "",
  ]));
}

function showPhases(state, model) {
  const rows = (state.phases ?? []).map(({ name, started_s, ended_s, went }) => {
    const lasted = (ended_s ?? model.serverS()) - started_s;
    return [`${MARKS[went] ?? "✓"} ${name}`, duration(Number.isFinite(lasted) ? Math.max(0, Math.round(lasted)) : null)];
  });
  if (!hasChanged(find("now-phases"), rows)) return;
  if (!rows.length) return nothing(find("now-phases"), "None has begun.");
  tabulate(find("now-phases"), "Phases", ["phase", "took"], rows, 1);
}

function showCharts(run) {
  const key = JSON.stringify([run.id, run.charts]);
  if (key !== drawnFor) {
    drawnFor = key;
    // A chart whose specification stays is left alone: another one may only have a process more.
    const before = new Map(charts.map((chart) => [chart.key, chart]));
    charts = Object.entries(run.charts ?? {}).filter(([, spec]) => spec).map(([name, spec]) => {
      const of = JSON.stringify([run.id, name, spec]), drawn = before.get(of);
      before.delete(of);
      return drawn ?? Object.assign(new LiveChart(name, spec), { key: of });
    });
    for (const chart of before.values()) chart.end();
    charts.filter(({ figure: of }) => !of.isConnected).forEach((chart) => placeChart(chart));
  }
  for (const chart of charts) {
    chart.update(run.points).catch((error) => say(chart.empty, `Not drawn: ${error.message}`));
  }
}

/** Puts a chart where it belongs among those that are there. */
function placeChart(chart) {
  const later = charts.slice(charts.indexOf(chart) + 1).find(({ figure: of }) => of.isConnected);
  (later?.figure ?? find("now-beside")).before(chart.figure);
}

function endCharts() {
  for (const chart of charts) chart.end();
  charts = [];
  drawnFor = "";
}
