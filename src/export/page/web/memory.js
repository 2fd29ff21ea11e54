// SPDX-License-Identifier: Apache-2.0
// GPU memory: what was allocated and reserved over the recording, and what that was at the peaks.

addView("memory", ({ figure, data }) => {
  /** @type {Memory} */
  const memory = data;
  const { steps, uses, devices } = memory;
  const isSingle = devices.length === 1;
  const hasSteps = steps.number.length > 0;
  const firstUnknown = uses.findIndex((use) => use.key === "before_recording");
  const most = 25;
  const begin = Math.min(...devices.map(({ curve }) => curve.time_ns[0]));
  const end = Math.max(begin + 1, ...devices.flatMap(({ curve }) => curve.segments.map(([, until]) => until)));
  let chosen = 0;
  let zoom = { from: begin, to: end };
  /** @type {number | null} */
  let cursor = null;
  let by = "place";
  let order = { key: "0", ascending: false };
  let query = "";
  /** Rows of the table of places; 0: those that have something at a moment. */
  let shown = 0;
  let isPrinting = false;

  const device = () => devices[chosen];
  const seconds = (/** @type {number} */ ns) => (end < 1e8 ? numberText(ns / 1e6, 3) + " ms" : numberText(ns / 1e9, ns < 9.995e9 ? 3 : 2) + " s");

  /**
   * The step at a moment, as people say it; "": there is none.
   * @param {number} ns
   */
  function stepText(ns) {
    const column = lastNotAbove(steps.start_ns, ns);
    if (column < 0 || ns >= steps.end_ns) return "";
    const first = steps.number[column];
    if (steps.per_column === 1) return "step " + numberText(first, 0);
    const next = steps.number[column + 1];
    return "a step from " + numberText(first, 0) + (next === undefined ? " on" : " to " + numberText(next - 1, 0));
  }
  /** @param {MemoryMoment} moment */
  function momentTitle(moment) {
    const step = moment.step === null ? "" : "step " + numberText(moment.step, 0);
    if (moment.key === "failure") return "At the error" + (step ? ", in " + step : "");
    if (moment.key === "end") return "At the end" + (step ? ", in " + step : "");
    if (!step) return "At the peak";
    return capitalized(step) + (moment.key === "median" ? ", the median" : ", the highest");
  }
  /** @param {MemoryMoment} moment */
  const momentPhrase = (moment) => (moment.name.startsWith("at ") ? "" : "in the ") + moment.name;
  /** @param {string} text */
  function capitalized(text) {
    return text.slice(0, 1).toUpperCase() + text.slice(1);
  }

  // The curves.
  const plots = devices.map((each, index) => {
    const plot = element("div.memory-plot", {
      role: "slider", tabindex: "0", "aria-label": "Memory of " + each.name + " over time", "aria-valuemin": "0",
      "aria-valuemax": String(Math.max(0, each.peaks.step.length - 1)), "aria-valuenow": "0",
    });
    addPointing(plot, index);
    return plot;
  });
  const say = element("p.memory-say", { role: "status" });
  const note = element("p.hint");
  const whole = element("button.quiet", { type: "button", hidden: true, click: () => zoomTo(begin, end, true) }, "Show all");
  const stepsFrom = hasSteps ? Math.max(begin, steps.start_ns[0]) : begin;
  const stepsTo = hasSteps ? Math.min(end, steps.end_ns) : end;
  const isPart = hasSteps && stepsTo > stepsFrom && stepsTo - stepsFrom < 0.8 * (end - begin);
  const onlySteps = element("button.quiet", { type: "button", hidden: true, click: () => zoomTo(stepsFrom, stepsTo, true) }, "Show the steps");

  /** @param {MemoryDevice} of */
  function topOf(of) {
    const reserved = of.curve.reserved.reduce((largest, value) => Math.max(largest, value), 1);
    return of.limit !== null && of.limit <= 1.6 * reserved ? Math.max(of.limit, reserved) : reserved;
  }
  /** @param {number} width */
  function layoutOf(width) {
    const left = 58;
    return { left, room: Math.max(40, width - left - 10), head: hasSteps ? 26 : 10, base: isSingle ? 224 : 140 };
  }

  /**
   * How many pixels a step has where steps lie closer than the screen can show; 0: they do not.
   * @param {number} room
   */
  function densePitch(room) {
    const count = lastNotAbove(steps.start_ns, zoom.to) - Math.max(0, lastNotAbove(steps.start_ns, zoom.from)) + 1;
    const pitch = (room * (Math.min(zoom.to, steps.end_ns) - Math.max(zoom.from, steps.start_ns[0] ?? 0))) / (zoom.to - zoom.from) / count / steps.per_column;
    return hasSteps && count > 1 && pitch > 0 && pitch < 3 ? pitch : 0;
  }
  /**
   * Of dense steps each column has one whole step at least, so that the most in it is a peak.
   * @param {number} room
   */
  const columnWidth = (room) => Math.max(1, Math.ceil(1.5 * densePitch(room)));

  /** @param {number} index */
  function drawPlot(index) {
    const plot = plots[index];
    const of = devices[index];
    const width = Math.floor(plot.clientWidth);
    if (width < 50) return;
    const { left, room, head, base } = layoutOf(width);
    const height = base + 22;
    const top = topOf(of) * 1.04;
    const x = (/** @type {number} */ ns) => left + Math.max(-1, Math.min(1.0001, (ns - zoom.from) / (zoom.to - zoom.from))) * room;
    const y = (/** @type {number} */ bytes) => base - (bytes / top) * (base - head);
    /** @type {SVGElement[]} */
    const items = [];
    const power = Math.min(4, Math.max(0, Math.floor(Math.log10(top) / 3)));
    const unit = 1000 ** power;
    const tick = axisStep(top / unit, 4);
    const digits = Math.max(0, -Math.floor(Math.log10(tick)));
    for (let value = 0; value <= top / unit; value += tick) {
      const at = Math.round(y(value * unit)) + 0.5;
      const text = numberText(value, digits) + (value + tick > top / unit ? " " + ["B", "kB", "MB", "GB", "TB"][power] : "");
      items.push(drawn("path.axis", { d: `M${left} ${at}H${left + room}` }), drawn("text.muted", { x: left - 8, y: at + 4, "text-anchor": "end" }, text));
    }
    items.push(...stepMarks(x, left, room, head, base), ...timeMarks(x, left, room, base));
    const columns = curveColumns(of.curve, zoom.from, zoom.to, Math.max(1, Math.round(room / columnWidth(room))));
    const xOf = (/** @type {number} */ column) => left + (column * room) / columns.most.length;
    items.push(drawn("path.memory-most", { d: columnPath(columns.most, xOf, y, base) }), drawn("path.memory-least", { d: columnPath(columns.least, xOf, y, base) }),
      drawn("path.memory-reserved", { d: columnPath(columns.reserved, xOf, y, null) }), drawn("path.memory-allocated", { d: columnPath(columns.most, xOf, y, null) }));
    if (of.limit !== null && of.limit <= top) {
      const at = Math.round(y(of.limit)) + 0.5;
      items.push(drawn("path.memory-limit", { d: `M${left} ${at}H${left + room}` }),
        drawn("text", { x: left + room, y: at + 14, "text-anchor": "end" }, "limit " + memoryText(of.limit)));
    }
    of.moments.forEach((moment, place) => { items.push(...momentMarks(moment, place, of, x, y, left, room, head, base)); });
    if (cursor !== null && cursor >= zoom.from && cursor <= zoom.to) {
      items.push(drawn("path.memory-cursor", { d: `M${x(cursor).toFixed(1)} ${head}V${base}` }));
      const change = changeIn(of.curve, cursor, cursor);
      if (change >= 0) items.push(drawn("circle.memory-dot", { cx: x(cursor), cy: y(of.curve.allocated[change]), r: 4 }));
    }
    plot.replaceChildren(drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, ...items));
    plot.classList.toggle("is-chosen", !isSingle && index === chosen);
    const at = lastNotAbove(of.peaks.time_ns, cursor ?? of.moments[0].time_ns);
    plot.setAttribute("aria-valuenow", String(Math.max(0, at)));
    plot.setAttribute("aria-valuetext", sentence(of, cursor ?? of.moments[0].time_ns));
  }

  /**
   * Where steps begin, with the numbers of as many as there is room for.
   * @param {(ns: number) => number} x
   * @param {number} left
   * @param {number} room
   * @param {number} head
   * @param {number} base
   */
  function stepMarks(x, left, room, head, base) {
    /** @type {SVGElement[]} */
    const made = [];
    const from = Math.max(0, lastNotAbove(steps.start_ns, zoom.from));
    const to = lastNotAbove(steps.start_ns, zoom.to);
    const count = to - from + 1;
    if (!hasSteps || count < 1) return made;
    const pitch = room / count;
    const widest = textWidth(numberText(steps.number[to], 0)) + 14;
    const every = Math.max(1, Math.round(axisStep(count, Math.max(1, (count * pitch) / Math.max(widest, 30)))));
    const word = textWidth("step ");
    let free = left;
    for (let i = from; i <= to; ++i) {
      const start = x(steps.start_ns[i]);
      const next = x(steps.start_ns[i + 1] ?? steps.end_ns);
      const isNamed = steps.number[i] % every === 0 || count === 1;
      if (start >= left && start <= left + room && (isNamed || pitch >= 7)) made.push(drawn("path.axis", { d: `M${start.toFixed(1)} ${isNamed ? head - 8 : head}V${base}` }));
      if (!isNamed) continue;
      const text = numberText(steps.number[i], 0);
      const middle = Math.max(left, Math.min(left + room, (Math.max(start, left) + Math.min(next, left + room)) / 2));
      const [name, half] = [free === left ? "step " + text : text, (textWidth(text) + (free === left ? word : 0)) / 2];
      if (middle - half < (free === left ? 0 : free) || middle + half > left + room + 8) continue;
      made.push(drawn("text.muted", { x: middle, y: 12, "text-anchor": "middle" }, name));
      free = middle + half + 8;
    }
    return made;
  }
  /**
   * @param {(ns: number) => number} x
   * @param {number} left
   * @param {number} room
   * @param {number} base
   */
  function timeMarks(x, left, room, base) {
    const span = zoom.to - zoom.from;
    const isShort = span < 2e9;
    const unit = isShort ? 1e6 : 1e9;
    const tick = axisStep(span / unit, Math.max(2, room / 110));
    const digits = Math.max(0, -Math.floor(Math.log10(tick)));
    /** @type {SVGElement[]} */
    const made = [];
    for (let value = Math.ceil(zoom.from / unit / tick) * tick; value * unit <= zoom.to; value += tick) {
      const text = numberText(value, digits) + (isShort ? " ms" : " s");
      const at = x(value * unit);
      if (at - textWidth(text) / 2 < left - 30 || at + textWidth(text) / 2 > left + room + 10) continue;
      made.push(drawn("path.axis", { d: `M${at.toFixed(1)} ${base}v4` }), drawn("text.muted", { x: at, y: base + 18, "text-anchor": "middle" }, text));
    }
    return made;
  }
  /**
   * @param {MemoryMoment} moment
   * @param {number} place among the moments
   * @param {MemoryDevice} of
   * @param {(ns: number) => number} x
   * @param {(bytes: number) => number} y
   * @param {number} left
   * @param {number} room
   * @param {number} head
   * @param {number} base
   */
  function momentMarks(moment, place, of, x, y, left, room, head, base) {
    if (moment.time_ns < zoom.from || moment.time_ns > zoom.to) return [];
    const [at, high] = [x(moment.time_ns), y(moment.allocated)];
    /** @type {SVGElement[]} */
    const made = [];
    const isEnd = moment.key === "failure" || moment.key === "end";
    if (isEnd) made.push(drawn("path.memory-failure", { d: `M${at.toFixed(1)} ${head}V${base}` }));
    made.push(drawn(moment.key === "median" ? "circle.memory-dot.is-median" : "circle.memory-dot", { cx: at.toFixed(1), cy: high.toFixed(1), r: 3.5 }));
    // The one that stands first has its value beside it; of more the texts would lie on one another.
    if (place > 0) return made;
    const text = (isEnd ? (moment.key === "failure" ? "out of memory, " : "killed, ") : of.has_steps ? "highest " : "peak ") + memoryText(moment.allocated);
    const isLeft = at + 10 + textWidth(text) > left + room;
    const label = drawn("text.memory-label", { x: isLeft ? at - 8 : at + 8, y: Math.max(head + 12, isEnd ? Math.min(high - 7, base - 8) : high + 4), "text-anchor": isLeft ? "end" : "start" }, text);
    made.push(label);
    return made;
  }

  /**
   * @param {MemoryDevice} of
   * @param {number} ns
   */
  function sentence(of, ns) {
    const change = changeIn(of.curve, ns, ns);
    const moment = of.moments.find((each) => each.time_ns === ns);
    const step = moment && moment.step !== null ? "step " + numberText(moment.step, 0) : stepText(ns);
    const place = [isSingle ? "" : of.name, step, seconds(ns)].filter(Boolean).join(", ");
    if (change < 0) return capitalized(place) + ": nothing was recorded.";
    const asked = moment?.asked ? "; " + memoryText(moment.asked) + " more were asked for" : "";
    return capitalized(place) + ": " + memoryText(of.curve.allocated[change]) + " allocated, " + memoryText(of.curve.reserved[change]) + " reserved" + asked +
      (moment?.where ? ", " + moment.where : "") + ".";
  }
  /**
   * The moment itself, or of a curve that was thinned the change next to it: what was between two is not known here.
   * @param {MemoryDevice} of
   * @param {number} ns
   */
  function knownMoment({ curve }, ns) {
    if (curve.time_ns.length >= curve.changes) return ns;
    const before = Math.max(0, lastNotAbove(curve.time_ns, ns));
    const after = Math.min(curve.time_ns.length - 1, before + 1);
    return curve.time_ns[ns - curve.time_ns[before] <= curve.time_ns[after] - ns ? before : after];
  }
  /**
   * The moment below a place of a plot: a peak, if one is near.
   * @param {number} index
   * @param {PointerEvent} event
   */
  function momentAt(index, event) {
    const plot = plots[index];
    const { left, room } = layoutOf(plot.clientWidth);
    const place = event.clientX - plot.getBoundingClientRect().left;
    if (place < left - 3 || place > left + room + 3) return null;
    const ns = (/** @type {number} */ px) => zoom.from + (Math.max(0, Math.min(room, px - left)) / room) * (zoom.to - zoom.from);
    const change = changeIn(devices[index].curve, ns(place - 2), ns(place + 2));
    const found = change >= 0 ? devices[index].curve.time_ns[change] : -1;
    return found >= ns(place - 2) ? found : knownMoment(devices[index], ns(place));
  }
  /**
   * @param {HTMLElement} plot
   * @param {number} index
   */
  function addPointing(plot, index) {
    let pressedAt = -1;
    plot.addEventListener("pointerdown", (event) => {
      if (event.button === 0) pressedAt = event.clientX;
    });
    plot.addEventListener("pointerup", (event) => {
      if (pressedAt < 0) return;
      const { left, room } = layoutOf(plot.clientWidth);
      const ns = (/** @type {number} */ clientX) => zoom.from +
        (Math.max(0, Math.min(room, clientX - plot.getBoundingClientRect().left - left)) / room) * (zoom.to - zoom.from);
      const [from, to] = [Math.min(pressedAt, event.clientX), Math.max(pressedAt, event.clientX)];
      pressedAt = -1;
      hideTip();
      if (to - from > 12) {
        if (ns(to) - ns(from) > (end - begin) * 1e-6) zoomTo(ns(from), ns(to), true);
        return;
      }
      const at = momentAt(index, event);
      if (at !== null) pick(index, at);
    });
    plot.addEventListener("pointermove", (event) => {
      const at = momentAt(index, event);
      if (at === null) return hideTip();
      showTip(null, { left: event.clientX + 8, top: event.clientY - 4, bottom: event.clientY + 12 }, sentence(devices[index], at));
    });
    plot.addEventListener("pointerleave", hideTip);
    plot.addEventListener("focus", () => choose(index));
    plot.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && (zoom.from > begin || zoom.to < end)) zoomTo(begin, end, true);
    });
  }

  /** @param {number} index */
  function choose(index) {
    if (index === chosen) return;
    chosen = index;
    drawAll();
  }
  /**
   * @param {number} index
   * @param {number} ns
   * @param {boolean} [isStep]
   */
  function pick(index, ns, isStep = true) {
    chosen = index;
    cursor = ns;
    if (ns < zoom.from || ns > zoom.to) zoom = { from: begin, to: end };
    drawAll();
    say.textContent = sentence(device(), ns);
    if (isStep) keepAddress();
  }
  /** The address names a moment by its step, if it is that step's peak, or by its time. */
  function selectionText() {
    if (cursor === null) return "";
    const moment = device().moments.find((each) => each.time_ns === cursor);
    if (moment?.key === "failure") return "error";
    if (moment?.key === "end") return "end";
    const place = device().peaks.time_ns.indexOf(cursor);
    return place >= 0 ? String(device().peaks.step[place]) : (cursor / 1e6).toFixed(3) + "ms";
  }
  /** @param {boolean} [isStep] */
  function keepAddress(isStep = true) {
    const isZoomed = zoom.from > begin || zoom.to < end;
    const ms = (/** @type {number} */ ns) => (ns / 1e6).toFixed(3);
    setAddress("memory", selectionText(), {
      gpu: chosen === 0 ? "" : String(chosen), zoom: isZoomed ? ms(zoom.from) + "-" + ms(zoom.to) : "", by: by === "place" ? "" : by,
      sort: order.key === "0" ? "" : order.key, q: query,
    }, isStep);
  }
  /**
   * @param {number} from
   * @param {number} to
   * @param {boolean} isStep
   */
  function zoomTo(from, to, isStep) {
    zoom = { from: Math.max(begin, from), to: Math.min(end, to) };
    if (zoom.to <= zoom.from) zoom = { from: begin, to: end };
    showButtons();
    note.textContent = noteText();
    plots.forEach((_, index) => { drawPlot(index); });
    if (isStep) keepAddress();
  }
  function showButtons() {
    whole.hidden = zoom.from === begin && zoom.to === end;
    onlySteps.hidden = !isPart || (zoom.from === stepsFrom && zoom.to === stepsTo);
  }
  /** @param {number} change */
  function move(change) {
    const of = device();
    const times = of.peaks.time_ns.length > 0 ? of.peaks.time_ns : of.curve.time_ns;
    const at = lastNotAbove(times, cursor ?? of.moments[0].time_ns);
    const by = of.peaks.time_ns.length > 0 ? change : change * Math.max(1, Math.round(times.length / 100));
    pick(chosen, times[Math.max(0, Math.min(times.length - 1, at + by))]);
  }
  /** @param {string} key */
  function pickMoment(key) {
    const found = device().moments.find((each) => each.key === key) ?? device().moments.find((each) => each.key === "peak");
    if (found) pick(chosen, found.time_ns);
  }

  // What it was, at the moments.
  const bars = element("div.memory-bars");
  const budget = element("div");

  function drawBars() {
    const of = device();
    const width = Math.floor(bars.clientWidth);
    if (width < 50) return;
    const [high, pitch, head] = [30, 62, 20];
    const most = of.moments.reduce((largest, moment) => Math.max(largest, moment.allocated, moment.reserved ?? 0), 1);
    const x = (/** @type {number} */ bytes) => (bytes / most) * (width - 1);
    /** @type {SVGElement[]} */
    const items = [];
    of.moments.forEach((moment, index) => {
      const y = index * pitch + head;
      items.push(drawn("text", { x: 0, y: y - 6 }, fittingText(momentTitle(moment) + ": " + memoryText(moment.allocated), width)));
      if (moment.reserved !== null && moment.reserved > moment.allocated) {
        items.push(drawn("rect.ghost", { x: 0.5, y: y + 0.5, width: Math.max(1, x(moment.reserved) - 1), height: high - 1 }));
      }
      let at = 0;
      uses.forEach((use, place) => {
        const bytes = of.by_use[index][place];
        if (bytes <= 0) return;
        const [from, to] = [x(at), x(at + bytes)];
        at += bytes;
        const bar = drawn("rect", { x: from.toFixed(2), y, width: Math.max(0, to - from - (to - from > 3 ? 1 : 0)).toFixed(2), height: high, "data-use": use.key });
        bar.style.fill = colourStyle(use.colour);
        items.push(bar);
        const text = [use.name + " " + memoryText(bytes), use.name].find((each) => textWidth(each) < to - from - 12);
        if (!text) return;
        const label = drawn("text", { x: from + 6, y: y + high / 2 + 4 }, text);
        label.style.fill = textColourOn(colourValue(use.colour));
        items.push(label);
      });
    });
    const height = of.moments.length * pitch - 8;
    bars.replaceChildren(drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, ...items));
  }

  function drawBudget() {
    const of = device();
    // A telephone has room for two columns of numbers.
    const narrow = (/** @type {number} */ index) => (index > 1 ? ".hide-narrow" : "");
    const head = element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "use"),
      ...of.moments.map((moment, index) => element("th.n" + narrow(index), { scope: "col" }, moment.name)), element("th.n.hide-narrow", { scope: "col" }, "share")));
    const first = Math.max(1, of.moments[0].allocated);
    const body = element("tbody", {}, ...uses.map((use, place) => {
      if (of.by_use.every((sums) => sums[place] === 0)) return null;
      return element("tr", {}, element("th", { scope: "row" }, element("span.part", {}, swatch(use.colour), use.key === "other" ? use.name : termNode(use.name))),
        ...of.by_use.map((sums, index) => element("td.n" + narrow(index), {}, memoryText(sums[place]))),
        element("td.n.weak.hide-narrow", {}, shareText(of.by_use[0][place] / first)));
    }));
    const row = (/** @type {string} */ name, /** @type {string} */ kind, /** @type {(moment: MemoryMoment) => number | null} */ value) =>
      element("tr" + kind, {}, element("th", { scope: "row" }, name), ...of.moments.map((moment, index) => {
        const bytes = value(moment);
        return element("td.n" + narrow(index), {}, bytes === null ? "–" : memoryText(bytes));
      }), element("td.hide-narrow"));
    const foot = element("tbody", {}, row("allocated", ".sum", (moment) => moment.allocated),
      row("reserved, not in use", "", (moment) => (moment.reserved === null ? null : moment.reserved - moment.allocated)));
    budget.replaceChildren(element("table.memory-uses", {}, element("caption.unseen", {}, "What it was for"), head, body, foot));
  }

  // Where it was asked for.
  const holder = element("div.scroll", { tabindex: "0", role: "group", "aria-label": "Where memory was asked for" });
  const hasModules = devices.some(({ places }) => places.module.some(Boolean));
  const switched = switchButtons("Rows", hasModules ? [["place", "each place"], ["range", "by range"], ["module", "by module"]] : [["place", "each place"], ["range", "by range"]], by, (value) => {
    by = value;
    shown = 0;
    drawPlaces();
    keepAddress();
  });
  const search = /** @type {HTMLInputElement} */ (element("input", { type: "search", placeholder: "Search places  /", "aria-label": "Search places" }));
  search.addEventListener("input", () => {
    query = search.value.trim();
    drawPlaces();
    keepAddress(false);
  });

  /** @returns {(Column & {of: (row: PlaceRow) => number | string, text: (row: PlaceRow) => string})[]} */
  function columns() {
    const of = device();
    const perStep = of.has_steps ? "a step" : "in all";
    return [
      { key: "name", title: by === "module" ? "module" : "born in", of: (row) => row.name, text: (row) => row.name },
      { key: "use", title: "use", of: (row) => row.uses[0], text: (row) => (row.uses.length > 1 ? plural(row.uses.length, "use") : uses[row.uses[0]].name) },
      ...of.moments.map((moment, index) => ({ key: String(index), title: moment.name, number: true, narrow: index > 0,
        of: (/** @type {PlaceRow} */ row) => row.bytes[index], text: (/** @type {PlaceRow} */ row) => memoryText(row.bytes[index]) })),
      { key: "blocks", title: "blocks", number: true, narrow: true, of: (row) => row.blocks, text: (row) => numberText(row.blocks, 0) },
      { key: "churn", title: "given out " + perStep, number: true, narrow: true, of: (row) => row.churn, text: (row) => memoryText(row.churn) },
      { key: "births", title: "times " + perStep, number: true, narrow: true, of: (row) => row.births, text: (row) => countText(row.births) },
      ...(of.places.growth.some(Boolean) ? [{ key: "growth", title: "grows " + perStep, number: true, of: (/** @type {PlaceRow} */ row) => row.growth,
        text: (/** @type {PlaceRow} */ row) => (row.growth ? memoryText(row.growth) : "") }] : []),
    ];
  }
  function fittingPlaces() {
    const needle = query.toLowerCase();
    const column = columns().find((each) => each.key === order.key) ?? columns()[2];
    const rows = placeRows(device().places, by, firstUnknown)
      .filter((row) => needle === "" || [row.name, row.below, ...row.uses.map((use) => uses[use].name)].some((text) => text.toLowerCase().includes(needle)));
    return rows.sort((a, b) => {
      const [left, right] = [column.of(a), column.of(b)];
      const difference = typeof left === "string" ? left.localeCompare(String(right)) : left - Number(right);
      return order.ascending ? difference : -difference;
    });
  }
  function drawPlaces() {
    const all = columns();
    const rows = fittingPlaces();
    const held = rows.filter((row) => row.bytes.some(Boolean)).length;
    const count = isPrinting ? rows.length : shown || Math.min(most, order.key in device().moments ? Math.max(8, held) : most);
    const head = sortableHead(all, order, (key) => {
      order = { key, ascending: order.key === key ? !order.ascending : key === "name" || key === "use" };
      drawPlaces();
      keepAddress();
      /** @type {HTMLElement | null} */ (holder.querySelector(`button[data-sort="${key}"]`))?.focus();
    });
    const body = element("tbody", {}, ...rows.slice(0, count).map((row) => element("tr", {}, ...all.map((column) => {
      if (column.key === "name") return element("th", { scope: "row" }, row.name, row.below ? element("div.in", {}, row.below) : null);
      if (column.key === "use") return element("td", {}, element("span.part", {}, row.uses.map((use) => swatch(uses[use].colour)).reduce((all, each) => { all.append(each); return all; }, element("span.swatches")), column.text(row)));
      return element("td.n" + (column.of(row) === 0 ? ".weak" : "") + (column.narrow ? ".hide-narrow" : ""), {}, column.text(row));
    }))));
    const { rest } = device().places;
    holder.replaceChildren(element("table.memory-places", {}, element("caption.unseen", {}, "Where memory was asked for"), head, body));
    if (rows.length === 0) holder.append(element("p.why", {}, "No place has “" + shortened(query, 60) + "”."));
    if (rows.length > count) {
      holder.append(element("p.more", {}, element("button.button", { type: "button", click: () => { shown = count + 50; drawPlaces(); } },
        "Show " + Math.min(50, rows.length - count) + " more of " + rows.length)));
    } else if (rest.count > 0 && query === "") {
      holder.append(element("p.hint", {}, plural(rest.count, "further place") + " with little are not in the table: " + memoryText(rest.bytes[0]) + " " + momentPhrase(device().moments[0]) + "."));
    }
  }
  const placeCsv = () => {
    const of = device();
    const names = of.moments.map((moment) => moment.name + " bytes");
    return [["born in", "module", "line", "use", ...names, "blocks at the peak", "given out bytes a step", "times a step", "growth bytes a step"],
      ...of.places.use.map((use, i) => [of.places.path[i], of.places.module[i], of.places.line[i], uses[use].name, ...of.places.bytes.map((bytes) => String(bytes[i])),
        String(of.places.blocks[i]), String(of.places.churn[i]), String(of.places.births[i]), String(of.places.growth[i])])];
  };
  const curveCsv = () => [["GPU", "time s", "allocated bytes", "reserved bytes"], ...devices.flatMap(({ name, curve }) =>
    curve.time_ns.map((ns, i) => [name, (ns / 1e9).toFixed(9), String(curve.allocated[i]), String(curve.reserved[i])]))];

  function noteText() {
    const { curve, limit } = device();
    const kept = curve.time_ns.length;
    const hint = "Point at a moment, or use ← →. H picks the highest step, M the median. Drag to zoom, Esc shows all.";
    const thinned = kept < curve.changes ? " Of " + numberText(curve.changes, 0) + " changes " + numberText(kept, 0) + " are drawn: of each piece the first, the last, the highest and the lowest, so that no peak is left out." : "";
    const beyond = limit !== null && limit > topOf(device()) * 1.04 ? " The limit, " + memoryText(limit) + ", is above the scale." : "";
    const dense = densePitch(layoutOf(plots[chosen].clientWidth).room) > 0 ? " Steps lie closer than the screen can show: what is pale lies between the least and the most." : "";
    return hint + dense + beyond + thinned;
  }

  function drawAll() {
    plots.forEach((_, index) => { drawPlot(index); });
    note.textContent = noteText();
    showButtons();
    heading.textContent = "What held it" + (isSingle ? "" : ", of " + device().name);
    drawBars();
    drawBudget();
    drawPlaces();
  }

  const heading = element("h3");
  const legend = element("div.legend", {}, element("span", {}, element("span.memory-key.is-allocated", { "aria-hidden": "true" }), "allocated"),
    element("span", {}, element("span.memory-key.is-reserved", { "aria-hidden": "true" }), "reserved"),
    devices.some((of) => of.moments.some((moment) => moment.key === "median")) ? element("span", {}, element("span.memory-key.is-median", { "aria-hidden": "true" }), "the median step’s peak") : null);
  const findings = memory.findings.length === 0 ? null : element("ul.memory-findings", {}, ...memory.findings.map((each) => element("li", {}, each.title, element("div.in", {}, each.advice))));
  figure.append(...plots.map((plot, index) => (isSingle ? plot : element("div.memory-of-gpu", {}, element("h3", {}, devices[index].name +
    ": " + memoryText(devices[index].moments[0].allocated) + " " + momentPhrase(devices[index].moments[0])), plot))),
    say, legend, note, element("div.actions", {}, whole, onlySteps, copyButton("memory", curveCsv), ...pictureButtons("memory", () => plots[chosen].querySelector("svg"))),
    element("div.memory-grid", {}, element("div", {}, heading, bars, element("div.actions", {}, ...pictureButtons("memory-peak", () => bars.querySelector("svg")))), budget),
    findings ?? "",
    element("div.controls.memory-controls", {}, element("h3", {}, "Where it was asked for"), search, element("div.end", {}, switched.group)),
    holder, element("div.actions", {}, copyButton("memory-places", placeCsv)));
  drawAll();
  say.textContent = sentence(device(), device().moments[0].time_ns);

  return {
    redraw: () => {
      isPrinting = false;
      drawAll();
    },
    show: (address) => {
      const { settings } = address;
      chosen = Math.max(0, Math.min(devices.length - 1, Number(settings.gpu ?? 0) || 0));
      by = ["range", hasModules ? "module" : "range"].includes(settings.by ?? "") ? settings.by : "place";
      switched.press(by);
      order = { key: settings.sort ?? "0", ascending: settings.sort === "name" || settings.sort === "use" };
      query = settings.q ?? "";
      search.value = query;
      const [from, to] = (settings.zoom ?? "").split("-").map((text) => Number(text) * 1e6);
      zoom = to > from ? { from: Math.max(begin, from), to: Math.min(end, to) } : { from: begin, to: end };
      const { selection } = address;
      const place = device().peaks.step.indexOf(Number(selection));
      const moment = device().moments.find((each) => each.key === (selection === "error" ? "failure" : selection));
      cursor = moment?.time_ns ?? (selection !== "" && place >= 0 ? device().peaks.time_ns[place] : selection.endsWith("ms") ? knownMoment(device(), Number(selection.slice(0, -2)) * 1e6) : null);
      if (Number.isNaN(cursor)) cursor = null;
      drawAll();
      say.textContent = sentence(device(), cursor ?? device().moments[0].time_ns);
    },
    keys: {
      ArrowLeft: () => move(-1), ArrowRight: () => move(1), Home: () => move(-Infinity), End: () => move(Infinity),
      m: () => pickMoment("median"), h: () => pickMoment("peak"),
    },
    prepareForPrint: () => {
      isPrinting = true;
      drawPlaces();
    },
  };
});
