// SPDX-License-Identifier: Apache-2.0
// From the old step to the new one: a bar for each part that changed, which begins where the one before it ended.

/** @typedef {{name: string, base_ns: number, new_ns: number}} ChangedPart */
/** @typedef {{what: string, base_ns: number, new_ns: number, rows: ChangedPart[],
 *             more?: {count: number, base_ns: number, new_ns: number}}} Change */

addView("change", ({ figure, data }) => {
  /** @type {Change} */
  const change = data;
  const plot = element("div.change-plot");
  const rows = waterfallRows(change);

  function draw() {
    const width = Math.floor(plot.clientWidth);
    if (width < 50) return;
    const isNarrow = width < 640;
    const axis = waterfallAxis(rows);
    const widestName = Math.max(...rows.map((row) => textWidth(row.name, 13, row.isTotal ? 600 : 400)));
    const left = isNarrow ? 0 : Math.min(Math.ceil(widestName) + 20, Math.floor(width * 0.34));
    const right = Math.max(...rows.map((row) => textWidth(changedText(row), 13, 600))) + 14;
    const room = width - left - right;
    const pitch = isNarrow ? 42 : 27;
    const bar = isNarrow ? 13 : 15;
    const top = 22;
    const x = (/** @type {number} */ ns) => left + ((Math.max(ns, axis.from) - axis.from) / (axis.to - axis.from)) * room;
    const bottom = top + rows.length * pitch;
    /** @type {SVGElement[]} */
    const items = [];
    const marks = axisStep((axis.to - axis.from) / timeUnit.ns, isNarrow ? 3 : 7);
    const digits = Math.max(0, -Math.floor(Math.log10(marks)));
    for (let value = Math.ceil(axis.from / timeUnit.ns / marks) * marks; value <= (axis.to / timeUnit.ns) * 1.0001; value += marks) {
      const at = Math.round(x(value * timeUnit.ns)) + 0.5;
      items.push(drawn("path.axis", { d: `M${at} ${top - 4}V${bottom}` }));
      items.push(drawn("text.muted", { x: at, y: 11, "text-anchor": at - left < 12 ? "start" : "middle" }, numberText(value, digits)));
    }
    items.push(drawn("text.muted", { x: width, y: 11, "text-anchor": "end" }, unitName()));
    rows.forEach((row, index) => {
      const y = top + index * pitch;
      const middle = isNarrow ? y + 27 : y + pitch / 2;
      const name = drawn(row.isTotal ? "text.total" : "text", { x: 0, y: isNarrow ? y + 14 : middle + 4.5 },
        fittingText(row.name, isNarrow ? width : left - 14, 13));
      items.push(name);
      const [from, to] = [Math.min(x(row.from), x(row.to)), Math.max(x(row.from), x(row.to))];
      const body = drawn("rect." + (row.isTotal ? "whole" : row.to < row.from ? "less" : "longer"),
        { x: from, y: middle - bar / 2, width: Math.max(1, to - from), height: bar });
      items.push(body);
      const next = rows[index + 1];
      if (next) {
        const edge = Math.round(x(row.to)) + 0.5;
        const nextMiddle = isNarrow ? y + pitch + 27 : middle + pitch;
        items.push(drawn("path.ghost", { d: `M${edge} ${middle + bar / 2}V${nextMiddle - bar / 2}` }));
      }
      items.push(drawn(row.isTotal ? "text.total" : "text", { x: width, y: middle + 4.5, "text-anchor": "end" }, changedText(row)));
    });
    if (axis.from > 0) {
      items.push(drawn("text.muted", { x: left, y: bottom + 14 }, "the axis begins at " + roughTime(axis.from) + unitText()));
    }
    const height = bottom + (axis.from > 0 ? 20 : 4);
    plot.replaceChildren(drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, ...items));
  }

  /** @param {WaterfallRow} row */
  function changedText(row) {
    return row.isTotal ? stepTime(row.to) : stepTime(row.to - row.from, true);
  }

  const table = element("table", {},
    element("thead", {}, element("tr", {}, ...["part", "base", "new", "change"].map((title, index) => element(index ? "th.n" : "th", { scope: "col" }, title)))),
    element("tbody", {}, ...allParts(change).map((part) => element("tr", {}, element("th", { scope: "row" }, part.name),
      element("td.n", {}, stepTime(part.base_ns)), element("td.n", {}, stepTime(part.new_ns)), element("td.n", {}, stepTime(part.new_ns - part.base_ns, true))))),
    element("tfoot", {}, element("tr.sum", {}, element("th", { scope: "row" }, change.what), element("td.n", {}, stepTime(change.base_ns)),
      element("td.n", {}, stepTime(change.new_ns)), element("td.n", {}, stepTime(change.new_ns - change.base_ns, true)))));
  const words = () => [["part", "base " + unitName(), "new " + unitName(), "change"],
    ...allParts(change).map((part) => [part.name, stepTime(part.base_ns), stepTime(part.new_ns), stepTime(part.new_ns - part.base_ns, true)])];
  figure.append(plot, element("details.aside", {}, element("summary", {}, "The same as a table"), element("div.scroll", { tabindex: "0", role: "group", "aria-label": "Parts of the change" }, table)));
  draw();
  figure.append(element("div.actions", {}, copyButton("change", words), ...pictureButtons("change", () => plot.querySelector("svg"))));
  return { redraw: draw };
});
