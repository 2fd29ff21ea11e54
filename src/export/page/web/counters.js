// SPDX-License-Identifier: Apache-2.0
// Counters of the program: a line over the run, and three values of it.

addView("counters", ({ figure, data }) => {
  /** @type {Counter[]} */
  const counters = data.rows ?? [];
  const head = element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "counter"),
    element("th.hide-narrow", { scope: "col" }, "over the recording"), ...["first", "median", "last"].map((text) => element("th.n", { scope: "col" }, text))));
  const body = element("tbody", {}, ...counters.map((counter) => element("tr", {},
    element("th", { scope: "row" }, counter.name, counter.unit ? element("span.in", {}, " " + counter.unit) : null),
    element("td.hide-narrow", {}, sparkline(counter)),
    ...[counter.first, counter.median, counter.last].map((value) => element("td.n", {}, valueText(value))))));
  const rows = () => [["counter", "unit", "time s", "value"], ...counters.flatMap((counter) =>
    counter.value.map((value, index) => [counter.name, counter.unit, (counter.time_ns[index] / 1e9).toFixed(6), String(value)]))];
  figure.append(element("table.counter-table", {}, element("caption.unseen", {}, "Counters"), head, body),
    element("div.actions", {}, copyButton("counters", rows)));
  return {};
});

/** @param {Counter} counter */
function sparkline(counter) {
  const width = 320;
  const height = 28;
  const times = counter.time_ns;
  const finite = counter.value.filter((value) => Number.isFinite(value));
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  const [from, to] = [times[0] ?? 0, times[times.length - 1] ?? 1];
  const points = counter.value.map((value, index) => {
    const x = ((times[index] - from) / Math.max(1, to - from)) * width;
    const y = 2 + (1 - (value - low) / Math.max(1e-300, high - low)) * (height - 4);
    return Number.isFinite(y) ? x.toFixed(1) + "," + (high > low ? y : height / 2).toFixed(1) : "";
  });
  const name = counter.name + ": " + plural(counter.count, "value") + " from " + valueText(low) + " to " + valueText(high);
  return drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": shortened(name, 200) },
    drawn("polyline", { points: points.filter(Boolean).join(" ") }));
}
