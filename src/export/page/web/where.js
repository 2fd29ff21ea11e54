// SPDX-License-Identifier: Apache-2.0
// Where the time goes in the program: an icicle of phases, modules and ranges, and the same as a table.

addView("where", ({ figure, results, data }) => {
  /** @type {Where} */
  const where = data;
  const byTime = where.nodes;
  const byProgram = inProgramOrder(byTime);
  let nodes = byTime;
  const total = (/** @type {number[] | null} */ times) => (times ? times.reduce((sum, ns) => sum + ns, 0) : 0);
  const hasGpu = total(nodes.gpu_ns) > 0;
  const hasHost = (nodes.children ?? []).some((node) => total(node.host_ns) > 0);
  /**
   * Whether any node below the phases has what `has` looks for.
   * @param {TreeNode} node
   * @param {(node: TreeNode) => boolean} has
   * @returns {boolean}
   */
  const someInside = (node, has) => (node.children ?? []).some((child) => (/^(module|scope|range|model)$/.test(child.kind) && has(child)) || someInside(child, has));
  const insidesAreGpuOnly = someInside(nodes, () => true) && !someInside(nodes, (node) => total(node.host_ns) > 0);
  let by = hasGpu && (where.busy_ns / Math.max(1, where.step_ns) >= 0.6 || !hasHost || insidesAreGpuOnly) ? "gpu" : "cpu";
  const opensBy = by;
  let path = "";
  let query = "";
  let showsAll = false;
  const plot = element("div.icicle", { role: "group", "aria-label": "Icicle of the program: width is time a step. Arrows move, Enter zooms in, Backspace out" });
  const chainLine = element("div.chain");
  const holder = element("div");
  const times = (/** @type {TreeNode} */ node) => (by === "gpu" ? node.gpu_ns : node.host_ns);
  /** @type {Map<TreeNode, number>} */
  const hostSizes = new Map();
  /**
   * How much room a node needs. The CPU's time of a module may be unknown: then its children's together.
   * @param {TreeNode} node
   * @returns {number}
   */
  function sizeOf(node) {
    if (by === "gpu") return total(node.gpu_ns);
    const known = hostSizes.get(node);
    if (known !== undefined) return known;
    const children = (node.children ?? []).reduce((sum, child) => sum + sizeOf(child), 0);
    const size = Math.max(total(node.host_ns), node.host_ns ? 0 : children);
    hostSizes.set(node, size);
    return size;
  }

  /** @param {TreeNode} node */
  const labelOf = (node) => node.name + (node.times && !node.name.includes("×") ? " ×" + node.times : "");

  /** @param {TreeNode} node */
  function colourOf(node) {
    if (node.kind !== "phase" && node.kind !== "rest") return null;
    return phaseColour(results, node.name);
  }

  /** @type {{node: TreeNode, path: string, cell: SVGElement}[]} */
  let cells = [];
  let focused = 0;

  function draw() {
    const width = Math.floor(plot.clientWidth);
    if (width < 50) return;
    const chain = chainOf(nodes, path) ?? [{ node: nodes, path: "" }];
    const root = chain[chain.length - 1];
    const layout = icicleLayout(root.node, sizeOf, width);
    const rowHeight = 26;
    const height = layout.levels * rowHeight;
    cells = [];
    const needle = query.toLowerCase();
    const made = layout.cells.map(({ node, path: below, x, width: wide, level }, index) => {
      const whole = root.path === "" ? below : below === "" ? root.path : root.path + "/" + below;
      const y = level * rowHeight;
      const ns = sizeOf(node);
      const time = stepTime(ns);
      const isRoot = whole === "";
      const name = isRoot ? "step: " + time + unitText() + " " + (by === "gpu" ? "of GPU work" : "of the CPU") : labelOf(node);
      const isHit = needle !== "" && node.name.toLowerCase().includes(needle);
      const tag = "g.cell" + (needle !== "" ? (isHit ? ".is-hit" : ".is-dim") : "");
      const label = labelOf(node) + ", " + time + unitText() + " a step, " + shareText(ns / Math.max(1, where.step_ns)) + " of the step";
      const cell = drawn(tag, { role: "button", tabindex: index === focused ? "0" : "-1", "aria-label": label });
      const inner = Math.max(0.6, wide - (wide > 4 ? 1 : 0));
      const colour = colourOf(node);
      const body = drawn("rect.body", { x, y, width: inner, height: rowHeight - 2 });
      if (colour && !isRoot) body.style.fill = colourStyle(colour);
      cell.append(body);
      const strip = colour ? [] : stripOf(node, whole, x, y + rowHeight - 7, inner);
      cell.append(...strip);
      cell.append(drawn("rect.ring", { x: x + 1, y: y + 1, width: Math.max(0, inner - 2), height: rowHeight - 4 }));
      const withTime = isRoot ? name : name + " " + time;
      const brief = textWidth(name) <= inner - 10 ? name : name.split(": ")[0];
      const text = textWidth(withTime) <= inner - 10 ? withTime : fittingText(brief, inner - 10);
      if (text) {
        const drawnText = drawn("text", { x: x + 5, y: y + (strip.length ? 14 : 16) }, text);
        if (colour && !isRoot) drawnText.style.fill = textColourOn(colourValue(colour));
        cell.append(drawnText);
      }
      cell.append(drawn("title", {}, label));
      cell.addEventListener("click", () => zoomTo(whole));
      cell.addEventListener("focus", () => {
        focused = index;
        cells.forEach((each, at) => { each.cell.setAttribute("tabindex", at === index ? "0" : "-1"); });
      });
      cells.push({ node, path: whole, cell });
      return cell;
    });
    layoutCells = layout.cells;
    plot.replaceChildren(drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, ...made));
    drawChain(chain);
    drawTable(root);
  }
  /** @type {ReturnType<typeof icicleLayout>["cells"]} */
  let layoutCells = [];

  /**
   * Forward and backward as a strip, so that both sides of a module stay together.
   * @param {TreeNode} node
   * @param {string} place its path
   * @param {number} x
   * @param {number} y
   * @param {number} width
   */
  function stripOf(node, place, x, y, width) {
    if (node.kind === "step") return [];
    const values = times(node);
    const sum = total(values);
    if (!values || sum <= 0) return [];
    const colours = coloursIn(place);
    let at = x;
    return values.map((ns, index) => {
      const part = drawn("rect", { x: at, y, width: (ns / sum) * width, height: 5 });
      part.style.fill = colourStyle(colours[index]);
      at += (ns / sum) * width;
      return part;
    });
  }

  /** What launches kernels, as the view of kernels has it: these have colours of their own wherever they stand. */
  const launching = new Set(/** @type {Kernels | undefined} */ (results.views.kernels)?.rows?.flatMap((row) => row.phases.map(([phase]) => phase)) ?? []);
  /**
   * Colours of forward, backward and others: inside of a phase others are that phase.
   * @param {string} place a path
   */
  function coloursIn(place) {
    const chain = (chainOf(nodes, place) ?? []).map((each) => each.node).filter((node) => node !== nodes && (colourOf(node) || launching.has(node.name)));
    const inner = chain.at(-1);
    return ["forward", "backward", inner ? phaseColour(results, inner.name) : "other"];
  }

  /** @param {{node: TreeNode, path: string}[]} chain */
  function drawChain(chain) {
    chainLine.replaceChildren();
    if (chain.length < 2) {
      const isCpu = by !== "gpu";
      const sums = nodes.children?.reduce((sum, node) => sum + sizeOf(node), 0) ?? 0;
      if (isCpu && sums > sizeOf(nodes) * 1.02) chainLine.append(element("span.muted", {}, "Parts that are longer than what holds them are drawn narrower."));
      chainLine.hidden = chainLine.childNodes.length === 0;
      return;
    }
    chainLine.hidden = false;
    chain.forEach(({ node, path: to }, index) => {
      if (index > 0) chainLine.append(element("span.muted", { "aria-hidden": "true" }, "›"));
      if (index === chain.length - 1) chainLine.append(element("b", {}, shortened(labelOf(node), 60)));
      else chainLine.append(element("button.quiet", { type: "button", click: () => zoomTo(to) }, shortened(labelOf(node), 60)));
    });
  }

  /**
   * The rows of the table: what holds at least 3 % of the root, in the tree's order, and the others as one row, so that the
   * rows below a part add up to it. A node that is all of the one above is joined to it.
   * @param {{node: TreeNode, path: string}} root
   */
  function tableRows(root) {
    /** @type {{node: TreeNode, name: string, path: string, depth: number, folded: number}[]} */
    const rows = [];
    const whole = Math.max(1, sizeOf(root.node));
    const needle = query.toLowerCase();
    const isLarge = (/** @type {TreeNode} */ child) => showsAll || Math.max(total(child.gpu_ns) / Math.max(1, where.busy_ns), sizeOf(child) / whole) >= 0.03;
    /**
     * @param {TreeNode} node
     * @param {string} at
     * @param {number} depth
     */
    const walk = (node, at, depth) => {
      const children = (node.children ?? []).map((child) => ({ child, to: at === "" ? child.name : at + "/" + child.name }));
      const small = children.filter(({ child }) => !isLarge(child));
      const isFolded = needle === "" && small.length > 1;
      for (const { child, to } of children) {
        const isHit = needle !== "" && child.name.toLowerCase().includes(needle);
        if (needle === "" ? isLarge(child) || !isFolded : isHit) {
          let last = { node: child, path: to };
          let name = labelOf(child);
          while (needle === "") {
            const only = onlyChild(last.node);
            if (!only || last.node.kind === "model" || last.node.times || colourOf(last.node)) break;
            last = { node: only, path: last.path + "/" + only.name };
            name += " / " + labelOf(only);
          }
          rows.push({ node: last.node, name, path: last.path, depth, folded: 0 });
          walk(last.node, last.path, depth + 1);
        } else if (needle !== "") {
          walk(child, to, depth);
        }
      }
      if (isFolded) rows.push({ node: sumOf(small.map(({ child }) => child)), name: "others (" + small.length + ")", path: at, depth, folded: small.length });
    };
    walk(root.node, root.path, 0);
    return rows;
  }

  /**
   * The child that is all of a node, to the last digit that is shown.
   * @param {TreeNode} node
   */
  function onlyChild(node) {
    const same = (/** @type {number[] | null} */ a, /** @type {number[] | null} */ b) => stepTime(total(a)) === stepTime(total(b));
    return (node.children ?? []).find((child) => child.kind !== "own" && sizeOf(child) > 0 && same(child.gpu_ns, node.gpu_ns) && same(child.host_ns, node.host_ns));
  }

  /**
   * @param {TreeNode[]} parts
   * @returns {TreeNode}
   */
  function sumOf(parts) {
    const add = (/** @type {(part: TreeNode) => number[] | null} */ of) => parts.reduce((sums, part) => sums.map((sum, side) => sum + (of(part)?.[side] ?? 0)), [0, 0, 0]);
    const hasHostTime = parts.some((part) => part.host_ns);
    return { name: "", kind: "more", gpu_ns: add((part) => part.gpu_ns), host_ns: hasHostTime ? add((part) => part.host_ns) : null, calls: 0 };
  }

  /** @param {{node: TreeNode, path: string}} root */
  function drawTable(root) {
    const all = tableRows(root);
    const rows = all.slice(0, 400);
    // The scale is a step, which only what runs side by side exceeds.
    const longest = Math.max(1, where.step_ns, ...rows.map((row) => Math.max(total(row.node.gpu_ns), total(row.node.host_ns))));
    const body = element("tbody", {}, ...rows.map((row) => {
      const name = row.node.children?.length
        ? element("button.opens", { type: "button", click: () => zoomTo(row.path) }, row.name)
        : element("span", {}, row.node.kind === "own" ? termNode(row.name, "its own") : row.name);
      const head = element("th", { scope: "row" }, name);
      head.style.paddingLeft = "calc(" + Math.min(10, row.depth) + " * var(--indent))";
      return element("tr", {}, head,
        hasGpu ? element("td.n", {}, stepTime(total(row.node.gpu_ns))) : null,
        element("td.n", {}, row.node.host_ns ? stepTime(total(row.node.host_ns)) : ""),
        element("td.bars", {}, twoBars(row.node, row.path, longest)));
    }));
    const table = element("table.tree-table", {},
      element("caption.unseen", {}, "Parts of the program by time a step"),
      element("thead", {}, element("tr", {},
        element("th", { scope: "col" }, query ? "parts whose name has “" + shortened(query, 40) + "”" : showsAll ? "all parts" : "largest parts"),
        hasGpu ? element("th.n", { scope: "col" }, termNode("GPU", "busy"), ", " + unitName()) : null, element("th.n", { scope: "col" }, termNode("CPU"), ", " + unitName()),
        element("th.bars", { scope: "col" }, (hasGpu ? "GPU above, CPU below; the whole width is " : "the whole width is ") + roughTime(longest) + unitText()))),
      body);
    holder.replaceChildren(table);
    if (all.length > rows.length) holder.append(element("p.hint", {}, plural(all.length - rows.length, "more row") + ": zoom into a part to see them."));
    if (rows.length === 0) holder.append(element("p.why", {}, query ? "No part's name has “" + shortened(query, 60) + "”." : "Nothing lies inside."));
  }

  /**
   * @param {TreeNode} node
   * @param {string} place its path
   * @param {number} longest
   */
  function twoBars(node, place, longest) {
    const own = colourOf(node);
    const bars = element("div.two-bars", { "aria-hidden": "true" });
    for (const values of hasGpu ? [node.gpu_ns, node.host_ns] : [node.host_ns]) {
      const bar = element("div");
      (values ?? []).forEach((ns, index) => {
        if (ns <= 0) return;
        const piece = element("i");
        piece.style.width = (ns / longest) * 100 + "%";
        piece.style.background = colourStyle(own ?? coloursIn(place)[index]);
        bar.append(piece);
      });
      bars.append(bar);
    }
    return bars;
  }

  /** Parts beside forward and backward that have a colour of their own: "jit(f)", "optimizer". */
  function ownColours() {
    return (nodes.children ?? []).map((node) => /** @type {[string, string]} */ ([node.name, colourOf(node) ?? "other"]))
      .concat(Array.from(launching, (name) => /** @type {[string, string]} */ ([name, phaseColour(results, name)])).filter(([name, key]) => key === "both" && someInside(nodes, (node) => node.name === name)))
      .filter(([name, key]) => key !== "other" && key !== "forward" && key !== "backward" && name !== "").slice(0, 8);
  }

  function settings() {
    /** @type {Object<string, string>} */
    const made = {};
    if (by !== opensBy) made.by = by;
    if (query) made.q = query;
    if (nodes === byProgram) made.order = "program";
    return made;
  }
  /** @param {string} to */
  function zoomTo(to) {
    const chain = chainOf(nodes, to);
    if (!chain) return;
    const hadFocus = plot.contains(document.activeElement);
    // A click on what is already the root goes one level out.
    if (to === path && chain.length > 1) to = chain[chain.length - 2].path;
    path = to;
    focused = 0;
    draw();
    if (hadFocus) focusCell(0);
    setAddress("where", path, settings());
    const node = chainOf(nodes, path)?.at(-1)?.node;
    if (node) announce((path === "" ? "the whole step" : labelOf(node)) + ", " + stepTime(sizeOf(node)) + unitText() + " a step");
  }
  /** @param {number} index */
  function focusCell(index) {
    if (!cells[index]) return;
    focused = index;
    cells[index].cell.focus();
  }
  /** @param {"up" | "down" | "left" | "right"} to */
  function moveFocus(to) {
    const here = layoutCells[focused];
    if (!here) return;
    if (!plot.contains(document.activeElement)) return focusCell(focused);
    let next = -1;
    if (to === "up") next = here.parent;
    if (to === "down") next = layoutCells.findIndex((cell) => cell.parent === focused);
    const row = layoutCells.map((cell, index) => ({ cell, index })).filter(({ cell }) => cell.level === here.level).sort((a, b) => a.cell.x - b.cell.x);
    const at = row.findIndex(({ index }) => index === focused);
    if (to === "left") next = row[at - 1]?.index ?? -1;
    if (to === "right") next = row[at + 1]?.index ?? -1;
    if (next >= 0) focusCell(next);
  }

  const search = /** @type {HTMLInputElement} */ (element("input", { type: "search", placeholder: "Search parts  /", "aria-label": "Search parts of the program" }));
  search.addEventListener("input", () => {
    query = search.value.trim();
    draw();
    setAddress("where", path, settings(), false);
  });
  const sides = switchButtons("Time of", [["gpu", "GPU time"], ["cpu", "CPU time"]], by, (value) => {
    by = value;
    draw();
    setAddress("where", path, settings());
  });
  const all = switchButtons("Rows", [["large", "largest"], ["all", "all"]], "large", (value) => {
    showsAll = value === "all";
    draw();
  });
  const hasOrder = (byTime.children ?? []).filter((node) => node.first_ns !== undefined).length > 1;
  const orders = switchButtons("Order", [["time", "longest first"], ["program", "as recorded"]], "time", (value) => {
    nodes = value === "program" ? byProgram : byTime;
    draw();
    setAddress("where", path, settings());
  });
  const rows = () => {
    const kept = showsAll;
    showsAll = true;
    const made = tableRows(chainOf(nodes, path)?.at(-1) ?? { node: nodes, path: "" });
    showsAll = kept;
    const cell = (/** @type {number | undefined} */ ns) => (ns === undefined ? "" : (ns / 1e6).toFixed(4));
    return [["path", "kind", "GPU forward ms", "GPU backward ms", "GPU others ms", "CPU ms", "of it waits ms", "calls a step"],
      ...made.map(({ node, path: at }) => [at, node.kind, cell(node.gpu_ns[0]), cell(node.gpu_ns[1]), cell(node.gpu_ns[2]),
        node.host_ns ? cell(total(node.host_ns)) : "", cell(node.wait_ns), String(node.calls)])];
  };
  figure.append(
    element("div.controls", {}, search, element("div.end", {}, all.group, hasOrder ? orders.group : null, hasGpu && hasHost ? sides.group : null)),
    chainLine, plot,
    element("div.legend", {}, ...["forward", "backward"].map((name) => element("span", {}, swatch(name), name)),
      ...ownColours().map(([name, key]) => element("span", {}, swatch(key), name)), element("span", {}, swatch("other"), "neither, or others")),
    holder,
    element("p.hint", {}, "Click a cell to zoom in, and the names above it, or the same cell again, to zoom out."),
    element("div.actions", {}, copyButton("where", rows), ...pictureButtons("where", () => plot.querySelector("svg"))));
  draw();
  return {
    redraw: draw,
    show: (address) => {
      path = chainOf(nodes, address.selection) ? address.selection : "";
      nodes = hasOrder && address.settings.order === "program" ? byProgram : byTime;
      orders.press(nodes === byProgram ? "program" : "time");
      by = address.settings.by === "gpu" || address.settings.by === "cpu" ? address.settings.by : opensBy;
      query = address.settings.q ?? "";
      search.value = query;
      sides.press(by);
      focused = 0;
      draw();
    },
    keys: {
      ArrowUp: () => moveFocus("up"), ArrowDown: () => moveFocus("down"), ArrowLeft: () => moveFocus("left"), ArrowRight: () => moveFocus("right"),
      Enter: () => {
        const active = document.activeElement;
        if (active && plot.contains(active)) zoomTo(cells[focused].path);
        else if (active instanceof HTMLElement) active.click();
      },
      Backspace: () => {
        const chain = chainOf(nodes, path);
        if (chain && chain.length > 1) zoomTo(chain[chain.length - 2].path);
      },
    },
  };
});
