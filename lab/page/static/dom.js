// Elements, made and changed without markup: whatever a server says is shown as text.
const SVG = "http://www.w3.org/2000/svg";
const keys = new WeakMap();

export const find = (id) => document.getElementById(id);

/** An HTML element. Attributes that are null or false are left out; functions listen to the event `onNAME`. */
export const make = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);

/** An SVG element, made likewise. */
export const draw = (tag, attributes, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value != null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child != null && child !== false));
  return element;
}

/** Sets an element's text where it is another one: a screen reader hears no news that are none. */
export function say(element, text) {
  const words = text ?? "";
  if (element.textContent !== words) element.textContent = words;
  return element;
}

/** Shows an element or not. */
export function reveal(element, isShown) {
  if (element.hidden === isShown) element.hidden = !isShown;
  return element;
}

/** Replaces an element's children, if what they show has changed since the last call: focus and scrolling stay. */
export function rebuild(element, shown, children) {
  if (hasChanged(element, shown)) element.replaceChildren(...[children()].flat());
}

/** Whether an element has shown something else up to now. What has not changed is not laid out anew each second. */
export function hasChanged(element, shown) {
  const key = JSON.stringify(shown);
  const isNew = keys.get(element) !== key;
  keys.set(element, key);
  return isNew;
}

/** A figure with its unit in smaller letters. */
export const measured = ([value, unit]) => unit ? [value, make("span", { class: "unit" }, unit)] : [value];

/**
 * Fills a place with a table that scrolls sideways by itself; its frame stays, and with it the keyboard's focus. Cells
 * from column `numbersFrom` on are numbers; a cell is text or a function that makes a node.
 */
export function tabulate(place, label, head, rows, numbersFrom = Infinity) {
  if (!place.firstElementChild?.matches(".scroll")) {
    place.replaceChildren(make("div", { class: "scroll", role: "region", "aria-label": label, tabindex: "0" }));
  }
  const kind = (column) => column >= numbersFrom ? "number" : null;
  const content = (cell) => typeof cell === "function" ? cell() : cell;
  place.firstElementChild.replaceChildren(make("table", {},
    make("thead", {}, make("tr", {}, head.map((text, column) => make("th", { scope: "col", class: kind(column) }, text)))),
    make("tbody", {}, rows.map((cells) =>
      make("tr", {}, cells.map((cell, column) => make("td", { class: kind(column) }, content(cell))))))));
}

/** Says in a place that there is nothing to show. */
export const nothing = (place, text) => place.replaceChildren(make("p", { class: "empty" }, text));
