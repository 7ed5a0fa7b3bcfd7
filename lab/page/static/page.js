// The page: which view is shown, and the one model that all views are drawn from.
import { find, reveal, say } from "./dom.js";
import * as now from "./now.js";
import * as pipeline from "./pipeline.js";
import * as suite from "./suite.js";
import * as history from "./history.js";
import * as start from "./start.js";
import { follow, keepToken } from "./server.js";
import { sentence } from "./text.js";

const VIEWS = { now, pipeline, suite, history };
const SHOWN_S = 600;
const GONE = "The page’s server does not answer. Trying again each second.";

/** Seconds since the tab was opened, which go on where a clock is set. */
const steadyS = () => performance.now() / 1000;

const model = {
  run: null, suite: null, child: null, page: null, aheadS: 0,
  before: undefined,  // the run that was shown when the one that was started from here had no folder yet
  isStarting: () => Boolean(model.child?.running && (model.run?.id ?? null) === model.before),
  serverS: () => steadyS() + model.aheadS,
  latest: () => model,
};
let shown = null, isDue = false, announced = "", goodbye = "", hasRead = false;

function view() {
  const name = location.hash.slice(1);
  return name in VIEWS ? name : "now";
}

function turn() {
  const name = view();
  if (name === shown) return;
  const isFirst = shown === null;
  shown = name;
  for (const section of document.querySelectorAll("main > section")) reveal(section, section.dataset.of === name);
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (!isFirst) {
    find("content").focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  if (name === "history") history.show();
  show();
  dispatchEvent(new Event("resize"));  // charts that could not be seen have missed those that there were
}

/** Draws the view with the next picture of the screen: several events at once are one drawing, a hidden tab draws none. */
function show() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    if (hasRead && shown !== "history") VIEWS[shown].show(model);
  });
}

/** What stands around the views, and in the title of the tab. */
function showFrame() {
  const { run } = model, words = now.inShort(run);
  const under = suite.runningOf(model.suite) ? suite.inShort(model.suite) : "";
  say(find("what"), [under, run ? `${run.profile} · ${words}` : ""].filter(Boolean).join(" · "));
  document.title = run ? `${words} · ${run.profile} · Sluice` : "Sluice";
  say(find("foot"), model.page?.ends_with_it ? `This page ends with its command: ${model.page.command}. ./sluice page shows all runs at any time.` : "");
  start.offer(model);
}

/** Tells a screen reader of another phase, of the end, and of nothing else. */
function announce() {
  const { run } = model;
  const words = run ? `${run.profile}: ${now.inShort(run)}${run.state.ended && run.state.reason ? `, ${run.state.reason}` : ""}.` : "";
  if (words === announced) return;
  announced = words;
  say(find("announced"), words);
}

function received() {
  hasRead = true;
  announce();
  showFrame();
  show();
}

const heard = {
  now({ run, suite: under, child = null, page = null, trouble = null, server_s: serverS }) {
    say(find("trouble"), sentence(trouble));
    reveal(find("trouble"), Boolean(trouble));
    const hasEnded = model.run && !model.run.state.ended && run?.state.ended;
    if (hasRead && child?.running && !model.child?.running) model.before = model.run?.id ?? null;
    Object.assign(model, { run, suite: under, child, page, aheadS: serverS - steadyS() });
    received();
    if (shown === "history" && hasEnded) history.show();
  },
  points({ run, points, state }) {
    if (model.run?.id !== run) return;  // the whole of another run is on its way
    const all = [...model.run.points, ...points];
    const lastS = all.at(-1)?.at_s ?? 0;
    const isEnd = !model.run.state.ended && state.ended;
    model.run = { ...model.run, state, points: all.filter(({ at_s: atS }) => atS > lastS - SHOWN_S) };
    received();
    if (shown === "history" && isEnd) history.show();
  },
  charts({ run, charts }) {
    if (model.run?.id !== run) return;
    model.run = { ...model.run, charts };
    received();
  },
  suite(under) {
    model.suite = under;
    received();
  },
  end({ reason }) {
    goodbye = sentence(reason);
  },
  found() {
    goodbye = "";
    reveal(find("lost"), false);
    document.body.classList.remove("is-lost");
  },
  lost() {
    say(find("lost"), goodbye ? `${goodbye} ./sluice page shows what it has left.` : GONE);
    reveal(find("lost"), true);
    document.body.classList.add("is-lost");
  },
};

keepToken();
start.bind((name) => {
  say(find("announced"), `${name} has been started.`);
  location.hash = "#now";
});
find("skip").addEventListener("click", (event) => {
  event.preventDefault();  // the address names the view
  find("content").focus();
});
addEventListener("hashchange", () => { keepToken(); turn(); });
addEventListener("resize", () => { if (shown === "pipeline") show(); });
turn();
follow(heard);
