// SPDX-License-Identifier: Apache-2.0
// Reads the data, has each view drawn, and lets addresses, keys, the window's size, the theme and printing through to them.

/**
 * The JSON in an element of the document.
 * @param {string} id
 * @returns {Promise<any>} null: there is no such element
 */
async function embeddedData(id) {
  const holder = document.getElementById(id);
  if (!holder) return null;
  let text = holder.textContent ?? "";
  if (holder.dataset.encoding === "gzip-base64") {
    const bytes = bytesOfBase64(text.trim());
    const inflater = new /** @type {any} */ (globalThis).DecompressionStream("gzip");
    const stream = new Blob([bytes]).stream().pipeThrough(inflater);
    text = await new Response(stream).text();
  }
  return JSON.parse(text);
}

/**
 * @param {string} text
 * @returns {Uint8Array}
 */
function bytesOfBase64(text) {
  const quick = /** @type {any} */ (Uint8Array).fromBase64;
  if (quick) return quick.call(Uint8Array, text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** @type {Map<string, View>} */
const drawnViews = new Map();

/**
 * Draws a view into its section. What the writer put there for readers without JavaScript goes away only when that worked.
 * @param {{name: string, make: (input: ViewInput) => View}} maker
 * @param {Results} results
 */
function drawView({ name, make }, results) {
  const section = /** @type {HTMLElement | null} */ (document.querySelector(`section[data-view="${name}"]`));
  const figure = /** @type {HTMLElement | null} */ (section?.querySelector(`[data-figure="${name}"]`) ?? null);
  const data = results.views[name];
  if (!section || !figure || !data || data.why) return;
  try {
    const view = make({ section, figure, results, data });
    for (const plain of section.querySelectorAll(".plain")) plain.remove();
    drawnViews.set(name, view);
  } catch (error) {
    figure.replaceChildren();
    console.error(name, error);
  }
}

/**
 * Whether the page has what an address names. If not, it says so, and shows its beginning.
 * @param {Address} address
 */
function hasAddress(address) {
  document.getElementById("no-view")?.remove();
  if (drawnViews.has(address.view) || document.getElementById(address.view) || document.getElementById(location.hash.slice(1))) return true;
  const text = "This page has no view “" + shortened(address.view, 40) + "”: it begins with the answer.";
  document.querySelector("main")?.prepend(element("p.warning", { id: "no-view" }, text));
  scrollTo(0, 0);
  announce(text);
  return false;
}

/** @param {boolean} scrolls */
function followAddress(scrolls) {
  const address = readAddress(location.hash);
  if (!address || !hasAddress(address)) return;
  const view = drawnViews.get(address.view);
  for (const [name, other] of drawnViews) {
    if (name === address.view) other.show?.(address);
  }
  const section = document.getElementById(address.view);
  // An element with an address such as "where=blocks" does not exist, so that the browser does not scroll by itself.
  if (section && scrolls && (view || section.id !== location.hash.slice(1))) section.scrollIntoView();
}

function currentView() {
  const middle = innerHeight / 3;
  let found = null;
  for (const section of document.querySelectorAll("section.view")) {
    if (section.getBoundingClientRect().top <= middle) found = section;
  }
  return found;
}

function markCurrentView() {
  const current = currentView();
  for (const link of document.querySelectorAll("header.top nav a")) {
    if (!current || link.getAttribute("href") !== "#" + current.id) {
      link.removeAttribute("aria-current");
    } else if (!link.hasAttribute("aria-current")) {
      link.setAttribute("aria-current", "true");
      showInBar(/** @type {HTMLElement} */ (link));
    }
  }
}

/**
 * Scrolls the bar of views, where it is narrow, to the one that is current.
 * @param {HTMLElement} link
 */
function showInBar(link) {
  const bar = link.parentElement;
  if (!bar || bar.scrollWidth <= bar.clientWidth) return;
  const [inner, outer] = [link.getBoundingClientRect(), bar.getBoundingClientRect()];
  bar.scrollLeft += inner.left + inner.width / 2 - outer.left - outer.width / 2;
}

/** Light, dark, or as the system has it; the choice is kept where the browser allows it. */
function addTools() {
  const bar = document.querySelector("header.top .bar");
  if (!bar) return;
  const root = document.documentElement;
  try {
    const kept = localStorage.getItem("libprof-theme");
    if (kept === "light" || kept === "dark") root.dataset.theme = kept;
  } catch {
    // Without storage the system's theme is taken.
  }
  const isDark = () => root.dataset.theme === "dark" || (root.dataset.theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  const theme = element("button", { type: "button", id: "theme" });
  const label = () => {
    theme.textContent = isDark() ? "Light" : "Dark";
    theme.setAttribute("aria-label", isDark() ? "Change to the light theme" : "Change to the dark theme");
  };
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("libprof-theme", root.dataset.theme);
    } catch {
      // It holds until the page is closed.
    }
    label();
    redrawViews();
  });
  label();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    label();
    redrawViews();
  });
  const keys = element("button", { type: "button", id: "keys", "aria-label": "List of keys", click: showKeys }, "?");
  bar.append(element("div.tools", {}, theme, keys));
}

