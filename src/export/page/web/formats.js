// SPDX-License-Identifier: Apache-2.0
// Numbers and names as people read them.

const thinSpace = "\u2009";
const minusSign = "\u2212";

/**
 * A number with commas between thousands and a true minus.
 * @param {number} value
 * @param {number} decimals
 * @param {boolean} [signed] a plus before what is above 0
 */
function numberText(value, decimals, signed = false) {
  const fixed = Math.abs(value).toFixed(decimals);
  const [whole, fraction] = fixed.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  const isZero = Number(fixed) === 0;
  const sign = isZero ? "" : value < 0 ? minusSign : signed ? "+" : "";
  return sign + grouped + (fraction ? "." + fraction : "");
}

/** The unit of all times a step: that of the first screen. */
let timeUnit = { name: "ms", ns: 1e6, decimals: 2 };

/** @param {{name: string, ns: number, decimals: number} | undefined} unit */
function setTimeUnit(unit) {
  if (unit) timeUnit = unit;
}

const unitName = () => (timeUnit.name === "us" ? "µs" : timeUnit.name);
const unitText = () => " " + unitName();

/**
 * A time of a step, in the page's unit and with its decimals.
 * @param {number} ns
 * @param {boolean} [signed]
 * @param {number} [more] decimals
 */
function stepTime(ns, signed = false, more = 0) {
  return numberText(ns / timeUnit.ns, timeUnit.decimals + more, signed);
}

/**
 * The same for kernels, which are shorter.
 * @param {number} ns
 */
function kernelTime(ns) {
  return stepTime(ns, false, timeUnit.decimals < 3 ? 1 : 0);
}

/**
 * A time in the page's unit with three digits, as sentences have them.
 * @param {number} ns
 */
function roughTime(ns) {
  return threeDigits(ns / timeUnit.ns);
}

/**
 * Three digits: "24.7", "3.70", "0.416", "2,595".
 * @param {number} value
 */
function threeDigits(value) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  // 99.96 is written as 100, not as 100.0.
  const digits = Math.floor(Math.log10(Number(size.toPrecision(3)))) + 1;
  return numberText(value, Math.min(3, Math.max(0, 3 - digits)));
}

/**
 * Milliseconds with three digits.
 * @param {number} ns
 */
function roughMilliseconds(ns) {
  return threeDigits(ns / 1e6);
}

/**
 * A share: whole per cent from 10 %, one decimal below.
 * @param {number} share 0 to 1
 */
function shareText(share) {
  const percent = share * 100;
  if (percent > 0 && percent < 0.1) return "<0.1" + thinSpace + "%";
  const decimals = Math.abs(Number(percent.toFixed(1))) < 10 && percent !== 0 ? 1 : 0;
  return numberText(percent, decimals) + thinSpace + "%";
}

/**
 * A duration in the unit that suits it.
 * @param {number} ns
 */
function durationText(ns) {
  const length = Math.abs(ns);
  if (length >= 999.5e6) return numberText(ns / 1e9, length >= 9.995e9 ? 1 : 2) + " s";
  if (length >= 999.5e3) return roughMilliseconds(ns) + " ms";
  return numberText(ns / 1e3, length < 9.95e3 ? 2 : 1) + " µs";
}

/**
 * A number of times a step: whole where it is, else with as many digits as tell something.
 * @param {number} count
 */
function countText(count) {
  if (count > 0 && count < 0.005) return "<0.01";
  if (Math.abs(count - Math.round(count)) < 0.005 || count >= 100) return numberText(count, 0);
  return numberText(count, count >= 10 ? 1 : 2);
}

/**
 * @param {number} bytes
 */
function bytesText(bytes) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  const value = bytes / 1000 ** power;
  return numberText(value, power === 0 ? 0 : value < 9.9995 ? 3 : value < 99.995 ? 2 : 1) + " " + units[power];
}

/**
 * Memory, as the reports have it: two decimals, of powers of 1,000.
 * @param {number} bytes
 */
function memoryText(bytes) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let [value, unit] = [Math.abs(bytes), 0];
  for (; value >= 1000 && unit + 1 < units.length; ++unit) value /= 1000;
  return (bytes < 0 ? minusSign : "") + (unit === 0 ? String(value) : value.toFixed(2)) + " " + units[unit];
}

/**
 * "1 step", "2 steps".
 * @param {number} count
 * @param {string} noun
 */
function plural(count, noun) {
  return numberText(count, 0) + " " + (count === 1 ? noun : noun + "s");
}

/**
 * A value of a counter, with four digits.
 * @param {number} value
 */
function valueText(value) {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e9)) return value.toExponential(2).replace("-", minusSign);
  if (Number.isInteger(value)) return numberText(value, 0);
  return numberText(value, Math.min(6, Math.max(0, 3 - Math.floor(Math.log10(size)))));
}

/**
 * A name that may be long, cut in its middle so that both ends can be told.
 * @param {string} text
 * @param {number} most characters
 */
function shortened(text, most) {
  const characters = Array.from(text);
  if (characters.length <= most) return text;
  const tail = Math.floor(most / 3);
  return characters.slice(0, most - tail - 1).join("") + "…" + characters.slice(-tail).join("");
}

/**
 * Distances between marks of an axis: 1, 2 or 5 times a power of ten, at most `count` of them.
 * @param {number} length
 * @param {number} count
 */
function axisStep(length, count) {
  if (!(length > 0)) return 1;
  const least = length / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(least));
  for (const factor of [1, 2, 5]) {
    if (factor * power >= least * 0.999999) return factor * power;
  }
  return 10 * power;
}

/**
 * One field of a CSV file (RFC 4180). What a spreadsheet would take for a formula gets an apostrophe.
 * @param {string} text
 */
function csvField(text) {
  const plain = text.replace(/\u2212/g, "-").replace(/\u2009/g, " ");
  const isNumber = /^[+-]?[\d,]*\.?\d+$/.test(plain);
  const safe = isNumber ? plain.replace(/,/g, "") : /^[=+\-@\t\r]/.test(plain) ? "'" + plain : plain;
  return /[",\r\n]/.test(safe) ? '"' + safe.replace(/"/g, '""') + '"' : safe;
}
