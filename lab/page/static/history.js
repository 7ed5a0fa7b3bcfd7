// Every run, suite and tune of the checkout: searched, sorted, ticked and compared; a report opens beside.
import { draw, find, make, nothing, reveal, say, tabulate } from "./dom.js";
import { read } from "./server.js";
import { compared } from "./compare.js";
import { count, figured, instant, sentence, several } from "./text.js";

const PAGE = 50;
const MOST_COMPARED = 6;
const SEARCH_MS = 200;
const AGAIN_MS = 1000;
const WIDE = "(min-width: 1000px)";
const SPARK_WIDTH = 96, SPARK_HEIGHT = 22;
const STATUS = {
  verified: "✓ verified", failed: "✗ void", broken: "✗ failed", interrupted: "interrupted", aborted: "✗ aborted", complete: "✓ complete",
  unfinished: "○ unfinished", unknown: "not readable",
};
const TONES = { verified: "balances", complete: "balances", failed: "differs", broken: "differs", aborted: "differs" };
const COLUMNS = [
  ["", "compare"], ["started_s", "started"], ["profile", "profile"], ["status", "status"],
  ["indexing_rate_docs_per_s", "indexing rate"], ["", "rate over time"],
  ["indexing_latency_ms", "indexing latency"], ["", "verdict"], ["", "report"],
];

const wanted = { q: "", kind: "", sort: "started_s", order: "desc", offset: 0, limit: PAGE };
const ticked = new Map();
let hasStarted = false, asked = 0, opener = "", typing;

/** Shows the history, read anew: a run may have ended since. */
export function show() {
  if (!hasStarted) start();
  hasStarted = true;
  return load();
}

function start() {
  find("history-search").addEventListener("submit", (event) => event.preventDefault());
  find("history-q").addEventListener("input", (event) => {
    clearTimeout(typing);
    typing = setTimeout(() => search({ q: event.target.value.trim() }), SEARCH_MS);
  });
  find("history-kind").addEventListener("change", (event) => search({ kind: event.target.value }));
  find("history-back").addEventListener("click", () => turn(-PAGE));
  find("history-next").addEventListener("click", () => turn(PAGE));
  find("compare-go").addEventListener("click", () => compared([...ticked.values()]));
  find("compare-none").addEventListener("click", () => { ticked.clear(); find("history-q").focus(); load(); });
  find("report-close").addEventListener("click", closeReport);
}

function search(change) {
  Object.assign(wanted, change, { offset: 0 });
  return load();
}

async function turn(by) {
  wanted.offset += by;
  await load();
  find("history-rows").scrollIntoView();
  // A button that can no longer be pressed holds no focus.
  const [pressed, other] = by > 0 ? ["history-next", "history-back"] : ["history-back", "history-next"];
  if (find(pressed).disabled) find(other).focus();
}

async function load() {
  const call = ++asked;
  const query = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value !== "").map(([key, value]) => [key, String(value)]));
  try {
    const { total, rows, left } = await read(`/api/history?${query}`);
    if (call !== asked) return;
    // Runs may have gone since.
    if (!rows.length && wanted.offset) return search({});
    list(total, rows, left);
    // Folders that the index lacks are read one by one: until then, the list is not whole.
    if (left) setTimeout(() => call === asked && load(), AGAIN_MS);
  } catch (error) {
    if (call === asked) nothing(find("history-rows"), error.message);
  }
}

function list(total, rows, left) {
  const words = wanted.q || wanted.kind ? `${count(total)} found` : several(total, "entry").replace("entrys", "entries");
  const last = wanted.offset + rows.length;
  const which = total > rows.length ? `, ${count(wanted.offset + 1)} to ${count(last)} shown` : "";
  say(find("history-total"), left ? "Reading the runs…" : `${words}${which}`);
  reveal(find("history-pages"), total > PAGE);
  find("history-back").disabled = wanted.offset === 0;
  find("history-next").disabled = last >= total;
  showTicks();
  const place = find("history-rows");
  if (!rows.length) return nothing(place, wanted.q || wanted.kind ? "Nothing found." : "No run has been made here yet.");
  const focused = place.contains(document.activeElement) ? document.activeElement.dataset.name : null;
  tabulate(place, "Runs, suites and tunes", COLUMNS.map(([, text]) => text), rows.map(cells));
  place.querySelectorAll("thead th").forEach((head, column) => sortable(head, ...COLUMNS[column]));
  if (focused) place.querySelector(`[data-name="${CSS.escape(focused)}"]`)?.focus();
}

