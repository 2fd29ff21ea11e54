// SPDX-License-Identifier: Apache-2.0
// Terms, whose definition shows on focus, below the mouse and when tapped.

/** @type {Map<string, string>} */
const definitions = new Map();

/** @param {Results} results */
function readTerms(results) {
  for (const [term, sentence] of results.views.terms?.list ?? []) definitions.set(term.toLowerCase(), sentence);
}

/** @type {HTMLElement | null} */
let tip = null;
/** @type {Element | null} */
let tipOwner = null;

function hideTip() {
  tip?.remove();
  tipOwner?.removeAttribute("aria-describedby");
  tip = null;
  tipOwner = null;
}

/**
 * Shows texts below a place of the window.
 * @param {Element | null} owner which they describe
 * @param {DOMRect | {left: number, bottom: number, top: number}} place
 * @param {Child[]} children
 */
function showTip(owner, place, ...children) {
  hideTip();
  tip = element("div", { id: "tip", role: "tooltip" }, ...children);
  document.body.append(tip);
  const width = tip.offsetWidth;
  const height = tip.offsetHeight;
  const left = Math.max(8, Math.min(document.documentElement.clientWidth - width - 8, place.left));
  const below = place.bottom + 6 + height < innerHeight;
  tip.style.left = left + scrollX + "px";
  tip.style.top = (below ? place.bottom + 6 : Math.max(4, place.top - height - 6)) + scrollY + "px";
  if (owner) {
    owner.setAttribute("aria-describedby", "tip");
    tipOwner = owner;
  }
}

/**
 * A word with its definition, or the word alone where none is known.
 * @param {string} text
 * @param {string} [term] if it is another word than the text
 * @returns {Node}
 */
function termNode(text, term = text) {
  const sentence = definitions.get(term.toLowerCase());
  if (!sentence) return document.createTextNode(text);
  const show = (/** @type {Event} */ event) => {
    const owner = /** @type {HTMLElement} */ (event.currentTarget);
    showTip(owner, owner.getBoundingClientRect(), sentence);
  };
  return element(
    "button.term",
    { type: "button", focus: show, mouseenter: show, click: show, blur: hideTip, mouseleave: hideTip },
    text,
  );
}
