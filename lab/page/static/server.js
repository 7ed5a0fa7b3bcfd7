// What goes to the server and comes from it. The token of the printed address stays in this tab.
const TOKEN = "sluice-token";
const RETRY_MS = 1000;
const QUIET_MS = 10_000;
const LOOK_MS = 2000, ANSWER_MS = 5000;

/** Takes the token out of the address, so that neither a bookmark nor a picture of the window holds it. */
export function keepToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return;
  sessionStorage.setItem(TOKEN, token);
  history.replaceState(null, "", "#now");
}

export const mayWrite = () => sessionStorage.getItem(TOKEN) !== null;
export const LOCKED = "This tab may only look: open the address that the command printed, with its token.";

/** The JSON at an address. Rejects with the server's own sentence. */
export const read = (path) => asked(path, {});

/** Sends JSON. Rejects with the server's own sentence. */
export const write = (path, body, signal) => asked(path, {
  method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal,
});

async function asked(path, request) {
  let response;
  try {
    const headers = { ...request.headers, "X-Sluice-Token": sessionStorage.getItem(TOKEN) ?? "" };
    response = await fetch(path, { cache: "no-store", ...request, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The page’s server does not answer.");
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.error ?? `The server answered with status ${response.status}.`);
  return answer;
}

/**
 * Follows the server's events for as long as the page is open. `heard` holds a function for each kind of event, besides
 * `found` and `lost`. A connection that is lost is made anew each second; its first event is the whole state.
 */
export function follow(heard) {
  let source, lastMs = performance.now();
  const connect = () => {
    source?.close();
    if (document.hidden) return;
    source = new EventSource("/api/events");
    source.onopen = () => { lastMs = performance.now(); heard.found(); };
    source.onerror = again;
    for (const kind of ["now", "points", "charts", "suite", "end"]) {
      source.addEventListener(kind, (event) => {
        lastMs = performance.now();
        heard[kind](JSON.parse(event.data));
      });
    }
  };
  // A browser has six connections to a server over all its tabs: one that nobody looks at must not hold any.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) source?.close();
    else connect();
  });
  const again = () => {
    source.close();
    heard.lost();
    setTimeout(connect, RETRY_MS);
  };
  // A server that hangs closes no connection: where nothing was heard for a while, it is asked whether it is there.
  setInterval(async () => {
    if (source?.readyState !== EventSource.OPEN || performance.now() - lastMs < QUIET_MS) return;
    lastMs = performance.now();
    const answer = await fetch("/static/icon.svg", { cache: "no-store", signal: AbortSignal.timeout(ANSWER_MS) })
      .catch(() => null);
    if (!answer?.ok && source.readyState === EventSource.OPEN) again();
  }, LOOK_MS);
  connect();
}
