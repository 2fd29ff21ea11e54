// SPDX-License-Identifier: Apache-2.0
// Addresses within the file: #steps=19, #where=blocks/mlp&by=gpu, #kernels?q=gemm&sort=mean, #answer=tick:1,3.

/**
 * @param {string} text
 */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Characters that may stand in an address as they are, so that people can read it.
 * @param {string} text
 */
function encoded(text) {
  return encodeURIComponent(text).replace(/%2F/g, "/").replace(/%3A/g, ":").replace(/%2C/g, ",").replace(/%20/g, "+");
}

/**
 * @param {string} hash with or without its '#'
 * @returns {Address | null}
 */
function readAddress(hash) {
  const found = /^#?([a-z]+)(?:=([^?&]*))?(?:[?&](.*))?$/s.exec(hash);
  if (!found) return null;
  /** @type {Object<string, string>} */
  const settings = Object.create(null);
  for (const pair of (found[3] ?? "").split("&")) {
    const [name, value = ""] = pair.split(/=(.*)/s);
    if (name) settings[decoded(name)] = decoded(value.replace(/\+/g, " "));
  }
  return { view: found[1], selection: decoded((found[2] ?? "").replace(/\+/g, " ")), settings };
}

/**
 * @param {Address} address
 */
function addressText(address) {
  let text = "#" + address.view + (address.selection ? "=" + encoded(address.selection) : "");
  let mark = address.selection ? "&" : "?";
  for (const [name, value] of Object.entries(address.settings)) {
    if (value === "") continue;
    text += mark + encoded(name) + "=" + encoded(value);
    mark = "&";
  }
  return text;
}

/**
 * Puts a view's state into the location. A choice can be undone with the browser's button back, typing cannot.
 * @param {string} view
 * @param {string} selection
 * @param {Object<string, string>} [settings]
 * @param {boolean} [isStep] whether "back" returns to the state before
 */
function setAddress(view, selection, settings = {}, isStep = true) {
  const text = addressText({ view, selection, settings });
  if (text === location.hash) return;
  try {
    if (isStep) history.pushState(null, "", text);
    else history.replaceState(null, "", text);
  } catch {
    // Some viewers of files refuse this; the page works without addresses.
  }
}
