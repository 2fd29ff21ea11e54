// SPDX-License-Identifier: Apache-2.0
// Every step: bars of its parts, and the picked one beside the median.

addView("steps", ({ figure, results, data }) => {
  /** @type {Steps} */
  const steps = data;
  /** @type {Answer} */
  const answer = results.views.answer;
  const unit = steps.unit_ns;
  const count = steps.number.length;
  const isSingle = steps.per_column === 1;
  const lengthOf = (/** @type {number} */ i) => steps.length[i] * unit;
  const longestOf = (/** @type {number} */ i) => (steps.longest ? steps.longest[i] : steps.length[i]) * unit;
  const longestNumber = (/** @type {number} */ i) => (steps.longest_number ? steps.longest_number[i] : steps.number[i]);
  const countedIndices = Array.from({ length: count }, (_, i) => i).filter((i) => steps.counted[i]);
  const slowest = countedIndices.reduce((best, i) => (longestOf(i) > longestOf(best) ? i : best), countedIndices[0] ?? 0);
  /** @type {Map<number, number>} */
  const mediansOfParts = new Map(steps.median_parts);
  const plot = element("div.steps-plot");
  const detail = element("div.steps-detail");
  const embedded = new Map((results.views.timeline?.steps ?? []).map((/** @type {StepInTime} */ step) => [step.number, step.name]));
  let picked = slowest;
  let zoom = { from: 0, to: count };
  /** @type {{from: number, to: number, x: number, wide: number}[]} */
  let columns = [];

  const medianIndex = indexOfNumber(steps.median?.number ?? -1);

  /** @param {number} number */
  function indexOfNumber(number) {
    let found = -1;
    for (let i = 0; i < count && steps.number[i] <= number; ++i) found = i;
    return found;
  }
  /** @param {number} i */
  const isMedian = (i) => isSingle && i === medianIndex;

  function top() {
    const inZoom = countedIndices.filter((i) => i >= zoom.from && i < zoom.to);
    const lengths = (inZoom.length ? inZoom : countedIndices).map(longestOf).sort((a, b) => a - b);
    const longest = lengths[lengths.length - 1] ?? answer.step_ns;
    const usual = lengths[Math.floor((lengths.length - 1) * 0.9)] ?? longest;
    return Math.min(longest, usual * 2.5) * 1.06;
  }

  function draw() {
    const width = Math.floor(plot.clientWidth);
    if (width < 50) return;
    const left = 44;
    const medianText = "median " + roughTime(answer.median_ns);
    const right = textWidth(medianText) + 14;
    const height = 236;
    const base = 206;
    const head = 22;
    const room = width - left - right;
    const limit = top();
    const y = (/** @type {number} */ ns) => base - (Math.min(ns, limit) / limit) * (base - head);
    const layout = columnLayout(zoom.to - zoom.from, room);
    /** @type {SVGElement[]} */
    const items = [];
    const tick = axisStep(limit / timeUnit.ns, 5);
    const plotWidth = layout.columns * layout.pitch;
    items.push(drawn("text.muted", { x: left - 8, y: 12, "text-anchor": "end" }, unitName()));
    for (let value = 0; value <= limit / timeUnit.ns; value += tick) {
      const at = Math.round(y(value * timeUnit.ns)) + 0.5;
      items.push(drawn("path.axis", { d: `M${left} ${at}H${left + plotWidth}` }));
      const digits = Math.max(0, -Math.floor(Math.log10(tick)));
      items.push(drawn("text.muted", { x: left - 8, y: at + 4, "text-anchor": "end" }, numberText(value, digits)));
    }
    columns = [];
    for (let column = 0; column < layout.columns; ++column) {
      const from = zoom.from + column * layout.perColumn;
      const to = Math.min(zoom.to, from + layout.perColumn);
      const x = left + column * layout.pitch;
      columns.push({ from, to, x, wide: layout.pitch });
      items.push(...drawColumn(from, to, x, Math.max(0.7, layout.pitch - layout.gap), y, limit, base));
    }
    const medianY = Math.round(y(answer.median_ns)) + 0.5;
    const line = drawn("path", { d: `M${left} ${medianY}H${left + plotWidth}`, "stroke-dasharray": "1.5 3", fill: "none" });
    line.style.stroke = "var(--text)";
    items.push(line, drawn("text", { x: left + plotWidth + 8, y: medianY + 4 }, medianText));
    items.push(...axisLabels(left, base + 18, layout.pitch));
    const chosen = columns.find((column) => picked >= column.from && picked < column.to);
    if (chosen) {
      const ring = y(Math.max(...rangeOf(chosen.from, chosen.to).map(longestOf))) - 3;
      items.push(drawn("rect.picked", { x: chosen.x - 1.5, y: Math.max(head - 6, ring), width: Math.max(5, chosen.wide - layout.gap + 3), height: base + 2 - Math.max(head - 6, ring) }));
    }
    const drawing = drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, ...items);
    plot.replaceChildren(drawing);
    const number = isSingle ? steps.number[picked] : longestNumber(picked);
    plot.setAttribute("aria-valuenow", String(picked));
    plot.setAttribute("aria-valuetext", "step " + number + ", " + roughTime(longestOf(picked)) + unitText());
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  function rangeOf(from, to) {
    return Array.from({ length: to - from }, (_, i) => from + i);
  }

  /**
   * @param {number} from
   * @param {number} to
   * @param {number} x
   * @param {number} wide
   * @param {(ns: number) => number} y
   * @param {number} limit
   * @param {number} base
   */
  function drawColumn(from, to, x, wide, y, limit, base) {
    /** @type {SVGElement[]} */
    const made = [];
    const all = rangeOf(from, to);
    const counted = all.filter((i) => steps.counted[i]);
    if (counted.length === 0) {
      const longest = Math.max(...all.map(lengthOf));
      const from0 = Math.round(y(longest)) + 0.5;
      made.push(drawn("rect.ghost", { x: x + 0.5, y: from0, width: Math.max(1, wide - 1), height: Math.max(0, base - from0) }));
      if (longest > limit) made.push(cutMark(x + wide / 2, y(limit)));
      return made;
    }
    let at = 0;
    for (const { part, time } of steps.parts) {
      const mean = (counted.reduce((sum, i) => sum + time[i], 0) * unit) / counted.length;
      if (mean <= 0) continue;
      const lower = y(at);
      at += mean;
      const upper = y(at);
      if (lower - upper < 0.15) continue;
      const bar = drawn("rect", { x, y: upper, width: wide, height: lower - upper });
      bar.style.fill = colourStyle(results.parts[part].colour);
      made.push(bar);
    }
    const longest = Math.max(...counted.map(longestOf));
    if (longest > limit) made.push(cutMark(x + wide / 2, y(limit)));
    else if (counted.length > 1 || !isSingle) {
      const mark = drawn("rect", { x: x + wide / 2 - 1, y: y(longest) - 1, width: 2, height: 2.5 });
      mark.style.fill = "var(--text)";
      made.push(mark);
    }
    return made;
  }

  /**
   * A mark on what is longer than the axis.
   * @param {number} x
   * @param {number} y
   */
  function cutMark(x, y) {
    const mark = drawn("path", { d: `M${x - 4} ${y - 2}l4 -5l4 5`, fill: "none", "stroke-width": 1.5 });
    mark.style.stroke = "var(--text)";
    return mark;
  }

  /**
   * @param {number} left
   * @param {number} y
   * @param {number} pitch
   */
  function axisLabels(left, y, pitch) {
    const shown = columns.length;
    const widest = textWidth(numberText(steps.number[Math.max(0, zoom.to - 1)] ?? 0, 0)) + 16;
    const every = Math.max(1, Math.round(axisStep(shown, Math.max(1, (shown * pitch) / Math.max(widest, 24)))));
    const made = [];
    for (let column = 0; column < shown; ++column) {
      const number = steps.number[columns[column].from];
      const isMark = steps.per_column * (columns[0].to - columns[0].from) === 1 ? number % every === 0 : column % every === 0;
      if (!isMark) continue;
      made.push(drawn("text.muted", { x: left + (column + 0.5) * pitch - 1, y, "text-anchor": "middle" }, numberText(number, 0)));
    }
    return made;
  }

  /** The parts of what is picked: of one step where they are known, else the mean of its column. */
  function pickedParts() {
    const number = longestNumber(picked);
    if (!isSingle) {
      const known = steps.longest_steps.find((step) => step.number === number);
      if (known) return { number, length: known.length_ns, parts: new Map(known.parts), isMean: false };
      if (steps.median?.number === number) return { number, length: steps.median.length_ns, parts: new Map(steps.median.parts), isMean: false };
    }
    const parts = new Map(steps.parts.map(({ part, time }) => [part, time[picked] * unit]));
    return { number: steps.number[picked], length: lengthOf(picked), parts, isMean: !isSingle };
  }

  function showDetail() {
    const { number, length, parts, isMean } = pickedParts();
    detail.replaceChildren();
    if (!steps.counted[picked]) {
      const left = steps.left_out.find((step) => step.number === number);
      detail.append(element("h3", {}, "Step " + numberText(number, 0) + " takes " + roughTime(length) + unitText() + " and is left out" +
        (left?.why ? ": " + left.why : "")));
      detail.append(hint());
      return;
    }
    const which = picked === slowest ? ", the slowest," : isMedian(picked) ? ", the median," : "";
    const name = isMean ? "The " + steps.per_column + " steps from " + numberText(number, 0) + " take " : "Step " + numberText(number, 0) + which + " takes ";
    const difference = length - answer.median_ns;
    const rough = roughTime(Math.abs(difference));
    const than = Math.abs(difference) < answer.median_ns * 0.001 || rough === "0" ? ": as the median"
      : ": " + rough + (difference > 0 ? " more" : " less") + " than the median";
    detail.append(element("h3", {}, name + roughTime(length) + unitText() + (isMean ? " in the mean" : "") + than));
    // Of a long run the columns are means, which have no median of steps.
    const series = isSingle ? new Map(steps.parts.map(({ part, time }) => [part, countedIndices.map((i) => time[i] * unit)])) : null;
    const rows = partRows(parts, mediansOfParts, series, Math.max(length, answer.step_ns) * 0.005);
    const whole = { parts: [], ns: length, median: answer.median_ns, difference };
    const all = [...rows, whole];
    const largest = Math.max(1, ...all.map((row) => Math.abs(row.difference)));
    const hasLess = all.some((row) => row.difference < 0);
    const body = element("tbody", {}, ...all.map((row) => {
      const part = row.parts.length === 1 ? results.parts[row.parts[0]] : { colour: row === whole ? "range" : "other_idle", name: row === whole ? "whole step" : "others (" + row.parts.length + ")" };
      const bar = element("span.difference-bar" + (row.difference < 0 ? ".is-less" : ""));
      bar.style.width = (Math.abs(row.difference) / largest) * 100 + "%";
      bar.style.setProperty("--bar", colourStyle(part.colour));
      const axis = element("span.difference-axis" + (hasLess ? ".has-less" : ""), { "aria-hidden": "true" },
        hasLess ? element("span.less", {}, row.difference < 0 ? bar : null) : null, element("span", {}, row.difference < 0 ? null : bar));
      const names = row.parts.length > 1 ? row.parts.map((index) => results.parts[index].name).join(", ") : null;
      return element("tr" + (row === whole ? ".sum" : ""), {},
        element("th", { scope: "row", title: names }, element("span.part", {}, row === whole ? null : swatch(part.colour), part.name)),
        element("td.n", {}, stepTime(row.ns)), element("td.n", {}, stepTime(row.median)),
        element("td", {}, element("span.difference", {}, axis, stepTime(row.difference, true))));
    }));
    detail.append(element("table", {}, element("caption.unseen", {}, "The picked step beside the median of each part"),
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "part"),
        element("th.n", { scope: "col" }, isMean ? "these steps" : "step " + numberText(number, 0)),
        element("th.n", { scope: "col" }, "median"), element("th", { scope: "col" }, "difference, " + unitName()))), body));
    detail.append(element("p.hint", {}, "The median of each part by itself: medians do not add up to the median of the step."));
    if (embedded.has(number)) {
      detail.append(element("p.hint", {}, element("a", { href: "#timeline=" + embedded.get(number) }, "Show this step in time")));
    }
    detail.append(hint());
  }

  function hint() {
    const drag = count > 60 ? " Drag to zoom, Esc shows all." : "";
    return element("p.hint", {}, "Click a step, or use ← →. M picks the median, S the slowest." + drag);
  }

  function noteText() {
    let text = "Step number below.";
    const perBar = columns.length ? steps.per_column * (columns[0].to - columns[0].from) : 1;
    if (perBar > 1) text = "Each column is the mean of " + perBar + " steps; the dark mark above it is the longest of them.";
    if (steps.left_out.length > 0) {
      const names = steps.left_out.slice(0, 4).map((step) => "step " + numberText(step.number, 0) + ", " + roughTime(step.length_ns) + unitText() +
        (step.why ? " (" + step.why + ")" : ""));
      const more = steps.left_out_count - names.length;
      text += " Dashed: left out of all figures (" + names.join("; ") + (more > 0 ? " and " + more + " more" : "") + ").";
    }
    return text + runText();
  }

  /** How much of the recording the steps are, and what the rest is. */
  function runText() {
    const run = answer.run;
    if (!run || !(run.recorded_ns > 0) || !(run.steps_ns > 0)) return "";
    const seconds = (/** @type {number} */ ns) => numberText(ns / 1e9, 2);
    const others = /** @type {[string, number][]} */ ([["start-up", run.startup_ns], ["warm-up", run.warm_up_ns], ["between steps", run.between_ns], ["end", run.end_ns]])
      .filter(([, ns]) => ns >= 5e6)
      .map(([name, ns]) => name + " " + seconds(ns));
    return " The steps that count take " + seconds(run.steps_ns) + " of the " + seconds(run.recorded_ns) + " s recorded" +
      (others.length > 0 ? "; no figure has the rest: " + others.join(", ") + "." : ".");
  }
  const note = element("p.hint");

  /**
   * @param {number} index
   * @param {boolean} isStep
   */
  function pick(index, isStep = true) {
    picked = Math.max(0, Math.min(count - 1, index));
    if (picked < zoom.from || picked >= zoom.to) zoom = { from: 0, to: count };
    draw();
    showDetail();
    if (isStep) setAddress("steps", String(isSingle ? steps.number[picked] : longestNumber(picked)));
    announce(detail.querySelector("h3")?.textContent ?? "");
  }
  /** @param {number} by */
  function move(by) {
    const column = columns.findIndex((each) => picked >= each.from && picked < each.to);
    const next = columns[Math.max(0, Math.min(columns.length - 1, column + by))];
    if (next) pick(longestIn(next.from, next.to));
  }
  /**
   * @param {number} from
   * @param {number} to
   */
  function longestIn(from, to) {
    return rangeOf(from, to).reduce((best, i) => (longestOf(i) > longestOf(best) ? i : best), from);
  }
  /** @param {number} x */
  const columnAt = (x) => Math.max(0, Math.min(columns.length - 1, columns.findIndex((each) => x < each.x + each.wide)));
  const place = (/** @type {PointerEvent} */ event) => event.clientX - plot.getBoundingClientRect().left;

  let pressedAt = -1;
  plot.addEventListener("pointerdown", (event) => {
    if (event.button === 0) pressedAt = place(event);
  });
  plot.addEventListener("pointerup", (event) => {
    if (pressedAt < 0 || columns.length === 0) return;
    const to = place(event);
    const end = columns[columns.length - 1];
    if (Math.abs(to - pressedAt) > 12) {
      const first = columnAt(Math.min(pressedAt, to));
      const last = Math.max(pressedAt, to) >= end.x + end.wide ? columns.length - 1 : columnAt(Math.max(pressedAt, to));
      if (columns[last].to - columns[first].from >= 2) zoomTo(columns[first].from, columns[last].to, true);
    } else if (to >= columns[0].x - 4 && to < end.x + end.wide + 4) {
      const column = columns[columnAt(to)];
      pick(longestIn(column.from, column.to));
    }
    pressedAt = -1;
  });
  plot.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && (zoom.from > 0 || zoom.to < count)) zoomTo(0, count, true);
  });

  /**
   * @param {number} from
   * @param {number} to
   * @param {boolean} isStep
   */
  function zoomTo(from, to, isStep) {
    zoom = { from, to };
    if (picked < from || picked >= to) picked = longestIn(from, to);
    draw();
    showDetail();
    note.textContent = noteText();
    whole.hidden = from === 0 && to === count;
    if (isStep) setAddress("steps", from === 0 && to === count ? "" : steps.number[from] + "-" + steps.number[to - 1]);
  }

  const whole = element("button.quiet", { type: "button", hidden: true, click: () => zoomTo(0, count, true) }, "Show all steps");
  Object.entries({
    role: "slider", tabindex: "0", "aria-label": "Steps", "aria-valuemin": "0", "aria-valuemax": String(count - 1), "aria-valuenow": String(picked),
  }).forEach(([name, value]) => { plot.setAttribute(name, value); });
  const rows = () => {
    const head = ["step", "counted", "length ms", "CPU ms", ...steps.parts.map(({ part }) => results.parts[part].name + " ms")];
    const cell = (/** @type {number} */ ns) => (ns / 1e6).toFixed(4);
    return [head, ...rangeOf(0, count).map((i) => [String(steps.number[i]), steps.counted[i] ? "yes" : "no", cell(lengthOf(i)),
      cell((steps.host?.[i] ?? 0) * unit), ...steps.parts.map(({ time }) => cell(time[i] * unit))])];
  };
  const present = results.parts.filter((_, index) => steps.parts.some(({ part, time }) => part === index && time.some((value) => value > 0)));
  figure.append(element("div.steps-grid", {},
    element("div", {}, plot, note,
      element("div.legend", {}, ...present.map((part) => element("span", {}, swatch(part.colour), part.name))),
      element("div.actions", {}, whole, copyButton("steps", rows), ...pictureButtons("steps", () => plot.querySelector("svg")))),
    detail));
  draw();
  showDetail();
  note.textContent = noteText();

  const showInTime = () => {
    const { number } = pickedParts();
    if (embedded.has(number)) location.hash = "#timeline=" + embedded.get(number);
  };
  return {
    redraw: draw,
    show: (address) => {
      const [from, to] = address.selection.split("-").map((text) => (text === "" ? NaN : indexOfNumber(Number(text))));
      if (address.selection.includes("-") && from >= 0 && to > from) zoomTo(from, to + 1, false);
      else if (from >= 0) pick(from, false);
      else zoomTo(0, count, false);
    },
    keys: {
      ArrowLeft: () => move(-1), ArrowRight: () => move(1), Home: () => pick(columns[0].from), End: () => pick(zoom.to - 1),
      m: () => pick(medianIndex >= 0 ? medianIndex : picked), s: () => pick(slowest), Enter: showInTime,
    },
  };
});
