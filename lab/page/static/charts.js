// The report's own charts, moving: each specification's dataset `points` gets the samples as they come.
import { draw, make, rebuild, reveal, tabulate } from "./dom.js";
import { number } from "./text.js";

const SCRIPTS = ["vega", "vega-lite", "vega-embed"];
const HEIGHT = 180;
const TABLE_ROWS = 12;
const NEAR_PX = 8;
let vegaIsThere;

/** One chart with title, legend, and the values behind it as a table. */
export class LiveChart {
  /** `name` is its key in the run's charts; `spec` a Vega-Lite specification. */
  constructor(name, spec) {
    const { usermeta, ...drawn } = spec;
    this.name = name;
    this.heading = usermeta?.title ?? name.replaceAll("_", " ");
    this.reading = usermeta?.reading ?? "";
    this.unit = usermeta?.unit ?? "";
    this.colours = usermeta?.colours ?? {};
    this.spec = { ...drawn, width: "container", height: HEIGHT, autosize: { type: "fit-x", contains: "padding" } };
    this.encoding = encodingOf(spec) ?? {};
    this.lastS = -Infinity;
    this.build();
  }

  build() {
    const id = `chart-${this.name}`;
    this.legend = make("ul", { class: "legend" });
    this.box = make("div", { class: "drawing", role: "img", "aria-label": this.heading });
    this.empty = make("p", { class: "empty" }, "Nothing measured yet.");
    this.values = make("details", { ontoggle: () => this.tell() }, make("summary", {}, "Values"), make("div"));
    this.figure = make("figure", { "aria-labelledby": id },
      make("figcaption", {}, make("h3", { id }, this.heading), make("p", {}, this.reading), this.legend),
      this.empty, this.box, this.values);
    this.tip = make("div", { class: "tip", "aria-hidden": "true", hidden: true });
    for (const kind of ["pointermove", "pointerdown"]) this.box.addEventListener(kind, (event) => this.point(event));
    this.box.addEventListener("pointerleave", () => this.unpoint());
  }

  /** Shows these points, oldest first. While a call is under way, others do nothing: the next one brings their points. */
  async update(points) {
    if (this.isBusy) return;
    this.isBusy = true;
    try {
      this.view ??= await this.embedded();
      if (this.isEnded) return this.view.finalize();
      const firstS = points.length ? points[0].at_s : Infinity;
      const fresh = points.filter((point) => point.at_s > this.lastS);
      if (!fresh.length) return;
      // Copies, since Vega marks what it is given, and each chart marks it anew.
      const change = window.vega.changeset().insert(fresh.map((point) => ({ ...point })));
      await this.view.change("points", change.remove((point) => point.at_s < firstS)).runAsync();
      this.lastS = fresh.at(-1).at_s;
      this.tell();
    } finally {
      this.isBusy = false;
    }
  }

  async embedded() {
    await vegaReady();
    // `ast`: Vega's interpreter in place of functions made from text, which the page's security policy forbids.
    const { view, vgSpec } = await window.vegaEmbed(this.box, this.spec, {
      mode: "vega-lite", renderer: "svg", actions: false, defaultStyle: false, tooltip: false, ast: true,
      logLevel: window.vega.Error,  // it warns of every axis that has no values yet
    });
    this.dataset = drawnDataset(vgSpec.marks) ?? "points";
    this.frame = this.box.querySelector("svg");
    this.frame.setAttribute("aria-hidden", "true");
    this.box.append(this.tip);
    return view;
  }

  /** [x, series, y] of what is drawn. */
  rows() {
    const { x, y, color } = this.encoding;
    if (!this.view || !x || !y) return [];
    return this.view.data(this.dataset)
      .filter((row) => row[y.field] != null)
      .map((row) => [row[x.field], String(row[color?.field] ?? this.heading), row[y.field]]);
  }

