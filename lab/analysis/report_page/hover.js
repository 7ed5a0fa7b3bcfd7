// Shows the values under the pointer. Without it, all charts are drawn all the same.
const number = (value) => value.toLocaleString("en-US", { maximumSignificantDigits: 3 });
const at = (x, unit) => unit === "share" ? `${+(100 - 100 / x).toPrecision(4)} % took no longer` : number(x) + unit;

for (const box of document.querySelectorAll("[data-readings]")) {
  const { first, last, x_unit, unit, series, is_logarithmic } = JSON.parse(box.dataset.readings);
  const along = is_logarithmic ? Math.log : Number;
  const frame = box.querySelector(".role-frame .background");
  const rule = document.createElementNS("http://www.w3.org/2000/svg", "path");
  rule.setAttribute("class", "pointed");
  const tip = box.appendChild(document.createElement("div"));
  tip.className = "tip";

  const hide = () => { tip.remove(); rule.remove(); };
  hide();
  const show = (event) => {
    const { width, height } = frame.getBBox();
    const here = new DOMPoint(event.clientX, event.clientY).matrixTransform(frame.getScreenCTM().inverse());
    if (here.x < -5 || here.x > width + 5) return hide();
    const place = (x) => (along(x) - along(first)) / (along(last) - along(first)) * width;
    const nearest = Object.entries(series).map(([name, points]) =>
      [name, ...points.reduce((best, point) =>
        Math.abs(place(point[0]) - here.x) < Math.abs(place(best[0]) - here.x) ? point : best)]);
    const x = nearest.reduce((best, [, other]) =>
      Math.abs(place(other) - here.x) < Math.abs(place(best) - here.x) ? other : best, nearest[0][1]);
    const lines = nearest.filter(([, other]) => Math.abs(place(other) - place(x)) < 8);
    tip.innerText = [at(x, x_unit), ...lines.map(([name, , y]) => `${name}: ${number(y)} ${unit}`)].join("\n");
    rule.setAttribute("d", `M${place(x)},0v${height}`);
    frame.parentNode.append(rule);
    box.append(tip);
    const pointed = event.clientX - box.getBoundingClientRect().left;
    const left = pointed < box.clientWidth / 2 ? pointed + 12 : pointed - 12 - tip.offsetWidth;
    tip.style.left = `${Math.max(0, Math.min(left, box.clientWidth - tip.offsetWidth))}px`;
  };
  box.addEventListener("pointermove", show);
  box.addEventListener("pointerdown", show);
  box.addEventListener("pointerleave", hide);
}