function sortable(head, key, text) {
  if (text === "compare") head.replaceChildren(make("span", { class: "unseen" }, text));
  if (!key) return;
  const isSorted = wanted.sort === key;
  head.setAttribute("aria-sort", isSorted ? `${wanted.order}ending` : "none");
  const turn = () => search({ sort: key, order: isSorted && wanted.order === "desc" ? "asc" : "desc" });
  head.replaceChildren(make("button", { type: "button", class: "sort", "data-name": `sort ${key}`, onclick: turn },
    text, make("span", { "aria-hidden": "true" }, isSorted ? { asc: " ▲", desc: " ▼" }[wanted.order] : "")));
}

function cells(row) {
  return [
    // What a tune compares stands in its report.
    () => row.kind === "tune" ? "" : tick(row),
    instant(row.started_s),
    () => make("span", {}, row.kind === "run" ? null : make("b", {}, `${row.kind} `), row.profile, make("small", {}, lastPart(row.id)),
      row.marks ? make("small", {}, row.marks) : null),
    () => make("span", { class: TONES[row.status] }, STATUS[row.status] ?? row.status),
    () => rate(row),
    () => spark(row.spark ?? []),
    row.indexing_latency_ms == null ? "" : figured(row.indexing_latency_ms, "ms"),
    () => verdict(row.verdict ?? ""),
    () => row.report ? reportLink(row) : "",
  ];
}

function tick(row) {
  const name = `${row.profile} ${lastPart(row.id)}`;
  return make("input", {
    type: "checkbox", checked: ticked.has(row.id), "aria-label": `Compare ${name}`, "data-name": `tick ${row.id}`,
    onchange: (event) => {
      if (event.target.checked) ticked.set(row.id, row);
      else ticked.delete(row.id);
      showTicks();
    },
  });
}

function showTicks() {
  const amount = ticked.size;
  reveal(find("compare-bar"), amount > 0);
  find("compare-go").disabled = amount < 2 || amount > MOST_COMPARED;
  const more = amount === 1 ? ": tick another to compare" : amount > MOST_COMPARED ? `: at most ${MOST_COMPARED} can be compared` : "";
  say(find("compare-words"), `${count(amount)} ticked${more}`);
}

/** The rate, nothing where it is not known: on a phone, no heading stands above it. That of a run without a measured window is marked, and says what it is. */
function rate({ indexing_rate_docs_per_s: value, is_rough: isRough }) {
  if (value == null) return "";
  const text = figured(value, "/s");
  return isRough ? make("span", { title: "Documents ÷ drain time: the run has no measured window" }, `≈ ${text}`) : text;
}

/** A verdict: its first sentence, which opens the others. */
function verdict(text) {
  const first = inShort(text);
  return first.length + 1 >= text.length ? make("span", {}, first) : make("details", {}, make("summary", {}, first), text.replaceAll("`", ""));
}

const inShort = (verdict) => verdict.split(/\.\s/)[0].replaceAll("`", "");

const lastPart = (id) => id.split("/").at(-1);

/** How a run’s rate went, from zero to its highest. */
function spark(values) {
  if (values.length < 2) return "";
  const most = Math.max(...values, 1e-9);
  const points = values.map((value, place) =>
    `${(place * SPARK_WIDTH / (values.length - 1)).toFixed(1)},${(SPARK_HEIGHT - 1 - (SPARK_HEIGHT - 3) * value / most).toFixed(1)}`);
  return draw("svg", { class: "spark", viewBox: `0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}`, width: SPARK_WIDTH, height: SPARK_HEIGHT, role: "img", "aria-label": `Highest ${figured(most, "/s")}` },
    draw("polyline", { points: points.join(" ") }));
}

function reportLink(row) {
  return make("a", {
    href: row.report, target: "_blank", rel: "noopener", "data-name": `report ${row.id}`, "aria-label": `Report of ${row.profile} ${lastPart(row.id)}`,
    onclick: (event) => {
      if (!matchMedia(WIDE).matches || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      opener = `report ${row.id}`;
      openReport(row);
    },
  }, "report");
}

function openReport(row) {
  find("report-frame").title = sentence(`report of ${row.profile} ${lastPart(row.id)}`);
  find("report-frame").src = row.report;
  find("report-tab").href = row.report;
  find("history-beside").classList.add("is-open");
  reveal(find("history-report"), true);
  find("report-close").focus();
}

function closeReport() {
  find("report-frame").removeAttribute("src");
  find("history-beside").classList.remove("is-open");
  reveal(find("history-report"), false);
  (find("history-rows").querySelector(`[data-name="${CSS.escape(opener)}"]`) ?? find("history-q")).focus();
}
