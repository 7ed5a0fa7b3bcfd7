// The ladder of a suite as it fills up: each variant's ratio and interval on one logarithmic axis, 1 marked.
import { find, make, rebuild, reveal, say } from "./dom.js";
import { UNKNOWN, count, duration, sentence, several, words } from "./text.js";

const TICKS = [0.05, 0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 0.9, 0.95, 0.98, 1, 1.02, 1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20];
const TICK_GAP = 0.11;
const LEAST_END = 1.12, BEYOND = 1.5;
const BETTER = ["faster"], WORSE = ["slower"], OTHER = ["higher", "lower"];

let chosen = null;
const places = new Map();

/** Shows the model’s suite: the one under way, or the one that has just ended. */
export function show(model) {
  const suite = model.suite && { ...model.suite, running: runningOf(model.suite) };
  reveal(find("suite-shown"), Boolean(suite));
  say(find("suite-question"), suite ? suite.question : "No suite is under way. The history holds those that have ended.");
  if (!suite) return;
  const metrics = metricsOf(suite);
  if (!metrics.some(({ key }) => key === chosen)) chosen = metrics[0]?.key ?? null;
  showChoice(metrics, model);
  showTiles(suite);
  const headline = suite.headline ?? "";
  rebuild(find("suite-headline"), [headline, suite.report], () => [
    headline ? `${headline} ` : "",
    suite.report ? make("a", { href: suite.report, target: "_blank", rel: "noopener" }, "Open the report") : "",
  ]);
  const rows = rowsOf(suite, chosen);
  rebuild(find("suite-ladder"), [chosen, rows, suite.control, suite.running, suite.ended], () => ladder(rows, suite));
}

/** The variant that runs; `null` once the suite has ended. */
export const runningOf = (suite) => suite?.ended ? null : suite?.running ?? null;

/** How far the suite is, in a few words. */
export const inShort = (suite) =>
  suite ? `${suite.name}: ${several(suite.blocks_done, "block")}, ${several(suite.runs_done, "run")}` : "";

const keyOf = (name, scope) => `${name} ${scope ?? ""}`.trim();

/** The metrics that the suite compares; where it names none, those of its effects. */
function metricsOf(suite) {
  const named = suite.metrics ?? [];
  const there = suite.variants.flatMap(({ effects }) => effects).map(({ metric, scope }) => ({ name: metric, scope }));
  const byKey = new Map();
  for (const { name, scope } of there) {
    const label = named.find((one) => one.name === name && (one.scope ?? scope) === scope)?.label ?? words(name);
    byKey.set(keyOf(name, scope), { name, scope, label });
  }
  const places = named.map(({ name }) => name);
  const place = ({ name }) => places.includes(name) ? places.indexOf(name) : places.length;
  return [...byKey].map(([key, metric]) => ({ key, ...metric })).sort((one, other) => place(one) - place(other));
}

function showChoice(metrics, model) {
  const choice = find("suite-metrics");
  reveal(choice, metrics.length > 1);
  rebuild(choice, metrics, () => [make("legend", {}, "Metric"), ...metrics.map(({ key, label, scope }) => make("label", {},
    make("input", {
      type: "radio", name: "suite-metric", value: key, checked: key === chosen,
      onchange: () => { chosen = key; show(model.latest()); },
    }), ` ${label}${metrics.filter((one) => one.label === label).length > 1 ? ` (${scope})` : ""}`))]);
}

function showTiles(suite) {
  const compared = suite.variants.filter(({ name }) => name !== suite.repetition);
  const of = compared.flatMap(({ effects }) => effects).filter(({ metric, scope }) => keyOf(metric, scope) === chosen);
  const tiles = [
    ["Blocks done", outOf(suite.blocks_done, suite.blocks_planned)],
    ["Runs done", outOf(suite.runs_done, suite.runs_planned)],
    ["Time left", suite.ended ? "ended" : !suite.under_way ? "interrupted" : suite.left_s == null ? UNKNOWN : `≈ ${duration(Math.round(suite.left_s))}`],
    ["Narrow enough", `${of.filter(({ decided }) => decided).length} of ${of.length}`],
    ["Running now", suite.running ?? UNKNOWN],
  ];
  rebuild(find("suite-tiles"), tiles, () => tiles.map(([label, value]) =>
    make("div", { class: "tile" }, make("div", { class: "label" }, label), make("div", { class: "value" }, make("span", {}, value)))));
}

const outOf = (done, planned) => planned == null ? count(done) : `${count(done)} of ${count(planned)}`;

