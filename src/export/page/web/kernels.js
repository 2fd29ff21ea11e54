// SPDX-License-Identifier: Apache-2.0
// Kernels: searched, sorted, filtered by class; a row opens to its durations and to what launches it.

addView("kernels", ({ figure, results, data }) => {
  /** @type {Kernels} */
  const kernels = data;
  /** @type {Answer} */
  const answer = results.views.answer;
  const perStep = answer.has_steps ? "a step" : "in all";
  const atFirst = 12;
  const more = 40;
  let query = "";
  let ofClass = "";
  let order = { key: "ns", ascending: false };
  let shown = atFirst;
  let open = "";
  const holder = element("div");
  const longest = Math.max(1, ...kernels.rows.map((row) => row.ns));

  /** @type {Column[]} */
  const columns = [
    { key: "name", title: "kernel" },
    { key: "launches", title: "launches " + perStep, number: true, narrow: true },
    { key: "mean", title: "mean, µs", number: true, narrow: true },
    { key: "ns", title: unitName() + " " + perStep, number: true },
    { key: "share", title: "of kernel time", number: true },
    { key: "phases", title: "launched in", isSortable: false, narrow: true },
  ];
  /** @type {Object<string, (row: KernelRow) => number | string>} */
  const keyOf = { name: (row) => row.short, launches: (row) => row.launches, mean: (row) => row.mean_ns, ns: (row) => row.ns, share: (row) => row.share };

  function fittingRows() {
    const needle = query.toLowerCase();
    const key = keyOf[order.key];
    return kernels.rows
      .filter((row) => (ofClass === "" || row.class === ofClass) && (needle === "" || row.name.toLowerCase().includes(needle) || row.short.toLowerCase().includes(needle)))
      .sort((a, b) => {
        const [left, right] = [key(a), key(b)];
        const difference = typeof left === "string" ? left.localeCompare(String(right)) : left - Number(right);
        return order.ascending ? difference : -difference;
      });
  }

  function draw() {
    const rows = fittingRows();
    const head = sortableHead(columns, order, (key) => {
      order = { key, ascending: order.key === key ? !order.ascending : key === "name" };
      draw();
      holder.querySelector(/** @type {any} */ (`button[data-sort="${key}"]`))?.focus();
      setAddress("kernels", open, settings());
      announce("sorted by " + columns.find((column) => column.key === key)?.title + (order.ascending ? ", ascending" : ", descending"));
    });
    const body = element("tbody");
    for (const row of rows.slice(0, shown)) {
      const isOpen = row.name === open;
      const button = element("button.mono", { type: "button", "aria-expanded": String(isOpen), title: shortened(row.name, 300) }, row.short);
      button.addEventListener("click", () => openRow(isOpen ? "" : row.name));
      const bar = element("div.launched", { title: phaseTexts(row) });
      for (const [phase, ns] of row.phases) {
        const piece = element("i");
        piece.style.width = (ns / longest) * 100 + "%";
        piece.style.background = colourStyle(phaseColour(results, phase));
        bar.append(piece);
      }
      body.append(element("tr", {},
        element("td", {}, button), element("td.n.hide-narrow", {}, countText(row.launches)),
        element("td.n.hide-narrow", {}, numberText(row.mean_ns / 1e3, 1)), element("td.n", {}, kernelTime(row.ns)),
        element("td.n.weak", {}, shareText(row.share)), element("td.hide-narrow", {}, bar, element("span.unseen", {}, phaseTexts(row)))));
      if (isOpen) body.append(element("tr", {}, element("td", { colspan: columns.length }, detail(row))));
    }
    const widths = element("colgroup", {}, ...["", "hide-narrow w-launches", "hide-narrow w-mean", "w-ms", "w-share", "hide-narrow w-phases"].map((name) => element("col", { class: name })));
    const table = element("table.kernel-table", {}, element("caption.unseen", {}, "Kernels"), widths, head, body);
    holder.replaceChildren(table);
    if (rows.length === 0) {
      holder.append(element("p.why", {}, "No kernel" + (query ? "’s name has “" + shortened(query, 60) + "”" : " is of this kind") + "."));
    }
    if (rows.length > shown) {
      const next = Math.min(more, rows.length - shown);
      holder.append(element("p.more", {}, element("button.button", { type: "button", click: () => { shown += more; draw(); } }, "Show " + next + " more of " + rows.length)));
    } else if (kernels.rest?.count > 0 && query === "" && ofClass === "") {
      holder.append(element("p.hint", {}, plural(kernels.rest.count, "more kernel") + ", " + kernelTime(kernels.rest.ns) + unitText() + " " + perStep + " together, are not on this page."));
    }
  }

  /** @param {KernelRow} row */
  function phaseTexts(row) {
    return row.phases.map(([phase, ns]) => (phase || "no phase") + " " + kernelTime(ns) + unitText()).join(", ");
  }

  /** @param {KernelRow} row */
  function detail(row) {
    const from = element("tbody", {}, ...row.from.map((place) => element("tr", {},
      element("th", { scope: "row" }, place.text, " ", element("span.in", {}, place.kind)),
      element("td.n", {}, countText(place.launches)), element("td.n", {}, kernelTime(place.ns)))));
    const launched = element("div", {}, row.from.length === 0 ? element("p.why", {}, "It is not known what launches it.")
      : element("table", {}, element("caption.unseen", {}, "What launches this kernel"), element("thead", {}, element("tr", {},
        element("th", { scope: "col" }, "launched in"), element("th.n", { scope: "col" }, "launches " + perStep),
        element("th.n", { scope: "col" }, unitName() + " " + perStep))), from));
    return element("div.kernel-open", {},
      element("div.mono.whole", { tabindex: "0", role: "group", "aria-label": "The whole name" }, row.name),
      element("div.kernel-detail", {}, element("div", {}, histogram(row)), launched));
  }

  /**
   * Durations in bins of half an octave.
   * @param {KernelRow} row
   */
  function histogram(row) {
    const microseconds = (/** @type {number} */ ns) => numberText(ns / 1e3, ns < 99.5e3 ? 1 : 0);
    const text = "shortest " + microseconds(row.min_ns) + ", median " + microseconds(row.median_ns) + ", longest " + microseconds(row.max_ns) + " µs";
    const made = element("div", {}, element("h3", {}, "Durations"));
    const bins = row.histogram;
    if (bins && bins.counts.length > 0) {
      const most = Math.max(1, ...bins.counts);
      const pitch = Math.min(28, 300 / bins.counts.length);
      const height = 66;
      const edge = (/** @type {number} */ bin) => 2 ** (bin / 2);
      const bars = bins.counts.map((count, index) => {
        const high = count > 0 ? Math.max(1, (count / most) * height) : 0;
        const bar = drawn("rect", { x: index * pitch, y: height - high, width: pitch - 1, height: high });
        bar.style.fill = "var(--muted)";
        bar.append(drawn("title", {}, microseconds(edge(bins.first + index)) + " to " + microseconds(edge(bins.first + index + 1)) + " µs: " + plural(count, "launch").replace(/launchs$/, "launches")));
        return bar;
      });
      const width = bins.counts.length * pitch;
      const [low, high] = [microseconds(edge(bins.first)) + " µs", microseconds(edge(bins.first + bins.counts.length)) + " µs"];
      const isWide = width > textWidth(low) + textWidth(high) + 10;
      made.append(drawn("svg", { width: Math.max(300, width), height: height + 22, role: "img", "aria-label": "Histogram of durations: " + text },
        ...bars, drawn("path.axis", { d: `M0 ${height + 0.5}H${width}` }),
        drawn("text.muted", { x: 0, y: height + 16 }, isWide ? low : low.replace(" µs", "") + " to " + high),
        isWide ? drawn("text.muted", { x: width, y: height + 16, "text-anchor": "end" }, high) : null));
    }
    made.append(element("p.labels", {}, text));
    return made;
  }

  function settings() {
    /** @type {Object<string, string>} */
    const made = {};
    if (query) made.q = query;
    if (ofClass) made.class = ofClass;
    if (order.key !== "ns") made.sort = order.key;
    if (order.ascending) made.up = "1";
    return made;
  }
  /** @param {string} name */
  function openRow(name) {
    const was = open;
    open = name;
    draw();
    const buttons = Array.from(holder.querySelectorAll("button.mono"));
    const rows = fittingRows();
    const at = rows.findIndex((row) => row.name === (name || was));
    /** @type {HTMLElement | undefined} */ (buttons[at])?.focus({ preventScroll: true });
    setAddress("kernels", open, settings());
  }
  /** @param {number} by */
  function move(by) {
    const buttons = /** @type {HTMLElement[]} */ (Array.from(holder.querySelectorAll("button.mono")));
    const at = buttons.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    buttons[Math.max(0, Math.min(buttons.length - 1, at + by))]?.focus();
  }

  const search = /** @type {HTMLInputElement} */ (element("input", { type: "search", placeholder: "Search names  /", "aria-label": "Search kernels" }));
  search.addEventListener("input", () => {
    query = search.value.trim();
    shown = atFirst;
    draw();
    setAddress("kernels", open, settings(), false);
    announce(plural(fittingRows().length, "kernel"));
  });
  const classes = (kernels.classes ?? []).filter((each) => each.ns > 0).sort((a, b) => b.ns - a.ns);
  const filters = element("div.classes", { role: "group", "aria-label": "Kinds of kernels" }, element("span.labels", {}, "kinds of kernels:"));
  /** @type {Map<string, HTMLElement>} */
  const filterButtons = new Map();
  const pressFilter = () => filterButtons.forEach((button, key) => { button.setAttribute("aria-pressed", String(key === ofClass)); });
  for (const each of classes.length > 1 ? classes : []) {
    const button = element("button", { type: "button" }, each.name + " ", element("span.muted", {}, stepTime(each.ns) + unitText()));
    button.addEventListener("click", () => {
      ofClass = ofClass === each.key ? "" : each.key;
      shown = atFirst;
      pressFilter();
      draw();
      setAddress("kernels", open, settings());
    });
    filterButtons.set(each.key, button);
    filters.append(button);
  }
  pressFilter();

  /** Copies and sets, which are no kernels: a group of their own. */
  function copiesBeside() {
    const copies = (kernels.copies ?? []).slice(0, 24);
    if (copies.length === 0) return null;
    return element("div.copies", {}, element("h3", {}, "Copies and sets"),
      element("table.copy-table", {}, element("caption.unseen", {}, "Copies and sets"),
        element("colgroup", {}, ...["", "hide-narrow w-launches", "hide-narrow w-mean", "w-ms", "w-share", "hide-narrow w-rate"].map((name) => element("col", { class: name }))),
        element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "operation"), element("th.n.hide-narrow", { scope: "col" }, "times " + perStep),
          element("th.n.hide-narrow", { scope: "col" }, "mean, µs"), element("th.n", { scope: "col" }, unitName() + " " + perStep),
          element("th.n", { scope: "col" }, "MB " + perStep), element("th.n.hide-narrow", { scope: "col" }, "GB/s"))),
        element("tbody", {}, ...copies.map((row) => element("tr", {}, element("th", { scope: "row" }, row.name),
          element("td.n.hide-narrow", {}, countText(row.launches)), element("td.n.hide-narrow", {}, numberText(row.mean_ns / 1e3, 1)),
          element("td.n", {}, kernelTime(row.ns)), element("td.n.weak", {}, numberText(row.bytes / 1e6, row.bytes < 9.95e6 ? 2 : 0)),
          element("td.n.hide-narrow", {}, numberText(row.rate, 1)))))));
  }
  const copyRows = () => [["operation", "times " + perStep, "mean us", "shortest us", "median us", "longest us", unitName() + " " + perStep, "bytes " + perStep, "GB/s"],
    ...(kernels.copies ?? []).map((row) => [row.name, String(row.launches), (row.mean_ns / 1e3).toFixed(3), (row.min_ns / 1e3).toFixed(3),
      (row.median_ns / 1e3).toFixed(3), (row.max_ns / 1e3).toFixed(3), (row.ns / 1e6).toFixed(6), String(row.bytes), row.rate.toFixed(3)])];
  const rows = () => [["kernel", "class", "launches " + perStep, "mean us", "shortest us", "median us", "longest us", unitName() + " " + perStep, "share of kernel time", "launched in"],
    ...fittingRows().map((row) => [row.name, row.class, String(row.launches), (row.mean_ns / 1e3).toFixed(3), (row.min_ns / 1e3).toFixed(3), (row.median_ns / 1e3).toFixed(3),
      (row.max_ns / 1e3).toFixed(3), (row.ns / 1e6).toFixed(6), row.share.toFixed(6), phaseTexts(row)])];
  figure.append(element("div.controls", {}, search, filters), holder,
    element("div.actions", {}, copyButton("kernels", rows)));
  // Phases without a colour of their own share one, and one entry.
  const phases = Array.from(new Set(kernels.rows.flatMap((row) => row.phases.map(([phase]) => phase))));
  /** @type {Map<string, string[]>} */
  const byColour = new Map();
  for (const phase of phases) {
    const colour = phaseColour(results, phase);
    byColour.set(colour, [...(byColour.get(colour) ?? []), phase || "no phase"]);
  }
  const legend = element("div.legend.hide-narrow", { "data-legend": "phases" }, "launched in: ",
    ...Array.from(byColour, ([colour, names]) => element("span", { title: names.join(", ") }, swatch(colour), names.slice(0, 4).join(", ") + (names.length > 4 ? " and " + (names.length - 4) + " more" : ""))));
  holder.after(legend);
  const hasParts = kernels.rows.some((row) => row.short.includes(" · "));
  legend.after(element("p.hint", {}, "A kind is guessed from a kernel’s name, and is not the phase that launches it: optimizers launch kernels of several kinds." +
    (hasParts ? " Behind “·” stands where the whole names of kernels with one short name first differ, such as an argument of a template, or the number of a lambda (#7); a row opens to the whole name." : "")));
  const copies = copiesBeside();
  if (copies) figure.append(copies, element("div.actions", {}, copyButton("copies", copyRows)));
  draw();
  return {
    show: (address) => {
      query = address.settings.q ?? "";
      search.value = query;
      ofClass = classes.some((each) => each.key === address.settings.class) ? address.settings.class : "";
      order = { key: address.settings.sort in keyOf ? address.settings.sort : "ns", ascending: address.settings.up === "1" };
      open = kernels.rows.some((row) => row.name === address.selection) ? address.selection : "";
      const at = fittingRows().findIndex((row) => row.name === open);
      shown = Math.max(shown, at + 1);
      pressFilter();
      draw();
    },
    prepareForPrint: () => {
      shown = Math.max(shown, 20);
      draw();
    },
    keys: {
      ArrowUp: () => move(-1), ArrowDown: () => move(1),
      Enter: () => {
        const active = document.activeElement;
        if (active instanceof HTMLElement && active !== document.body) active.click();
      },
    },
  };
});
