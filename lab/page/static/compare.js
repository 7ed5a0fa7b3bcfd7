// Two or more runs beside each other: what `./sluice compare` says of them, its refusals, and how their profiles differ.
import { find, make, reveal } from "./dom.js";
import { LOCKED, mayWrite, write } from "./server.js";
import { UNKNOWN, figured, words } from "./text.js";

const KEY_FIGURES = [
  "indexing_rate_docs_per_s", "indexing_latency_ms", "entities_per_s", "source_mb_per_s", "end_to_end_latency_ms_p99",
  "bulk_service_time_ms_p99", "cpu_s_per_million_docs", "drain_s", "store_size_bytes",
];

/** Compares history rows, the later ones with the first, and shows what comes of it. */
export async function compared(rows) {
  const shown = find("compare-tables");
  reveal(find("compare-shown"), true);
  shown.replaceChildren(make("p", {}, "Comparing…"));
  try {
    if (!mayWrite()) throw new Error(LOCKED);
    const answer = await write("/api/compare", { runs: rows.map(({ id }) => id) });
    const all = [answer.comparisons ?? answer.comparison ?? []].flat();
    shown.replaceChildren(
      ...(answer.refusal ?? answer.error ? [refusal(answer.refusal ?? answer.error)] : []),
      ...all.map(comparison), ...(answer.diff ? [difference(answer.diff)] : []));
  } catch (error) {
    shown.replaceChildren(refusal(error.message));
  }
  find("compare-title").focus();
}

const refusal = (text) => make("div", { class: "warning", role: "alert" }, make("strong", {}, "Not compared"), make("p", {}, text));

function comparison({ first, second, differing, compared: settings, fields, not_recorded: unknown = [], warnings, rows }) {
  const known = rows.filter((row) => row.first != null || row.second != null);
  const isKey = ({ name }) => KEY_FIGURES.includes(name);
  const rest = known.filter((row) => !isKey(row));
  return make("div", { class: "card below" },
    make("h3", {}, `${second} ÷ ${first}`),
    pairs("Unexpected differences", "differs", differing),
    pairs("Compared", "", settings),
    pairs("Fields of the mapping", "", fields),
    unknown.length > 0 && make("p", { class: "note" }, `Not recorded by an older run: the content of ${unknown.join(", ")}.`),
    ...warned(first, warnings?.first), ...warned(second, warnings?.second),
    figures(known.filter(isKey), "Key figures"),
    rest.length > 0 && make("details", {}, make("summary", {}, `${rest.length} other figures`), figures(rest, "Other figures")));
}

const warned = (name, warnings = []) => warnings.map(({ kind, seen, remedy }) => make("div", { class: "warning" },
  make("strong", {}, `${words(kind)}: ${name}`), make("p", {}, `${seen}; ${remedy}`)));

function pairs(heading, kind, of) {
  const entries = Object.entries(of ?? {});
  if (!entries.length) return null;
  return make("dl", { class: "pairs" }, entries.flatMap(([name, [one, other]], place) => [
    make("dt", { class: kind }, `${place ? "" : `${heading}: `}${name}`), make("dd", {}, `${one} → ${other}`),
  ]));
}

function figures(rows, label) {
  const heads = ["metric", "scope", "first", "second", "ratio", "verdict"];
  return make("div", { class: "scroll", role: "region", "aria-label": label, tabindex: "0" }, make("table", {},
    make("thead", {}, make("tr", {}, heads.map((text, column) => make("th", { scope: "col", class: numbers(column) }, text)))),
    make("tbody", {}, rows.map((row) => make("tr", {},
      [words(row.name), row.scope, shown(row.first, row.unit), shown(row.second, row.unit), ratioText(row), verdictText(row)]
        .map((text, column) => make("td", { class: numbers(column) }, text)))))));
}

const numbers = (column) => column >= 2 && column <= 4 ? "number" : null;
const shown = (value, unit) => figured(value, ["docs/s", "entities/s"].includes(unit) ? "/s" : unit);
const ratioText = ({ ratio, differing, warned: kinds }) => ratio == null ? UNKNOWN
  : `${ratio.toFixed(2)}${differing?.length ? " !" : kinds?.length ? " *" : ""}`;

function verdictText({ ratio, verdict, low, high, differing, warned: kinds }) {
  if (differing?.length) return `not comparable: ${differing.join(", ")}`;
  if (ratio == null) return "";
  if (kinds?.length && verdict === "too few runs") return `see: ${kinds.map(words).join(", ")}`;
  return low == null || high == null ? verdict : `${verdict} (${low.toFixed(2)} to ${high.toFixed(2)})`;
}

/** A unified diff; what each line is stands at its beginning, not in its colour alone. */
function difference(text) {
  const kinds = { "+": "added", "-": "removed", "@": "place" };
  return make("section", { class: "below" }, make("h3", {}, "How the profiles differ"),
    make("pre", { class: "diff", tabindex: "0" }, text.split("\n").map((line) =>
      make("span", { class: kinds[line[0]] ?? null }, `${line}\n`))));
}
