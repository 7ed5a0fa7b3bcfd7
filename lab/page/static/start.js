// Starting a run or a suite, and breaking one off. Every setting is checked as `--set` checks it, by the server.
import { find, make, reveal, say } from "./dom.js";
import { isAlive } from "./now.js";
import { LOCKED, mayWrite, read, write } from "./server.js";
import { runningOf } from "./suite.js";
import { sentence } from "./text.js";

const TYPING_MS = 300;

const known = { run: null, suite: null };
const rows = [];
let made = 0, stopped = "", typing, checking = new AbortController();

/** Binds both dialogs. `started` is called once a run has been started. */
export function bind(started) {
  find("open-start").addEventListener("click", open);
  find("start-cancel").addEventListener("click", () => find("start").close());
  find("start-add").addEventListener("click", () => addSetting().input.focus());
  find("start-name").addEventListener("change", named);
  find("start-minutes").addEventListener("input", later);
  for (const radio of find("start-form").elements.kind) radio.addEventListener("change", kindChosen);
  find("start-form").addEventListener("submit", (event) => { event.preventDefault(); start(started); });
  find("open-stop").addEventListener("click", () => { say(find("stop-wrong"), ""); find("stop").showModal(); });
  find("stop-cancel").addEventListener("click", () => find("stop").close());
  find("stop").querySelector("form").addEventListener("submit", (event) => { event.preventDefault(); stop(); });
}

/** Offers what can be done now: start where nothing runs, stop where something does. */
export function offer(model) {
  const { run, suite, child, page } = model;
  const isBusy = Boolean((run && !run.state.ended && isAlive(run)) || runningOf(suite) || child?.running);
  // The command of the page has no run yet: it is starting its servers.
  reveal(find("open-start"), !isBusy && !(page?.ends_with_it && !run));
  reveal(find("open-stop"), isBusy && mayWrite());
  const what = model.isStarting() ? child.command : runningOf(suite) ? `the suite ${suite.name}` : run ? `the run ${run.profile} ${run.id}` : "the run";
  stopped = model.isStarting() ? "" : (runningOf(suite) ? suite : run)?.folder ?? "";
  say(find("stop-words"), `This stops ${what}. What it has measured so far stays in its folder, marked as interrupted.`);
}

const kind = () => find("start-form").elements.kind.value;

async function open() {
  const locked = !mayWrite();
  say(find("start-locked"), locked ? LOCKED : "");
  reveal(find("start-locked"), locked);
  find("start-go").disabled = locked;
  say(find("start-wrong"), "");
  if (!rows.length) addSetting();
  find("start").showModal();
  await kindChosen();
}

async function kindChosen() {
  const chosen = kind();
  say(find("start-title"), `Start a ${chosen}`);
  reveal(find("start-minutes-row"), chosen === "suite");
  if (!mayWrite()) return;
  try {
    known[chosen] ??= await read(chosen === "run" ? "/api/profiles" : "/api/suites");
  } catch (error) {
    return say(find("start-wrong"), error.message);
  }
  if (chosen !== kind()) return;
  find("start-name").replaceChildren(...known[chosen].map(({ name }) => make("option", { value: name }, name)));
  if (chosen === "run" && known.run.some(({ name }) => name === "quickstart")) find("start-name").value = "quickstart";
  await named();
}

async function named() {
  const chosen = kind(), name = find("start-name").value;
  const entry = known[chosen]?.find((one) => one.name === name);
  say(find("start-question"), entry ? [entry.question, [entry.dataset, entry.mapping].filter(Boolean).join(", ")].filter(Boolean).join(" · ") : "");
  later();
  try {
    const { settings } = await read(`/api/${chosen === "run" ? "profiles" : "suites"}/${name.split("/").map(encodeURIComponent).join("/")}`);
    if (name !== find("start-name").value) return;
    find("start-known").replaceChildren(...(settings ?? []).map(({ key, value }) =>
      make("option", { value: `${key}=${typeof value === "object" ? JSON.stringify(value) : value}` })));
  } catch {
    find("start-known").replaceChildren();  // without them, only the suggestions are missing
  }
}

/** A field for one `key=value`, with what the server says of it beneath. */
function addSetting() {
  const id = `setting-${++made}`;
  const input = make("input", {
    id, type: "text", list: "start-known", placeholder: "index.number_of_shards=2", spellcheck: "false", "aria-label": "Setting, key=value",
    "aria-describedby": `${id}-wrong`, oninput: later,
  });
  const wrong = make("p", { class: "wrong", id: `${id}-wrong`, role: "status" });
  const row = { input, wrong };
  const remove = make("button", { type: "button", "aria-label": "Remove this setting", onclick: () => {
    element.remove();
    rows.splice(rows.indexOf(row), 1);
    find("start-add").focus();
    later();
  } }, "×");
  const element = make("div", { class: "setting" }, input, remove, wrong);
  rows.push(row);
  find("start-settings").append(element);
  return row;
}

function asked(settings) {
  const minutes = find("start-minutes").valueAsNumber;
  const body = { kind: kind(), name: find("start-name").value, settings };
  return kind() === "suite" && minutes > 0 ? { ...body, minutes } : body;
}

const written = () => rows.map(({ input }) => input.value.trim()).filter(Boolean);

/** Checks what is written, once typing has paused. */
function later() {
  clearTimeout(typing);
  if (mayWrite() && find("start-name").value) typing = setTimeout(check, TYPING_MS);
}

async function check() {
  checking.abort();
  const { signal } = checking = new AbortController();
  const judged = async (settings) => {
    try {
      return await write("/api/check", asked(settings), signal);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      return { wrong: error.message };
    }
  };
  try {
    const answers = await Promise.all(rows.map(({ input }) => input.value.trim() ? judged([input.value.trim()]) : {}));
    const whole = await judged(written());
    if (signal.aborted) return;
    const sentences = new Set(answers.map(({ wrong }) => wrong).filter(Boolean));
    rows.forEach(({ input, wrong }, place) => {
      say(wrong, answers[place]?.wrong ?? "");
      input.setAttribute("aria-invalid", String(Boolean(answers[place]?.wrong)));
    });
    // What is wrong with one setting stands beneath it; here stands what is wrong with all of them together.
    say(find("start-wrong"), sentences.size ? "" : whole.wrong ?? "");
    reveal(find("start-command-row"), Boolean(whole.command));
    say(find("start-command"), whole.command ?? "");
    find("start-go").disabled = Boolean(whole.wrong);
  } catch (error) {
    if (error.name !== "AbortError") say(find("start-wrong"), error.message);
  }
}

async function start(started) {
  clearTimeout(typing);
  find("start-go").disabled = true;
  try {
    await write("/api/start", asked(written()));
    find("start").close();
    started(find("start-name").value);
  } catch (error) {
    say(find("start-wrong"), error.message);
  } finally {
    find("start-go").disabled = false;
  }
}

async function stop() {
  find("stop-go").disabled = true;
  try {
    await write(`/api/stop?of=${encodeURIComponent(stopped)}`, {});
    find("stop").close();
  } catch (error) {
    say(find("stop-wrong"), sentence(error.message));
  } finally {
    find("stop-go").disabled = false;
  }
}
