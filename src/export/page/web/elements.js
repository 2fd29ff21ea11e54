// SPDX-License-Identifier: Apache-2.0
// Elements of the document. Texts of the program are set as text here, and nowhere is HTML parsed.

/** @typedef {string | number | Node | null | undefined | false} Child */
/** @typedef {Object<string, string | number | boolean | null | undefined | ((event: any) => void)>} Attributes */

const svgNamespace = "http://www.w3.org/2000/svg";

/**
 * @param {Element} parent
 * @param {Attributes} attributes
 * @param {Child[]} children
 */
function fill(parent, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") parent.addEventListener(name, value);
    else if (value === true) parent.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) parent.setAttribute(name, String(value));
  }
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(typeof child === "number" ? String(child) : child);
  }
}

/**
 * An HTML element. A function as attribute listens to the event of that name.
 * @param {string} tag "td" or "td.n"
 * @param {Attributes} [attributes]
 * @param {Child[]} children
 * @returns {HTMLElement}
 */
function element(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const made = document.createElement(name);
  if (classes.length) made.className = classes.join(" ");
  fill(made, attributes, children);
  return made;
}

/**
 * An element of a drawing.
 * @param {string} tag
 * @param {Attributes} [attributes]
 * @param {Child[]} children
 * @returns {SVGElement}
 */
function drawn(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const made = /** @type {SVGElement} */ (document.createElementNS(svgNamespace, name));
  if (classes.length) made.setAttribute("class", classes.join(" "));
  fill(made, attributes, children);
  return made;
}

/**
 * A small square in the colour of a part, before its name.
 * @param {string} colour
 */
function swatch(colour) {
  const made = element("span.swatch", { "aria-hidden": "true" });
  made.style.background = colourStyle(colour);
  return made;
}

/** @type {Map<string, number>} */
const textWidths = new Map();
/** @type {CanvasRenderingContext2D | null} */
let textMeasure = null;

/**
 * How wide a text is in the page's font: it differs between systems, so that it is measured.
 * @param {string} text
 * @param {number} [size] px
 * @param {number} [weight]
 */
function textWidth(text, size = 12, weight = 400) {
  const key = size + "/" + weight + "/" + text;
  const known = textWidths.get(key);
  if (known !== undefined) return known;
  textMeasure = textMeasure ?? document.createElement("canvas").getContext("2d");
  if (!textMeasure) return text.length * size * 0.6;
  textMeasure.font = weight + " " + size + "px " + getComputedStyle(document.body).fontFamily;
  const width = textMeasure.measureText(text).width;
  if (textWidths.size > 20000) textWidths.clear();
  textWidths.set(key, width);
  return width;
}

/**
 * As much of a text as fits, with an ellipsis where it is cut, or "" if not even three characters do.
 * @param {string} text
 * @param {number} room px
 * @param {number} [size]
 */
function fittingText(text, room, size = 12) {
  if (room < 12) return "";
  if (text.length > 300) text = text.slice(0, 300);
  if (textWidth(text, size) <= room) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (textWidth(text.slice(0, middle) + "…", size) <= room) low = middle;
    else high = middle - 1;
  }
  return low >= 3 ? text.slice(0, low).trimEnd() + "…" : "";
}

/**
 * A text in lines that fit, broken between words.
 * @param {string} text
 * @param {number} room px
 * @param {number} [size]
 */
function wrappedText(text, room, size = 12) {
  /** @type {string[]} */
  const lines = [];
  for (const word of text.split(" ")) {
    const longer = lines.length > 0 ? lines[lines.length - 1] + " " + word : word;
    if (lines.length > 0 && textWidth(longer, size) <= room) lines[lines.length - 1] = longer;
    else lines.push(fittingText(word, room, size) || word);
  }
  return lines;
}

/**
 * Says something to those who hear the page. What it says is read out when the reader pauses.
 * @param {string} text
 */
function announce(text) {
  let region = document.getElementById("live");
  if (!region) {
    region = element("div.unseen", { id: "live", role: "status", "aria-live": "polite" });
    document.body.append(region);
  }
  region.textContent = text;
}

/**
 * Buttons of which one is pressed.
 * @param {string} label
 * @param {[string, string][]} choices value and text
 * @param {string} chosen
 * @param {(value: string) => void} choose
 * @returns {{group: HTMLElement, press: (value: string) => void}}
 */
function switchButtons(label, choices, chosen, choose) {
  const group = element("div.switch", { role: "group", "aria-label": label });
  /** @type {Map<string, HTMLElement>} */
  const buttons = new Map();
  const press = (/** @type {string} */ value) => {
    for (const [key, button] of buttons) button.setAttribute("aria-pressed", String(key === value));
  };
  for (const [value, text] of choices) {
    const button = element("button", { type: "button", click: () => { press(value); choose(value); } }, text);
    buttons.set(value, button);
    group.append(button);
  }
  press(chosen);
  return { group, press };
}