/** Each variant with its effect on the chosen metric; the control has none. */
function rowsOf(suite, key) {
  return suite.variants.map(({ name, runs, effects, skipped }) => ({
    name, runs, skipped, effect: effects.find(({ metric, scope }) => keyOf(metric, scope) === key) ?? null,
  }));
}

/** A logarithmic axis as wide as the ratios need; intervals stretch it a little, and are cut beyond. */
function axisOf(effects) {
  const far = Math.max(Math.log(LEAST_END), ...effects.map(({ ratio }) => BEYOND * Math.abs(Math.log(ratio))));
  const ends = [-far, far];
  const place = (ratio) => 100 * Math.min(1, Math.max(0, (Math.log(ratio) - ends[0]) / (ends[1] - ends[0])));
  const shown = [1];
  for (const tick of [...TICKS].sort((one, other) => Math.abs(Math.log(one)) - Math.abs(Math.log(other)))) {
    const isInside = Math.abs(Math.log(tick)) <= far;
    const hasRoom = shown.every((other) => Math.abs(Math.log(tick / other)) >= TICK_GAP * 2 * far);
    if (isInside && hasRoom) shown.push(tick);
  }
  return { place, far, ticks: shown };
}

function ladder(rows, suite) {
  const known = rows.map(({ effect }) => effect).filter((effect) => effect?.ratio > 0);
  const axis = axisOf(known);
  const head = make("div", { class: "strip", "aria-hidden": "true" },
    axis.ticks.map((tick) => placed("span", axis.place(tick), {}, changeWords(tick))));
  return make("table", {},
    make("caption", { class: "unseen" }, `Each variant as a ratio to ${suite.control}`),
    make("thead", {}, make("tr", {},
      make("th", { scope: "col" }, "variant"), make("th", { scope: "col", class: "along" }, make("span", { class: "unseen" }, "interval"), head),
      make("th", { scope: "col" }, "verdict (interval)"), make("th", { scope: "col" }, "runs"))),
    make("tbody", {}, rows.map((row) => rung(row, axis, suite))));
}

function rung({ name, runs, skipped, effect }, axis, suite) {
  const kind = [BETTER, WORSE, OTHER].findIndex((words) => words.some((word) => effect?.verdict?.startsWith(word)));
  const isControl = name === suite.control;
  return make("tr", { class: ["better", "worse", "other"][kind] ?? "none" },
    make("th", { scope: "row" }, name,
      isControl && make("small", {}, "control"),
      effect?.against && effect.against !== suite.control && make("small", {}, `÷ ${effect.against}`),
      name === suite.running && make("small", { class: "running" }, "● running")),
    make("td", { class: "along" }, strip(name, effect, axis)),
    make("td", { class: "verdict" }, effect ? [`${effect.text} `, make("small", {}, effect.decided ? "✓ narrow enough" : suite.under_way && suite.blocks_planned !== 1 ? "still narrowing" : "")] : skipped ? `skipped: ${skipped}` : ""),
    make("td", { class: "number", "data-head": "runs" }, count(runs)));
}

/** A ratio as a change: 0, +25 %, -50 %. */
const changeWords = (ratio) => ratio === 1 ? "0" : `${ratio > 1 ? "+" : "-"}${Math.round(100 * Math.abs(ratio - 1))} %`;

function strip(name, effect, axis) {
  const ticks = axis.ticks.map((tick) => placed("i", axis.place(tick), { class: tick === 1 ? "tick one" : "tick" }));
  if (!effect?.ratio) return make("div", { class: "strip", "aria-hidden": "true" }, ticks);
  const { ratio, low, high, text } = effect;
  const words = sentence(text);
  return make("div", { class: "strip", role: "img", "aria-label": words, title: words }, ticks,
    low != null && high != null && range(name, low, high, axis), moved(make("i", { class: "point" }), `${name} point`, { left: `${axis.place(ratio)}%` }));
}

function range(name, low, high, axis) {
  const cutLow = Math.log(low) < -axis.far, cutHigh = Math.log(high) > axis.far;
  const bar = make("i", { class: `range${cutLow ? " cut-low" : ""}${cutHigh ? " cut-high" : ""}` });
  return moved(bar, `${name} range`, { left: `${axis.place(low)}%`, right: `${100 - axis.place(high)}%` });
}

/** Puts a mark where it was when it was last drawn, and moves it to where it is now. */
function moved(element, name, styles) {
  const key = `${chosen} ${name}`;
  Object.assign(element.style, places.get(key) ?? styles);
  places.set(key, styles);
  requestAnimationFrame(() => requestAnimationFrame(() => Object.assign(element.style, styles)));
  return element;
}

function placed(tag, percent, attributes, ...children) {
  const element = make(tag, attributes, ...children);
  element.style.left = `${percent}%`;
  return element;
}
