// SPDX-License-Identifier: Apache-2.0
// The runs of both sides on one scale: a mark for each, with the interval of its mean step, and the mean of each side.

/** @typedef {{side: string, run: number, step_ns: number, low_ns: number | null, high_ns: number | null, steps: number,
 *             capture: string}} OneRun */

addView("spread", ({ figure, data }) => {
  /** @type {OneRun[]} */
  const runs = data.rows;
  const sides = ["base", "new"];
  const plot = element("div.spread-plot");
  const ofSide = (/** @type {string} */ side) => runs.filter((run) => run.side === side);
  const meanOf = (/** @type {OneRun[]} */ of) => of.reduce((sum, run) => sum + run.step_ns, 0) / Math.max(1, of.length);

  function draw() {
    const width = Math.floor(plot.clientWidth);
    if (width < 50) return;
    const isNarrow = width < 640;
    const ends = runs.flatMap((run) => [run.low_ns ?? run.step_ns, run.high_ns ?? run.step_ns, run.step_ns]);
    const [least, most] = [Math.min(...ends), Math.max(...ends)];
    const margin = Math.max((most - least) * 0.06, most * 0.002);
    const [from, to] = [Math.max(0, least - margin), most + margin];
    const left = isNarrow ? 0 : 60;
    const x = (/** @type {number} */ ns) => left + ((ns - from) / (to - from)) * (width - left - 8);
    /** @type {SVGElement[]} */
    const items = [];
    const pitch = 13;
    const head = isNarrow ? 24 : 10;
    let y = 24;
    const bands = sides.map((side) => {
      const band = { side, top: y + head, height: Math.max(1, ofSide(side).length) * pitch };
      y += head + band.height + 10;
      return band;
    });
    const bottom = y;
    const marks = axisStep((to - from) / timeUnit.ns, isNarrow ? 4 : 8);
    const digits = Math.max(0, -Math.floor(Math.log10(marks)));
    for (let value = Math.ceil(from / timeUnit.ns / marks) * marks; value <= to / timeUnit.ns; value += marks) {
      const at = Math.round(x(value * timeUnit.ns)) + 0.5;
      items.push(drawn("path.axis", { d: `M${at} 18V${bottom}` }));
      const label = numberText(value, digits) + " " + unitName();
      const half = textWidth(label) / 2;
      items.push(drawn("text.muted", { x: Math.max(left + half, Math.min(width - half, at)), y: 12, "text-anchor": "middle" }, label));
    }
    for (const { side, top, height } of bands) {
      const of = ofSide(side);
      items.push(drawn("text", { x: 0, y: isNarrow ? top - 8 : top + height / 2 + 4 }, side));
      const mean = Math.round(x(meanOf(of))) + 0.5;
      items.push(drawn("path.mean-of-side", { d: `M${mean} ${top - 4}V${top + height + 2}` }));
      of.forEach((run, index) => {
        const at = top + (index + 0.5) * pitch;
        if (run.low_ns !== null && run.high_ns !== null) {
          items.push(drawn("path.interval." + side, { d: `M${x(run.low_ns)} ${at}H${x(run.high_ns)}` }));
        }
        const mark = drawn("circle.run." + side, { cx: x(run.step_ns), cy: at, r: 4 });
        mark.append(drawn("title", {}, `${side}, run ${run.run}: ${stepTime(run.step_ns)}${unitText()}, ${run.capture}`));
        items.push(mark);
      });
    }
    const text = sides.map((side) => `${side}: ${plural(ofSide(side).length, "run")}, mean ${stepTime(meanOf(ofSide(side)))}${unitText()}`).join("; ");
    plot.replaceChildren(drawn("svg", { width, height: bottom, viewBox: `0 0 ${width} ${bottom}`, role: "img", "aria-label": text }, ...items));
  }

  const table = element("table.process-table", {},
    element("thead", {}, element("tr", {}, ...["side", "run", "steps", data.what + " " + unitName(), "from", "to"].map((title, index) => element(index ? "th.n" : "th", { scope: "col" }, title)),
      element("th.hide-narrow", { scope: "col" }, "capture"))),
    element("tbody", {}, ...runs.map((run) => element("tr", {}, element("td", {}, run.side), element("td.n", {}, run.run), element("td.n", {}, run.steps || "–"),
      element("td.n", {}, stepTime(run.step_ns)), element("td.n", {}, run.low_ns === null ? "–" : stepTime(run.low_ns)),
      element("td.n", {}, run.high_ns === null ? "–" : stepTime(run.high_ns)), element("td.hide-narrow", {}, run.capture)))));
  figure.append(plot, element("details.aside", {}, element("summary", {}, "The same as a table"), element("div.scroll", { tabindex: "0", role: "group", "aria-label": "Runs" }, table)));
  draw();
  figure.append(element("div.actions", {}, ...pictureButtons("runs", () => plot.querySelector("svg"))));
  return { redraw: draw };
});
