// Figures as the reports write them: three digits that matter, a comma between thousands, the unit that fits.
const NARROW = "\u202f";
export const UNKNOWN = "–";
const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const THREE_DIGITS = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });

/** A whole number, every digit of it: `100,000`. */
export const count = (value) => value == null ? UNKNOWN : WHOLE.format(value);

/** A measured number, rounded to what can be read: `52,700`, `28.4`, `0.31`. */
export function number(value) {
  if (value == null) return UNKNOWN;
  const size = Math.abs(Number(value.toPrecision(3)));
  if (size >= 100) return THREE_DIGITS.format(value);
  if (Number.isInteger(value)) return String(value);
  if (size >= 10) return value.toFixed(1);
  return size >= 0.1 ? value.toFixed(2) : String(Number(value.toPrecision(2)));
}

/** A time in seconds: `4.3 s`, `2 min 13 s`. */
export function duration(seconds) {
  if (seconds == null) return UNKNOWN;
  if (seconds < 120) return `${number(seconds < 10 ? seconds : Math.round(seconds))}${NARROW}s`;
  const whole = Math.round(seconds), minutes = Math.floor(whole / 60);
  if (minutes < 120) return `${minutes}${NARROW}min ${whole % 60}${NARROW}s`;
  return `${Math.floor(minutes / 60)}${NARROW}h ${minutes % 60}${NARROW}min`;
}

/** [figure, unit], to be set apart: `["52,700", "/s"]`, `["0.31", " ms"]`. */
export function figure(value, unit) {
  if (value == null) return [UNKNOWN, ""];
  if (unit === "s" || (unit === "ms" && value >= 10_000)) return [duration(unit === "s" ? value : value / 1000), ""];
  if (unit === "count") return [count(value), ""];
  if (unit === "bytes") return size(value);
  return [number(value), unit.startsWith("/") ? unit : NARROW + unit];
}

/** A size in decimal units. */
function size(bytes) {
  const names = ["bytes", "kB", "MB", "GB", "TB"];
  const place = bytes >= 1 ? Math.min(names.length - 1, Math.floor(Math.log10(bytes) / 3 + 1e-9)) : 0;
  return [number(bytes / 1000 ** place), NARROW + names[place]];
}

/** The same in one piece. */
export const figured = (value, unit) => figure(value, unit).join("");

/** A sentence with a capital and a full stop. */
export const sentence = (text) => text ? `${text[0].toUpperCase()}${text.slice(1).replace(/\.$/, "")}.` : "";

/** `1 run`, `3 runs`. */
export const several = (amount, noun) => `${count(amount)} ${noun}${amount === 1 ? "" : "s"}`;

/** An instant as this machine's clock shows it: `2026-11-23 14:05`. */
export function instant(at_s) {
  if (at_s == null) return UNKNOWN;
  const at = new Date(at_s * 1000), two = (value) => String(value).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** A metric's name in words where no label comes with it: `end_to_end_latency_ms_p99` → `end to end latency ms p99`. */
export const words = (name) => name.replaceAll("_", " ");
