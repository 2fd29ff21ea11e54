// SPDX-License-Identifier: Apache-2.0
// The trees of both sides, row by row beside one another: bars of the base grow to the left, those of the new side to the right.

/** @typedef {{name: string, base_ns: number | null, new_ns: number | null, children?: SideNode[]}} SideNode */

addView("sides", ({ figure, data }) => {
  /** @type {SideNode[]} */
  const roots = data.nodes;
  const holder = element("div.scroll", { tabindex: "0", role: "group", "aria-label": "Ranges of both sides" });
  const largest = Math.max(1, ...roots.map((node) => Math.max(node.base_ns ?? 0, node.new_ns ?? 0)));
  /** @type {Set<string>} */
  const opened = new Set();
  openLargest(roots, "", 12);

  /**
   * Opens what has most time, until about so many rows are shown.
   * @param {SideNode[]} nodes
   * @param {string} above
   * @param {number} rows
   */
  function openLargest(nodes, above, rows) {
    /** @type {{node: SideNode, path: string}[]} */
    let closed = nodes.map((node) => ({ node, path: above + "/" + node.name }));
    let shown = closed.length;
    const size = (/** @type {SideNode} */ node) => Math.max(node.base_ns ?? 0, node.new_ns ?? 0);
    while (shown < rows) {
      const next = closed.filter(({ node }) => node.children && size(node) > largest * 0.02).sort((a, b) => size(b.node) - size(a.node))[0];
      if (!next) return;
      opened.add(next.path);
      const children = (next.node.children ?? []).map((node) => ({ node, path: next.path + "/" + node.name }));
      shown += children.length;
      closed = closed.filter((one) => one !== next).concat(children);
    }
  }

  /** @param {number | null} ns */
  const timeOr = (ns) => (ns === null ? "–" : stepTime(ns));

  /**
   * @param {SideNode} node
   * @param {string} path
   * @param {number} depth
   * @returns {HTMLElement[]}
   */
  function rowsOf(node, path, depth) {
    const isOpen = opened.has(path);
    const name = node.children
      ? element("button.opens", { type: "button", "aria-expanded": String(isOpen), "data-path": path, click: () => { isOpen ? opened.delete(path) : opened.add(path); draw(path); } },
        (isOpen ? "▾ " : "▸ ") + node.name)
      : element("span.leaf", {}, node.name);
    const head = element("th", { scope: "row" }, name);
    head.style.paddingLeft = `calc(${Math.min(depth, 8)} * var(--indent))`;
    const bar = (/** @type {number | null} */ ns, /** @type {string} */ side) => {
      const made = element("i." + side);
      made.style.width = (100 * (ns ?? 0)) / largest + "%";
      return element("div", {}, made);
    };
    const change = (node.new_ns ?? 0) - (node.base_ns ?? 0);
    const state = node.base_ns === null ? "new" : node.new_ns === null ? "gone" : node.base_ns > 0 ? signedShare(change / node.base_ns) : "";
    const row = element("tr", {}, head, element("td.n.hide-narrow", {}, timeOr(node.base_ns)),
      element("td.mirror", { "aria-hidden": "true" }, element("div", {}, bar(node.base_ns, "base"), bar(node.new_ns, "new"))),
      element("td.n.hide-narrow", {}, timeOr(node.new_ns)), element("td.n", {}, stepTime(change, true)), element("td.n.weak", {}, state));
    return [row, ...(isOpen ? (node.children ?? []).flatMap((child) => rowsOf(child, path + "/" + child.name, depth + 1)) : [])];
  }

  /** @param {number} share */
  function signedShare(share) {
    return numberText(100 * share, Math.abs(share) < 0.0995 ? 1 : 0, true) + thinSpace + "%";
  }

  /** @param {string} [focus] */
  function draw(focus) {
    const heads = [["range", "th"], ["base " + unitName(), "th.n.hide-narrow"], ["base | new", "th.mirror"], ["new " + unitName(), "th.n.hide-narrow"], ["change", "th.n"], ["%", "th.n"]];
    const head = element("thead", {}, element("tr", {}, ...heads.map(([title, tag]) =>
      element(tag, { scope: "col" }, title))));
    const body = element("tbody", {}, ...roots.flatMap((node) => rowsOf(node, "/" + node.name, 0)));
    holder.replaceChildren(element("table.sides-table.tree-table", {}, head, body));
    if (focus) /** @type {HTMLElement | null} */ (holder.querySelector(`button[data-path="${CSS.escape(focus)}"]`))?.focus();
  }

  /**
   * @param {SideNode[]} nodes
   * @param {string} above
   * @returns {string[][]}
   */
  function words(nodes, above) {
    return nodes.flatMap((node) => [[above + node.name, timeOr(node.base_ns), timeOr(node.new_ns), stepTime((node.new_ns ?? 0) - (node.base_ns ?? 0), true)],
      ...words(node.children ?? [], above + node.name + "/")]);
  }
  draw();
  figure.append(holder, element("div.actions", {}, copyButton("ranges", () => [["range", "base " + unitName(), "new " + unitName(), "change"], ...words(roots, "")])));
  return { redraw: () => draw() };
});
