// SPDX-License-Identifier: Apache-2.0
// One colour a phase or cause, in all views: variables of the style sheet, which differ by theme.

/**
 * The variable of the style sheet that holds a colour of the data.
 * @param {string} colour
 */
function colourVariable(colour) {
  return "--" + (/^[a-z_]+$/.test(colour) ? colour.replace(/_/g, "-") : "other");
}

/** @param {string} colour */
function colourStyle(colour) {
  return "var(" + colourVariable(colour) + ", var(--other))";
}

/**
 * The colour itself, for a canvas.
 * @param {string} colour
 */
function colourValue(colour) {
  const style = getComputedStyle(document.documentElement);
  return style.getPropertyValue(colourVariable(colour)).trim() || style.getPropertyValue("--other").trim();
}

/**
 * How bright a colour is (WCAG 2's relative luminance), 0 to 1.
 * @param {string} colour "#rrggbb"
 */
function luminance(colour) {
  const channels = [1, 3, 5].map((at) => {
    const value = parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2];
}

/**
 * A colour between two, in equal steps of their channels.
 * @param {string} from "#rrggbb"
 * @param {string} to
 * @param {number} share 0 to 1
 */
function mixedColour(from, to, share) {
  const channel = (/** @type {string} */ colour, /** @type {number} */ at) => parseInt(colour.slice(at, at + 2), 16);
  const mixed = [1, 3, 5].map((at) => Math.round(channel(from, at) + (channel(to, at) - channel(from, at)) * share));
  return "#" + mixed.map((value) => value.toString(16).padStart(2, "0")).join("");
}

/**
 * White or near black, whichever contrasts more with the colour below the text.
 * @param {string} colour "#rrggbb"
 */
function textColourOn(colour) {
  const light = luminance(colour);
  const onWhite = 1.05 / (light + 0.05);
  const onBlack = (light + 0.05) / (luminance("#10151b") + 0.05);
  return onWhite > onBlack ? "#ffffff" : "#10151b";
}
