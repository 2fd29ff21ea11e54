// SPDX-License-Identifier: Apache-2.0
// Lines of the program, by the idle time of the GPU that lies on them.

addView("lines", ({ figure, results, data }) => {
  /** @type {LineRow[]} */
  const all = data.rows ?? [];
  /** @type {Answer} */
  const answer = results.views.answer;
  const perStep = answer.has_steps ? "a step" : "in all";
  let query = "";
  let order = { key: "ns", ascending: false };
  let shown = 12;
  const holder = element("div");
  /** @type {Column[]} */
  const columns = [
    { key: "line", title: "line" }, { key: "cause", title: "what happens there" },
    { key: "count", title: "times " + perStep, number: true, narrow: true },
    { key: "longest", title: "longest, " + unitName(), number: true, narrow: true },
    { key: "ns", title: unitName() + " " + perStep, number: true },
  ];
  /** @type {Object<string, (row: LineRow) => number | string>} */
  const keyOf = { line: (row) => row.line, cause: (row) => row.cause, count: (row) => row.count, longest: (row) => row.longest_ns, ns: (row) => row.ns };

  function fittingRows() {
    const needle = query.toLowerCase();
    const key = keyOf[order.key];
    return all
      .filter((row) => needle === "" || [row.line, row.code, row.cause, row.stack].some((text) => text?.toLowerCase().includes(needle)))
      .sort((a, b) => {
        const [left, right] = [key(a), key(b)];
        const difference = typeof left === "string" ? left.localeCompare(String(right)) : left - Number(right);
        return order.ascending ? difference : -difference;
      });
  }
  /** @param {LineRow} row */
  function causeColour(row) {
    const cause = results.causes.find((each) => each.key === row.cause_key);
    return cause ? causeColourOf(results, cause) : "other_idle";
  }
  function draw() {
    const rows = fittingRows();
    const head = sortableHead(columns, order, (key) => {
      order = { key, ascending: order.key === key ? !order.ascending : key === "line" || key === "cause" };
      draw();
      /** @type {HTMLElement | null} */ (holder.querySelector(`button[data-sort="${key}"]`))?.focus();
    });
    const body = element("tbody", {}, ...rows.slice(0, shown).map((row) => element("tr", {},
      element("th", { scope: "row" }, row.line ? element("span.mono", {}, row.line) : element("span.in", {}, "line not known"), row.code ? element("div.in", {}, row.code) : null,
        row.stack?.includes(" → ") ? element("details", {}, element("summary.in", {}, "called from"), element("pre.mono", {}, row.stack)) : null),
      element("td", {}, element("span.part", {}, swatch(causeColour(row)), causeNameOf(results, results.causes.find((each) => each.key === row.cause_key)))),
      element("td.n.hide-narrow", {}, countText(row.count)), element("td.n.hide-narrow", {}, stepTime(row.longest_ns)),
      element("td.n", {}, stepTime(row.ns)))));
    holder.replaceChildren(element("table.line-table", {}, element("caption.unseen", {}, "Lines of the program"), head, body));
    if (rows.length === 0) holder.append(element("p.why", {}, "No line has “" + shortened(query, 60) + "”."));
    if (rows.length > shown) {
      holder.append(element("p.more", {}, element("button.button", { type: "button", click: () => { shown += 40; draw(); } },
        "Show " + Math.min(40, rows.length - shown) + " more of " + rows.length)));
    }
  }
  const search = /** @type {HTMLInputElement} */ (element("input", { type: "search", placeholder: "Search lines  /", "aria-label": "Search lines" }));
  search.addEventListener("input", () => {
    query = search.value.trim();
    draw();
    setAddress("lines", "", { q: query }, false);
  });
  const rows = () => [["line", "code", "cause", "times " + perStep, "longest ms", "ms " + perStep, "steps"],
    ...fittingRows().map((row) => [row.line, row.code ?? "", row.cause, String(row.count), (row.longest_ns / 1e6).toFixed(4), (row.ns / 1e6).toFixed(4), String(row.steps)])];
  figure.append(all.length > 8 ? element("div.controls", {}, search) : "", holder, element("div.actions", {}, copyButton("lines", rows)));
  draw();
  return {
    show: (address) => {
      query = address.settings.q ?? "";
      search.value = query;
      draw();
    },
  };
});

/**
 * The colour of a cause of idle time: that of its part, but for two that are told apart in the timeline.
 * @param {Results} results
 * @param {Cause} cause
 */
function causeColourOf(results, cause) {
  /** @type {Object<string, string>} */
  const own = { latency: "latency", blocking_copy: "blocking_copy", loader: "data" };
  return own[cause.key] ?? results.parts[cause.part ?? -1]?.colour ?? "other_idle";
}

/**
 * The name of a cause: that of its part, whose word all views have, but for those that are finer.
 * @param {Results} results
 * @param {Cause | undefined} cause
 */
function causeNameOf(results, cause) {
  if (!cause) return "not known";
  const isFiner = ["latency", "blocking_copy", "loader", "other_gpu", "not_started", "queued"].includes(cause.key);
  return isFiner ? cause.name : results.parts[cause.part ?? -1]?.name ?? cause.name;
}