  tell() {
    const rows = this.rows();
    const latest = new Map(rows.map(([, series, value]) => [series, value]));
    const shown = Object.keys(this.colours).filter((series) => latest.has(series));
    const isHeading = shown.length === 1 && shown[0].toLowerCase() === this.heading.toLowerCase();
    const named = isHeading ? [] : shown;
    rebuild(this.legend, named, () => named.map((series) => {
      const box = make("span");
      box.style.background = this.colours[series];
      return make("li", {}, box, series);
    }));
    reveal(this.empty, !rows.length);
    const now = [...latest].map(([series, value]) => `${series} ${number(value)}`).join(", ");
    this.box.setAttribute("aria-label", `${this.heading}. ${now ? `Last: ${now} ${this.unit}.` : "Nothing measured yet."}`);
    if (this.values.open) this.fillTable(rows, [...latest.keys()]);
  }

  fillTable(rows, series) {
    const byX = new Map();
    for (const [x, name, value] of rows) byX.set(x, { ...byX.get(x), [name]: value });
    const last = [...byX].sort(([one], [other]) => other - one).slice(0, TABLE_ROWS);
    tabulate(this.values.lastChild, `${this.heading}: the last ${last.length} samples, in ${this.unit}`,
      [this.encoding.x?.title ?? "time", ...series],
      last.map(([x, values]) => [number(x), ...series.map((name) => number(values[name]))]), 0);
  }

  /** Shows the values at the pointer. */
  point(event) {
    const scale = this.view?.scale("x");
    const rows = this.rows();
    if (!scale?.invert || !rows.length) return;
    const left = this.frame.getBoundingClientRect().left;
    const zero = this.view.padding().left + this.view.origin()[0];
    const here = event.clientX - left - zero;
    const [x] = rows.reduce((best, row) => Math.abs(scale(row[0]) - here) < Math.abs(scale(best[0]) - here) ? row : best);
    if (Math.abs(scale(x) - here) > 5 * NEAR_PX) return this.unpoint();
    const lines = rows.filter((row) => Math.abs(scale(row[0]) - scale(x)) < 0.01)
      .map(([, series, value]) => `${series}: ${number(value)} ${this.unit}`);
    this.tip.innerText = [`${number(x)} s`, ...lines].join("\n");
    this.tip.hidden = false;
    this.rule ??= this.frame.appendChild(draw("path", { class: "pointed" }));
    this.rule.setAttribute("d", `M${zero + scale(x)},${this.view.padding().top + this.view.origin()[1]}v${HEIGHT}`);
    this.frame.append(this.rule);
    const place = zero + scale(x);
    const wanted = place < this.box.clientWidth / 2 ? place + 12 : place - 12 - this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(0, Math.min(wanted, this.box.clientWidth - this.tip.offsetWidth))}px`;
  }

  unpoint() {
    this.tip.hidden = true;
    this.rule?.removeAttribute("d");
  }

  /** Frees what the chart holds. */
  end() {
    this.isEnded = true;
    this.view?.finalize();
    this.figure.remove();
  }
}

async function vegaReady() {
  vegaIsThere ??= SCRIPTS.reduce((before, name) => before.then(() => script(name)), Promise.resolve());
  return vegaIsThere;
}

function script(name) {
  return new Promise((resolve, reject) => {
    const failed = () => reject(new Error(`The page’s server did not send ${name}.`));
    document.head.append(make("script", { src: `/static/${name}.min.js`, onload: resolve, onerror: failed }));
  });
}

/** The encoding of the outermost layer that has an x and a y. */
function encodingOf(spec) {
  if (spec.encoding?.x?.field && spec.encoding?.y?.field) return spec.encoding;
  for (const layer of spec.layer ?? []) {
    const inside = encodingOf(layer);
    if (inside) return inside;
  }
  return null;
}

/** The dataset behind the first line or area, in which Vega-Lite has put the results of all transforms. */
function drawnDataset(marks) {
  for (const mark of marks ?? []) {
    const data = mark.from?.facet?.data ?? mark.from?.data;
    if (mark.type === "group") {
      const inside = mark.from?.facet ? data : drawnDataset(mark.marks);
      if (inside) return inside;
    } else if (data && ["line", "area", "symbol"].includes(mark.type)) {
      return data;
    }
  }
  return null;
}
