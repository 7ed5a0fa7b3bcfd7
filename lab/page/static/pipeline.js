// One drawing of the pipeline: producers → topic → tasks → bulk requests → nodes; the bottleneck has its own colour.
import { draw, find, reveal, say, tabulate } from "./dom.js";
import { UNKNOWN, count, figured, number, sentence } from "./text.js";

const GAP = 34, LINE = 21, PAD = 12, HEAD = 66, BAR_WIDTH = 0.36;
const LETTER_PX = 6.9;
const NARROW_PX = 760;
const MOST_PARTITIONS = 8, MOST_TASKS = 8, MOST_NODES = 4;
const RUNNING = "RUNNING";
const NAMES = { producers: "Producers", topic: "Topic", tasks: "Tasks", bulk: "Bulk requests", nodes: "Nodes" };

/** Draws the model's pipeline, in words, as a picture and as a table. */
export function show(model) {
  const pipeline = model.run?.state.pipeline;
  const drawing = find("pipeline-drawing"), under = find("pipeline-table");
  reveal(drawing, Boolean(pipeline));
  reveal(under, Boolean(pipeline));
  find("pipeline-slow").classList.toggle("is-slow", Boolean(pipeline?.slow));
  say(find("pipeline-slow"), slowWords(model, pipeline));
  if (!pipeline) return;
  const stages = stagesOf(pipeline, model.run.points.at(-1) ?? {});
  drawing.replaceChildren(picture(stages, pipeline.slow, drawing.clientWidth - 2 * PAD - 6, slowWords(model, pipeline)));
  tabulate(under.lastElementChild, "The pipeline", ["stage", "what", "value"],
    stages.flatMap(({ name, figure, what, rows }) => [[name, what, figure], ...rows.map((row) =>
      [name, row.label, [row.value, row.note].filter(Boolean).join(", ")])]), 2);
}

function slowWords(model, pipeline) {
  if (!model.run) return "No run is under way.";
  const { limit, ended, outcome } = model.run.state;
  if (ended) return sentence(outcome?.verdict ?? "");
  if (!pipeline) return "The pipeline is drawn once the load begins.";
  if (!pipeline.slow) return limit ? `Limited by ${limit.stage} – ${limit.evidence}` : "No bottleneck found.";
  return `⚠ Bottleneck: ${NAMES[pipeline.slow].toLowerCase()}${pipeline.why ? ` – ${pipeline.why}` : ""}`;
}

/** Each stage with its main figure and its rows; a row is {label, value, share of a bar, isBad}. */
function stagesOf({ producers, topic, tasks, bulk, nodes }, last) {
  return [
    { id: "producers", figure: (producers?.rate == null ? count : rate)(producers?.rate ?? producers?.delivered), what: "delivered", flow: producers?.rate, rows: [
      row("target rate", producers?.target_rate == null ? "no limit" : rate(producers.target_rate)),
      row("so far", count(producers?.delivered)),
    ] },
    { id: "topic", figure: count(lagOf(topic)), what: "records wait", flow: last.sink_docs_per_s, rows: partitionRows(topic) },
    { id: "tasks", figure: rate(last.sink_docs_per_s), what: "read", flow: last.sink_docs_per_s, rows: taskRows(tasks ?? []) },
    { id: "bulk", figure: count(bulk?.in_flight), what: "under way", flow: last.indexing_rate_docs_per_s, rows: bulkRows(bulk ?? {}) },
    { id: "nodes", figure: rate(last.indexing_rate_docs_per_s), what: "indexed", flow: null, rows: nodeRows(nodes ?? []) },
  ].map((stage) => ({ ...stage, name: NAMES[stage.id] }));
}

const rate = (value) => figured(value, "/s");
const row = (label, value, more = {}) => ({ label, value, ...more });
const lagOf = (topic) => topic?.partitions?.reduce((sum, { lag }) => sum + (lag ?? 0), 0);

function partitionRows(topic) {
  const partitions = topic?.partitions ?? [];
  const most = Math.max(1, ...partitions.map(({ lag }) => lag ?? 0));
  const shown = partitions.slice(0, MOST_PARTITIONS).map(({ id, lag }) =>
    row(`${id}`, count(lag), { share: (lag ?? 0) / most }));
  const rest = partitions.slice(MOST_PARTITIONS);
  return rest.length ? [...shown, row(`${rest.length} more`, count(lagOf({ partitions: rest })))] : shown;
}

function taskRows(tasks) {
  const bad = tasks.filter(({ state }) => state !== RUNNING);
  const inOrder = [...bad, ...tasks.filter(({ state }) => state === RUNNING)];
  const shown = inOrder.slice(0, MOST_TASKS).map(({ id, state, reason }) =>
    row(`${state === RUNNING ? "●" : "✗"} ${id}`, state.toLowerCase(), { isBad: state !== RUNNING, note: reason }));
  const rest = inOrder.slice(MOST_TASKS), down = rest.filter(({ state }) => state !== RUNNING).length;
  const words = down ? `${down} not running` : "running";
  return rest.length ? [...shown, row(`${rest.length} more`, words, { isBad: down > 0 })] : shown;
}