function redrawViews() {
  for (const view of drawnViews.values()) view.redraw?.();
}

const keyList = [
  ["/", "search in the view"],
  ["?", "this list"],
  ["Esc", "close, or clear the search"],
  ["← →  Home End", "ranks, steps, memory: pick another; where: move among cells; timeline: move"],
  ["M  S", "steps: the median step, the slowest step"],
  ["M  H", "memory: the median step, the highest step"],
  ["Enter", "steps: show it in time; where: zoom in; kernels: open"],
  ["Backspace", "where: zoom out"],
  ["+  −  0", "timeline: zoom in, out, the whole step"],
  ["N  P", "timeline: the next smaller gap, the next larger one"],
];

function showKeys() {
  document.getElementById("key-list")?.remove();
  const close = element("button.button", { type: "button", click: () => dialog.close() }, "Close");
  const views = Math.min(9, document.querySelectorAll("header.top nav a").length);
  const rows = [[views > 1 ? "1 … " + views : "1", "go to a view"], ...keyList].map(([key, text]) => element("tr", {}, element("th", { scope: "row" }, element("kbd", {}, key)), element("td", {}, text)));
  const dialog = /** @type {HTMLDialogElement} */ (element("dialog", { id: "key-list", "aria-labelledby": "key-title" },
    element("h2", { id: "key-title" }, "Keys"), element("table", {}, element("tbody", {}, ...rows)), close));
  document.body.append(dialog);
  dialog.showModal();
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  if (event.key === "Escape") {
    hideTip();
    const target = event.target;
    if (target instanceof HTMLInputElement && target.type === "search") {
      target.value = "";
      target.dispatchEvent(new Event("input", { bubbles: true }));
    }
    return;
  }
  const target = /** @type {HTMLElement} */ (event.target);
  const isText = target.isContentEditable || (target instanceof HTMLInputElement && target.type !== "checkbox") || target instanceof HTMLTextAreaElement;
  if (isText || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "?") {
    showKeys();
  } else if (event.key === "/") {
    const near = currentView()?.querySelector('input[type="search"]') ?? document.querySelector('#kernels input[type="search"], input[type="search"]');
    /** @type {HTMLElement | null} */ (near)?.focus();
  } else if (/^[1-9]$/.test(event.key)) {
    const link = document.querySelectorAll("header.top nav a")[Number(event.key) - 1];
    if (!link) return;
    /** @type {HTMLElement} */ (link).click();
  } else {
    const inside = target.closest?.("section.view")?.id ?? currentView()?.id ?? "";
    const act = drawnViews.get(inside)?.keys?.[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    act();
  }
  event.preventDefault();
}

/** Paper is light, and all that is folded is open on it. */
function addPrinting() {
  /** @type {HTMLDetailsElement[]} */
  let opened = [];
  /** @type {string | undefined} */
  let theme;
  addEventListener("beforeprint", () => {
    theme = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = "light";
    redrawViews();
    opened = Array.from(document.querySelectorAll("details")).filter((details) => !details.open);
    for (const details of opened) details.open = true;
    for (const view of drawnViews.values()) view.prepareForPrint?.();
  });
  addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
    if (theme === undefined) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    redrawViews();
  });
}

async function startPage() {
  const results = /** @type {Results | null} */ (await embeddedData("results"));
  if (!results) return;
  setTimeUnit(results.unit);
  readTerms(results);
  addTools();
  for (const maker of viewMakers) drawView(maker, results);
  let width = document.documentElement.clientWidth;
  let isWaiting = false;
  addEventListener("resize", () => {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      if (document.documentElement.clientWidth === width) return;
      width = document.documentElement.clientWidth;
      redrawViews();
    });
  });
  addEventListener("popstate", () => followAddress(true));
  addEventListener("hashchange", () => followAddress(false));
  addEventListener("keydown", pressed);
  addEventListener("scroll", markCurrentView, { passive: true });
  addPrinting();
  markCurrentView();
  followAddress(true);
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

startPage().catch((error) => console.error(error));