function bulkRows(bulk) {
  return [
    row("answered", count(bulk.requests)),
    row("documents each", number(bulk.mean_documents)),
    row("service time", figured(bulk.mean_service_time_ms, "ms")),
    row("retried", count(bulk.retries), { isBad: bulk.retries > 0 }),
    row("items retried", count(bulk.item_retries), { isBad: bulk.item_retries > 0 }),
    row("failed", count(bulk.failed), { isBad: bulk.failed > 0 }),
  ];
}

function nodeRows(nodes) {
  const shown = nodes.slice(0, MOST_NODES).flatMap((node) => [
    row(node.name, "", { isHead: true }),
    row("rate", rate(node.rate)),
    row("CPU", share(node.cpu_percent), { share: (node.cpu_percent ?? 0) / 100 }),
    row("heap", share(node.heap_percent), { share: (node.heap_percent ?? 0) / 100 }),
    row("segments", count(node.segments)),
    row("merges", count(node.merges)),
    row("write queue", count(node.write_queue)),
    row("rejected", count(node.write_rejected), { isBad: node.write_rejected > 0 }),
  ]);
  return nodes.length > MOST_NODES ? [...shown, row(`${nodes.length - MOST_NODES} more nodes`, "")] : shown;
}

const share = (percent) => percent == null ? UNKNOWN : figured(percent, "%");

/** The picture: side by side, or below each other where there is little room. Lengths are pixels of the page. */
function picture(stages, slow, width, title) {
  const isTall = width < NARROW_PX;
  const boxWidth = isTall ? width : (width - GAP * (stages.length - 1)) / stages.length;
  const heights = stages.map(({ rows }) => HEAD + rows.length * LINE + PAD);
  const height = isTall ? heights.reduce((sum, one) => sum + one + GAP, -GAP) : Math.max(...heights);
  const most = Math.max(1, ...stages.map(({ flow }) => flow ?? 0));
  const parts = [];
  let at = 0;
  stages.forEach((stage, place) => {
    const [x, y] = isTall ? [0, at] : [at, 0];
    const boxHeight = isTall ? heights[place] : height;
    parts.push(stageBox(stage, { x, y, width: boxWidth, height: boxHeight }, stage.id === slow));
    at += (isTall ? boxHeight : boxWidth) + GAP;
    if (place < stages.length - 1) {
      const from = isTall ? [boxWidth / 2, at - GAP] : [at - GAP, height / 2];
      parts.push(arrow(from, isTall, (stage.flow ?? 0) / most));
    }
  });
  return draw("svg", { viewBox: `-3 -12 ${width + 6} ${height + 16}`, width: width + 6, height: height + 16, role: "img", "aria-label": `The pipeline. ${title}` }, parts);
}

function stageBox(stage, { x, y, width, height }, isSlow) {
  return draw("g", { class: isSlow ? "stage is-slow" : "stage", transform: `translate(${x},${y})`, "data-stage": stage.id },
    draw("rect", { class: "box", width, height, rx: 8 }),
    draw("text", { class: "name", x: PAD, y: 22 }, stage.name),
    draw("text", { class: "figure", x: PAD, y: 48 }, stage.figure,
      draw("tspan", { class: "what", dx: 6 }, fitted(stage.what, width - 2 * PAD - 6 - stage.figure.length * 11))),
    stage.rows.map((one, place) => rowOf(one, HEAD + place * LINE + 9, width)),
    isSlow && draw("g", { transform: `translate(${width - 108},-11)` },
      draw("rect", { class: "flag", width: 98, height: 22, rx: 11 }),
      draw("text", { class: "flag-text", x: 49, y: 15.5, "text-anchor": "middle" }, "⚠ bottleneck")));
}

function rowOf({ label, value, share: filled, isBad, isHead, note }, y, width) {
  const inside = width - 2 * PAD;
  const kind = `row${isBad ? " is-bad" : ""}${isHead ? " is-head" : ""}`;
  const room = inside - value.length * LETTER_PX - 6 - (filled == null ? 0 : inside * BAR_WIDTH);
  const barX = PAD + inside * 0.3;
  return draw("g", { class: kind },
    note && draw("title", {}, note),
    draw("text", { x: PAD, y }, fitted(label, room)),
    filled != null && draw("rect", { class: "track", x: barX, y: y - 9, width: inside * BAR_WIDTH, height: 9, rx: 2 }),
    filled != null && draw("rect", { class: "bar", x: barX, y: y - 9, width: Math.max(0, Math.min(1, filled)) * inside * BAR_WIDTH, height: 9, rx: 2 }),
    draw("text", { class: "value", x: PAD + inside, y, "text-anchor": "end" }, isBad ? `⚠ ${value}` : value));
}

/** As much of a text as there is room for. */
function fitted(text, room) {
  const letters = Math.floor(room / LETTER_PX);
  return text.length <= letters ? text : `${text.slice(0, Math.max(0, letters - 1))}…`;
}

/** An arrow across a gap, the thicker the more flows. */
function arrow([x, y], isDown, flow) {
  const thick = 2 + 6 * flow, length = GAP - 8, head = thick / 2 + 5;
  const shape = `M0,${-thick / 2}H${length - 9}V${-head}L${length},0L${length - 9},${head}V${thick / 2}H0Z`;
  return draw("path", { class: "arrow", d: shape, transform: `translate(${x + (isDown ? 0 : 4)},${y + (isDown ? 4 : 0)})${isDown ? " rotate(90)" : ""}` });
}
