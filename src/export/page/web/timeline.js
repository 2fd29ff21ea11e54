// SPDX-License-Identifier: Apache-2.0
// One step in time: threads of the CPU above, the GPU's streams below, and last what it waits for.

/** @typedef {Lane & {from: Float64Array, to: Float64Array, y: number, height: number, label: string, isDrawn: boolean}} PlacedLane */
/** @typedef {{data: Timeline, lanes: PlacedLane[], gaps: {lane: number, index: number}[]}} LoadedStep */
/** @typedef {{lane: number, index: number}} Slice */

addView("timeline", ({ figure, results, data }) => {
  /** @type {StepInTime[]} */
  const embedded = data.steps;
  const labelRoom = 132;
  const overviewHeight = 9;
  const wrap = element("div.timeline-wrap", { role: "application", tabindex: "0", "aria-label": "One step in time. Plus and minus zoom, arrows move, N and P go to gaps" });
  const canvas = /** @type {HTMLCanvasElement} */ (element("canvas", { "aria-hidden": "true" }));
  const say = element("p.timeline-say", {}, "");
  const subtitle = element("p.labels");
  const gapHolder = element("div");
  /** @type {Map<string, Promise<LoadedStep | null>>} */
  const loads = new Map();
  /** @type {LoadedStep | null} */
  let step = null;
  let name = embedded[0]?.name ?? "";
  let whole = { from: 0, to: 1 };
  let shown = { from: 0, to: 1 };
  /** @type {Slice | null} */
  let selected = null;
  let gapAt = -1;
  let scale = 0;
  wrap.append(canvas);

  const hasGpu = () => step?.lanes.some((lane) => lane.kind === "stream" || lane.kind === "gaps") ?? false;
  const hasGaps = () => (step?.gaps.length ?? 0) > 0;

  /** @param {string} wanted */
  function entryOf(wanted) {
    return embedded.find((each) => each.name === wanted || (each.name === "long" && String(each.number) === wanted)) ?? embedded[0];
  }
  /** @param {StepInTime} entry */
  const keyOf = (entry) => (entry.name === "long" ? String(entry.number) : entry.name);

  /** @param {StepInTime} entry */
  function load(entry) {
    const known = loads.get(entry.id);
    if (known) return known;
    const made = documentIsRead().then(() => embeddedData(entry.id)).then((/** @type {Timeline | null} */ read) => (read ? placed(read) : null));
    loads.set(entry.id, made);
    return made;
  }

  /**
   * @param {Timeline} read
   * @returns {LoadedStep}
   */
  function placed(read) {
    const lanes = read.lanes.map((lane) => ({ ...lane, ...slicePlaces(lane.start, lane.length), y: 0, height: 0, label: "", isDrawn: true }));
    /** @type {Slice[]} */
    const gaps = [];
    lanes.forEach((lane, index) => {
      if (lane.kind === "gaps") lane.start.forEach((_, at) => { gaps.push({ lane: index, index: at }); });
    });
    gaps.sort((a, b) => lanes[b.lane].length[b.index] - lanes[a.lane].length[a.index]);
    return { data: read, lanes, gaps };
  }

  /** Places the lanes, once for a width: they never move while the window does. */
  function placeLanes() {
    if (!step) return 0;
    const isNarrow = wrap.clientWidth < 620;
    let y = 42;
    let group = "";
    let lastKind = "";
    for (const lane of step.lanes) {
      lane.isDrawn = lane.kind !== "path" && !(lane.kind === "ranges" && (lane.depth ?? 0) > 2);
      if (!lane.isDrawn) continue;
      const isNew = lane.group !== group || (lane.kind === "phases") !== (lastKind === "phases");
      if (isNew && y > 42) y += 9;
      lane.label = lane.kind === "ranges" && !isNew ? "" : lane.title;
      if (isNarrow && lane.label !== "") y += 15;
      lane.height = lane.kind === "stream" || lane.kind === "gaps" ? 22 : lane.kind === "phases" ? 17 : 15;
      lane.y = y;
      y += lane.height + 2;
      group = lane.group;
      lastKind = lane.kind;
    }
    return y + 6;
  }

  /** @type {Map<string, string>} */
  const colours = new Map();
  /** @param {string} key */
  function colour(key) {
    let value = colours.get(key);
    if (value === undefined) {
      value = key.startsWith("--") ? getComputedStyle(document.documentElement).getPropertyValue(key).trim() : colourValue(key);
      colours.set(key, value);
    }
    return value;
  }
  /** @type {Map<string, string>} */
  const coloursOfPhases = new Map();
  /** @param {string} phase */
  function colourOfPhase(phase) {
    let key = coloursOfPhases.get(phase);
    if (key === undefined) {
      key = phaseColour(results, phase);
      coloursOfPhases.set(phase, key);
    }
    return colour(key);
  }

  /**
   * @param {PlacedLane} lane
   * @param {number} index
   */
  function sliceColour(lane, index) {
    const text = step?.data.strings[lane.name[index]] ?? "";
    if (lane.kind === "phases") return colourOfPhase(text);
    if (lane.kind === "calls") {
      if (/Synchronize|StreamWait|EventQuery/.test(text) && !/WaitEvent/.test(text)) return colour("syncs");
      return /Memcpy|Memset/.test(text) ? colour("copies") : colour("range");
    }
    if (lane.kind === "stream") {
      const kind = lane.class?.[index] ?? 0;
      if (kind === 1) return colour("communication");
      if (kind === 2) return colour("copies");
      return colourOfPhase(step?.data.strings[lane.phase?.[index] ?? 0] ?? "");
    }
    if (lane.kind === "gaps") {
      const cause = results.causes[lane.cause?.[index] ?? -1];
      return colour(cause ? causeColourOf(results, cause) : "other_idle");
    }
    // A range that is a phase has its colour here, too.
    const ofPhase = text === "" ? "" : colourOfPhase(text);
    return ofPhase === "" || ofPhase === colour("other") ? colour("range") : ofPhase;
  }
  /**
   * @param {PlacedLane} lane
   * @param {number} index
   */
  function sliceText(lane, index) {
    const many = lane.count?.[index] ?? 1;
    if (many > 1) return many + (lane.kind === "stream" ? " kernels" : lane.kind === "calls" ? " calls" : lane.kind === "gaps" ? " gaps" : " ranges");
    if (lane.kind === "gaps") return causeNameOf(results, results.causes[lane.cause?.[index] ?? -1]);
    return (step?.data.strings[lane.name[index]] ?? "").replace(/^prof\.modules:/, "");
  }

  /** @param {number} ns */
  function xOf(ns) {
    return plotLeft() + ((ns - shown.from) / (shown.to - shown.from)) * plotWidth();
  }
  const plotLeft = () => (wrap.clientWidth < 620 ? 0 : labelRoom);
  const plotWidth = () => Math.max(10, wrap.clientWidth - plotLeft());

  function draw() {
    if (!step) return;
    const width = wrap.clientWidth;
    if (width < 50) return;
    const height = placeLanes();
    const ratio = scale || Math.min(3, devicePixelRatio || 1);
    canvas.width = Math.min(16000, Math.round(width * ratio));
    canvas.height = Math.min(16000, Math.round(height * ratio));
    canvas.style.height = height + "px";
    const pen = canvas.getContext("2d");
    if (!pen) return;
    pen.setTransform(canvas.width / width, 0, 0, canvas.height / height, 0, 0);
    pen.fillStyle = colour("--page");
    pen.fillRect(0, 0, width, height);
    const font = getComputedStyle(document.body).fontFamily;
    pen.font = "12px " + font;
    pen.textBaseline = "middle";
    drawAxis(pen, height);
    for (const lane of step.lanes) {
      if (!lane.isDrawn) continue;
      drawLabel(pen, lane, width);
      drawLane(pen, lane);
    }
    drawTicked(pen);
    if (showsPath) drawPath(pen);
    drawOverview(pen);
    drawSelection(pen);
  }

  /**
   * Whether the ticked findings are about a gap.
   * @param {PlacedLane} lane
   * @param {number} index
   */
  function isTicked(lane, index) {
    const cause = results.causes[lane.cause?.[index] ?? -1];
    const place = step?.data.strings[lane.place?.[index] ?? 0] ?? "";
    return cause !== undefined && ticked.findings.some((finding) => isAbout(finding, cause.key, place));
  }

  /**
   * A line above the gaps that the ticked findings are about.
   * @param {CanvasRenderingContext2D} pen
   */
  function drawTicked(pen) {
    pen.fillStyle = colour("--text");
    for (const lane of step?.lanes ?? []) {
      if (lane.kind !== "gaps") continue;
      visibleSlices(lane.from, lane.to, shown.from, shown.to, plotWidth(), (index, x, wide) => {
        if (isTicked(lane, index)) pen.fillRect(plotLeft() + x, lane.y - 2, Math.max(1, wide), 3);
      });
    }
  }

  /** How much of the step's idle time the ticked findings are about. */
  function showTicked() {
    let ns = 0;
    for (const lane of step?.lanes ?? []) {
      if (lane.kind !== "gaps") continue;
      lane.length.forEach((length, index) => { ns += isTicked(lane, index) ? length : 0; });
    }
    tickedLine.hidden = ns === 0;
    tickedLine.textContent = ns === 0 ? "" : "Line above idle time: what the ticked changes are about, " + roughMilliseconds(ns) + " ms in this step. Other idle time may take its place.";
    draw();
  }

  /**
   * The critical path: a line below the slices on which it is, joined by thin ones where it changes the lane.
   * @param {CanvasRenderingContext2D} pen
   */
  function drawPath(pen) {
    const loaded = step;
    const lane = loaded?.lanes.find((each) => each.kind === "path");
    if (!loaded || !lane) return;
    const left = plotLeft();
    let lastY = -1;
    let lastX = -1;
    pen.fillStyle = colour("--text");
    visibleSlices(lane.from, lane.to, shown.from, shown.to, plotWidth(), (index, x, wide) => {
      const on = loaded.lanes[lane.on?.[index] ?? -1];
      if (!on?.isDrawn) return;
      const y = on.y + on.height;
      pen.fillRect(left + x, y, Math.max(1, wide), 2);
      if (lastY >= 0 && lastY !== y && x - lastX < 3) pen.fillRect(left + x - 0.25, Math.min(y, lastY), 0.5, Math.abs(y - lastY));
      lastY = y;
      lastX = x + wide;
    });
  }

  /** What the critical path consists of, longest first. */
  function pathText() {
    const loaded = step;
    const lane = loaded?.lanes.find((each) => each.kind === "path");
    if (!loaded || !lane) return "";
    /** @type {Map<string, number>} */
    const kinds = new Map();
    lane.length.forEach((length, index) => {
      const kind = loaded.data.strings[lane.name[index]] || "not known";
      kinds.set(kind, (kinds.get(kind) ?? 0) + length);
    });
    const sorted = Array.from(kinds).sort((a, b) => b[1] - a[1]);
    return "Critical path, drawn as a line: " + sorted.map(([kind, ns]) => kind + " " + roughMilliseconds(ns) + " ms").join(", ") + ".";
  }

  /** @param {boolean} shows */
  function showPath(shows) {
    showsPath = shows;
    pathButton.setAttribute("aria-pressed", String(shows));
    pathLine.textContent = shows ? pathText() : "";
    pathLine.hidden = !shows;
    draw();
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {PlacedLane} lane
   * @param {number} width
   */
  function drawLabel(pen, lane, width) {
    if (!lane.label) return;
    const left = plotLeft();
    pen.fillStyle = colour("--muted");
    const indent = lane.kind === "calls" && left > 0 ? 10 : 0;
    const brief = lane.kind === "stream" || textWidth(lane.label) <= left - 10 - indent ? lane.label : lane.label.replace(/(,| \()(?!.*\1).*$/, "");
    if (left > 0) pen.fillText(fittingText(brief, left - 10 - indent), indent, lane.y + lane.height / 2 + 0.5);
    else pen.fillText(fittingText(lane.label, width - 4), 0, lane.y - 7);
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {PlacedLane} lane
   */
  function drawLane(pen, lane) {
    const left = plotLeft();
    visibleSlices(lane.from, lane.to, shown.from, shown.to, plotWidth(), (index, x, wide) => {
      const fillColour = sliceColour(lane, index);
      pen.fillStyle = fillColour;
      pen.fillRect(left + x, lane.y, wide > 3 ? wide - 0.75 : Math.max(0.75, wide), lane.height);
      if (wide < 26) return;
      const text = fittingText(sliceText(lane, index), wide - 8);
      if (!text) return;
      pen.fillStyle = textColourOn(fillColour);
      pen.fillText(text, left + x + 4, lane.y + lane.height / 2 + 0.5);
    });
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {number} height
   */
  function drawAxis(pen, height) {
    const tick = axisStep((shown.to - shown.from) / 1e6, Math.max(2, plotWidth() / 150));
    const digits = Math.max(0, -Math.floor(Math.log10(tick) + 1e-9));
    for (let ms = Math.ceil(shown.from / 1e6 / tick) * tick; ms <= shown.to / 1e6; ms += tick) {
      const x = Math.round(xOf(ms * 1e6)) + 0.5;
      pen.fillStyle = colour("--line");
      pen.fillRect(x - 0.5, 18, 1, height - 18);
      const text = numberText(ms, digits) + " ms";
      pen.fillStyle = colour("--muted");
      if (x + 4 + textWidth(text) <= plotLeft() + plotWidth()) pen.fillText(text, x + 4, 26);
    }
  }

  /**
   * The whole step as a thin line, with the window framed.
   * @param {CanvasRenderingContext2D} pen
   */
  function drawOverview(pen) {
    if (!step) return;
    const left = plotLeft();
    const width = plotWidth();
    if (left > 0) {
      pen.fillStyle = colour("--muted");
      pen.fillText("whole step", 0, overviewHeight / 2 + 1);
    }
    for (const lane of step.lanes) {
      const isShown = hasGpu() ? lane.kind === "stream" || lane.kind === "gaps" : lane === step.lanes.find((each) => each.isDrawn);
      if (!isShown) continue;
      visibleSlices(lane.from, lane.to, 0, step.data.length_ns, width, (index, x, wide) => {
        pen.fillStyle = sliceColour(lane, index);
        pen.fillRect(left + x, 1, Math.max(1, wide), overviewHeight);
      });
    }
    const perNs = width / step.data.length_ns;
    const from = left + Math.max(0, Math.min(width, shown.from * perNs));
    const to = left + Math.max(0, Math.min(width, shown.to * perNs));
    if (to - from < width - 1) {
      pen.fillStyle = colour("--page");
      pen.globalAlpha = 0.65;
      pen.fillRect(left, 1, from - left, overviewHeight);
      pen.fillRect(to, 1, left + width - to, overviewHeight);
      pen.globalAlpha = 1;
      pen.strokeStyle = colour("--text");
      pen.lineWidth = 1.5;
      pen.strokeRect(from, 0.75, Math.max(3, to - from), overviewHeight + 0.5);
    }
  }

  /** @param {CanvasRenderingContext2D} pen */
  function drawSelection(pen) {
    if (!step || !selected) return;
    const frame = (/** @type {PlacedLane} */ lane, /** @type {number} */ index) => {
      const [from, to] = [Math.max(plotLeft() + 1, xOf(lane.from[index])), Math.min(plotLeft() + plotWidth() - 1, xOf(lane.to[index]))];
      if (to < plotLeft() || from > plotLeft() + plotWidth()) return;
      pen.strokeStyle = colour("--text");
      pen.lineWidth = 2;
      pen.strokeRect(from, lane.y - 0.5, Math.max(2, to - from), lane.height + 1);
    };
    const lane = step.lanes[selected.lane];
    frame(lane, selected.index);
    const call = callOf(selected);
    if (!call) return;
    const callLane = step.lanes[call.lane];
    frame(callLane, call.index);
    drawArrow(pen, xOf(callLane.from[call.index]) + 2, callLane.y + callLane.height + 1, xOf(lane.from[selected.index]) + 2, lane.y - 2);
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {number} x1
   * @param {number} y1
   * @param {number} x2
   * @param {number} y2
   */
  function drawArrow(pen, x1, y1, x2, y2) {
    pen.save();
    pen.beginPath();
    pen.rect(plotLeft(), 14, plotWidth(), 1e5);
    pen.clip();
    pen.strokeStyle = colour("--text");
    pen.fillStyle = colour("--text");
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.moveTo(x1, y1);
    pen.bezierCurveTo(x1, (y1 + y2) / 2, x2, (y1 + y2) / 2, x2, y2 - 5);
    pen.stroke();
    pen.beginPath();
    pen.moveTo(x2, y2);
    pen.lineTo(x2 - 4, y2 - 7);
    pen.lineTo(x2 + 4, y2 - 7);
    pen.fill();
    pen.restore();
  }

  /**
   * The call that launched a slice of a stream, if the page has it.
   * @param {Slice} slice
   * @returns {Slice | null}
   */
  function callOf(slice) {
    const lane = step?.lanes[slice.lane];
    const from = lane?.from_lane?.[slice.index] ?? -1;
    const index = lane?.call?.[slice.index] ?? -1;
    return from >= 0 && index >= 0 && step?.lanes[from] ? { lane: from, index } : null;
  }

  /**
   * When the first of the calls began that launched what runs in the step; 0: none is known.
   * @param {LoadedStep} of
   */
  function firstLaunch(of) {
    let first = 0;
    for (const lane of of.lanes) {
      (lane.from_lane ?? []).forEach((from, index) => {
        const call = lane.call?.[index] ?? -1;
        if (from >= 0 && call >= 0 && of.lanes[from]) first = Math.min(first, of.lanes[from].from[call]);
      });
    }
    return first;
  }

  /** @param {Slice | null} slice */
  function sentenceOf(slice) {
    if (!step || !slice) return;
    const lane = step.lanes[slice.lane];
    const length = durationText(lane.length[slice.index]);
    const title = sliceText(lane, slice.index);
    if (lane.kind === "stream") {
      const phase = step.data.strings[lane.phase?.[slice.index] ?? 0];
      const call = callOf(slice);
      let text = " runs " + length + (phase ? " in " + phase : "");
      if (call) text += ", " + durationText(lane.from[slice.index] - step.lanes[call.lane].from[call.index]) + " after its launch began";
      else if ((lane.count?.[slice.index] ?? 1) === 1) text += "; the call that launched it is not on this page";
      return [element("b", {}, shortened(title, 160)), text + "."];
    }
    if (lane.kind === "gaps") {
      const place = step.data.strings[lane.place?.[slice.index] ?? 0];
      const rank = step.gaps.findIndex((gap) => gap.lane === slice.lane && gap.index === slice.index);
      return ["The GPU is idle for " + length + ": ", element("b", {}, title), (place ? ", in " + shortened(place, 160) : "") + ". Gap " + numberText(rank + 1, 0) + " of " + numberText(step.gaps.length, 0) + " by length."];
    }
    return [element("b", {}, shortened(title, 160)), " takes " + length + " on " + lane.title + ", from " + roughMilliseconds(lane.from[slice.index]) + " ms."];
  }

  function showSentence() {
    const children = sentenceOf(selected) ?? [(hasGpu() ? "Click a kernel for the call that launched it." : "Click a range for how long it takes.") +
      " + and − zoom, ← → move, 0 shows the whole step" + (hasGaps() ? ", N and P the gaps by length." : ".")];
    say.replaceChildren(...children);
    say.classList.toggle("muted", !selected);
  }

  /** @param {Slice | null} slice */
  function select(slice) {
    selected = slice;
    const gap = slice && step?.lanes[slice.lane].kind === "gaps";
    if (gap && step) gapAt = step.gaps.findIndex((each) => each.lane === slice.lane && each.index === slice.index);
    draw();
    showSentence();
    if (slice) announce(say.textContent ?? "");
    setAddress("timeline", selectionText(), settings(), false);
  }
  function selectionText() {
    const isWhole = Math.abs(shown.from) < 1 && Math.abs(shown.to - (step?.data.length_ns ?? 0)) < 1;
    const digits = (/** @type {number} */ ns) => String(Number((ns / 1e6).toFixed(4)));
    return name + (isWhole ? "" : ":" + digits(shown.from) + "-" + digits(shown.to));
  }
  function settings() {
    /** @type {Object<string, string>} */
    const made = {};
    if (selected) made.sel = selected.lane + "." + selected.index;
    if (showsPath) made.path = "1";
    return made;
  }

  /**
   * @param {number} factor
   * @param {number} around ns
   * @param {number} [shift] ns
   */
  function moveWindow(factor, around, shift = 0) {
    shown = movedWindow(shown, whole, factor, around, shift, 2000);
    scheduleDraw();
    clearTimeout(addressTimer);
    addressTimer = setTimeout(() => setAddress("timeline", selectionText(), settings(), false), 250);
  }
  let addressTimer = 0;
  let isScheduled = false;
  function scheduleDraw() {
    if (isScheduled) return;
    isScheduled = true;
    requestAnimationFrame(() => {
      isScheduled = false;
      draw();
    });
  }
  const middle = () => (selected && step ? (step.lanes[selected.lane].from[selected.index] + step.lanes[selected.lane].to[selected.index]) / 2 : (shown.from + shown.to) / 2);
  const zoomAround = () => (middle() >= shown.from && middle() <= shown.to ? middle() : (shown.from + shown.to) / 2);

  function showWhole() {
    shown = { from: 0, to: step?.data.length_ns ?? 1 };
    draw();
    setAddress("timeline", selectionText(), settings(), false);
  }
  /** @param {number} by */
  function nextGap(by) {
    if (!step || step.gaps.length === 0) return;
    gapAt = Math.max(0, Math.min(step.gaps.length - 1, gapAt + by));
    goTo(step.gaps[gapAt]);
  }
  /** @param {Slice} slice */
  function goTo(slice) {
    if (!step) return;
    const lane = step.lanes[slice.lane];
    const [from, to] = [lane.from[slice.index], lane.to[slice.index]];
    const room = Math.max((to - from) * 2, 20000);
    shown = movedWindow({ from: from - room, to: to + room }, whole, 1, (from + to) / 2, 0, 2000);
    select(slice);
  }

  /** @param {PointerEvent | MouseEvent | WheelEvent} event */
  function placeOf(event) {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }
  /** @param {number} x */
  const timeAt = (x) => shown.from + ((x - plotLeft()) / plotWidth()) * (shown.to - shown.from);
  /**
   * @param {number} x
   * @param {number} y
   * @returns {Slice | null}
   */
  function sliceAt(x, y) {
    if (!step || x < plotLeft()) return null;
    const time = timeAt(x);
    const near = ((shown.to - shown.from) / plotWidth()) * 2.5;
    for (let number = 0; number < step.lanes.length; ++number) {
      const lane = step.lanes[number];
      if (!lane.isDrawn || y < lane.y - 1 || y > lane.y + lane.height + 1) continue;
      const first = firstEndingAfter(lane.to, time - near);
      let best = -1;
      let bestAway = near;
      for (let i = first; i < lane.from.length && lane.from[i] <= time + near; ++i) {
        const away = time < lane.from[i] ? lane.from[i] - time : time > lane.to[i] ? time - lane.to[i] : 0;
        if (away < bestAway || (away === 0 && best < 0)) {
          best = i;
          bestAway = away;
          if (away === 0) break;
        }
      }
      if (best >= 0) return { lane: number, index: best };
    }
    return null;
  }

  /** @type {{x: number, y: number, from: number, inOverview: boolean, moved: boolean} | null} */
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const { x, y } = placeOf(event);
    drag = { x, y, from: shown.from, inOverview: y < 14, moved: false };
    canvas.setPointerCapture?.(event.pointerId);
    if (drag.inOverview) centreAt(x);
  });
  canvas.addEventListener("pointermove", (event) => {
    const { x, y } = placeOf(event);
    if (drag) {
      if (Math.abs(x - drag.x) > 4) drag.moved = true;
      if (drag.inOverview) centreAt(x);
      else if (drag.moved) {
        const shift = -((x - drag.x) / plotWidth()) * (shown.to - shown.from);
        moveWindow(1, shown.from, drag.from + shift - shown.from);
      }
      return;
    }
    const slice = sliceAt(x, y);
    if (!slice || !step) return hideTip();
    const lane = step.lanes[slice.lane];
    showTip(null, { left: event.clientX + 8, top: event.clientY - 4, bottom: event.clientY + 12 },
      shortened(sliceText(lane, slice.index), 160), " ", element("span.muted", {}, durationText(lane.length[slice.index])));
  });
  canvas.addEventListener("pointerup", (event) => {
    const { x, y } = placeOf(event);
    if (drag && !drag.moved && !drag.inOverview) select(sliceAt(x, y));
    drag = null;
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("dblclick", (event) => moveWindow(0.25, timeAt(placeOf(event).x)));
  canvas.addEventListener("wheel", (event) => {
    if (event.ctrlKey) {
      event.preventDefault();
      moveWindow(Math.exp(event.deltaY * 0.003), timeAt(placeOf(event).x));
    } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      moveWindow(1, shown.from, (event.deltaX / plotWidth()) * (shown.to - shown.from));
    }
  }, { passive: false });
  /** @param {number} x */
  function centreAt(x) {
    const time = ((x - plotLeft()) / plotWidth()) * (step?.data.length_ns ?? 1);
    moveWindow(1, shown.from, time - (shown.from + shown.to) / 2);
  }

  function drawGapTable() {
    gapHolder.replaceChildren();
    if (!step || step.gaps.length === 0) return;
    const loaded = step;
    const body = element("tbody", {}, ...step.gaps.slice(0, 12).map((gap) => {
      const lane = loaded.lanes[gap.lane];
      const cause = results.causes[lane.cause?.[gap.index] ?? -1];
      const button = element("button.quiet", { type: "button", click: () => goTo(gap) }, "show");
      return element("tr", {}, element("td.n", {}, durationText(lane.length[gap.index])),
        element("td.n", {}, numberText(lane.from[gap.index] / 1e6, 3)),
        element("td", {}, element("span.part", {}, swatch(cause ? causeColourOf(results, cause) : "other_idle"), sliceText(lane, gap.index))),
        element("td", {}, shortened(loaded.data.strings[lane.place?.[gap.index] ?? 0] ?? "", 120)), element("td", {}, button));
    }));
    gapHolder.append(element("details.aside", {}, element("summary", {}, "The longest gaps of this step, as a table"),
      element("table", {}, element("caption.unseen", {}, "The longest gaps of this step"), element("thead", {}, element("tr", {},
        element("th.n", { scope: "col" }, "length"), element("th.n", { scope: "col" }, "at, ms"), element("th", { scope: "col" }, "the GPU waits for"),
        element("th", { scope: "col" }, "in"), element("th", { scope: "col" }, element("span.unseen", {}, "show")))), body)));
  }

  function drawLegend() {
    legend.replaceChildren();
    if (!step) return;
    /** @type {Map<string, string>} */
    const seen = new Map();
    for (const lane of step.lanes) {
      if (lane.kind === "gaps") {
        for (const index of new Set(lane.cause ?? [])) {
          const cause = results.causes[index];
          if (cause) seen.set(causeNameOf(results, cause), causeColourOf(results, cause));
        }
      }
    }
    if (seen.size > 0) legend.append("idle: ", ...Array.from(seen, ([text, key]) => element("span", {}, swatch(key), text)));
  }
  const legend = element("div.legend");
  let showsPath = false;
  const pathLine = element("p.hint", { hidden: true });
  const tickedLine = element("p.labels", { hidden: true, "data-ticked": "" });
  ticked.listeners.push(showTicked);
  const pathButton = element("button", { type: "button", "aria-pressed": "false", click: () => {
    showPath(!showsPath);
    announce(pathLine.textContent ?? "");
    setAddress("timeline", selectionText(), settings(), false);
  } }, "critical path");
  const pathSwitch = element("div.switch", { hidden: true }, pathButton);

  /**
   * @param {string} wanted
   * @param {{from: number, to: number} | null} window
   * @param {Slice | null} slice
   */
  async function open(wanted, window, slice) {
    const entry = entryOf(wanted);
    if (!entry) return;
    name = keyOf(entry);
    choices.press(name);
    const loaded = await load(entry);
    if (name !== keyOf(entry)) return;
    if (!loaded) {
      say.textContent = "This step is not in the file.";
      return;
    }
    step = loaded;
    const host = loaded.data.host;
    const length = loaded.data.length_ns;
    whole = { from: Math.min(0, host?.[0] ?? 0), to: Math.max(length, host?.[1] ?? 0) };
    shown = window ? movedWindow(window, whole, 1, window.from, 0, 2000) : { from: 0, to: length };
    const fits = slice && loaded.lanes[slice.lane] && slice.index < loaded.lanes[slice.lane].start.length;
    selected = fits ? slice : null;
    gapAt = -1;
    let text = "Step " + numberText(entry.number, 0) + ", " + roughMilliseconds(length) + " ms." + (hasGpu() ? " CPU above, GPU below." : "");
    if (entry.merged > 0) text += " " + numberText(entry.merged, 0) + " short slices are shown as parts of others.";
    const first = firstLaunch(loaded);
    const isAhead = host !== undefined && first < -0.05 * length;
    if (isAhead) text += " The CPU runs ahead: its first launch for this step was " + roughMilliseconds(-first) + " ms before the GPU began it; its rows show what it does meanwhile.";
    subtitle.textContent = text;
    launching.hidden = !isAhead;
    pathSwitch.hidden = !loaded.lanes.some((lane) => lane.kind === "path");
    showPath(showsPath && !pathSwitch.hidden);
    showTicked();
    drawGapTable();
    drawLegend();
    showSentence();
    wrap.dataset.loaded = name;
  }

  const choices = switchButtons("Step", embedded.map((entry) => [keyOf(entry), entry.name === "long" ? "step " + entry.number : entry.name + " step"]), name, (value) => {
    open(value, null, null).then(() => setAddress("timeline", selectionText(), settings()));
  });
  const launching = element("button.button", { type: "button", hidden: true, click: () => {
    const host = step?.data.host;
    if (!host) return;
    shown = movedWindow({ from: host[0], to: host[1] }, whole, 1, host[0], 0, 2000);
    select(null);
  } }, "Show when the CPU launched it");
  const zooms = element("div.switch", { role: "group", "aria-label": "Zoom" },
    element("button", { type: "button", "aria-label": "Zoom in", click: () => moveWindow(0.5, zoomAround()) }, "+"),
    element("button", { type: "button", "aria-label": "Zoom out", click: () => moveWindow(2, zoomAround()) }, minusSign),
    element("button", { type: "button", click: showWhole }, "whole step"));
  const rows = () => {
    const loaded = step;
    const made = [["lane", "name", "start ms", "length us", "phase or place"]];
    for (const lane of loaded?.lanes ?? []) {
      lane.start.forEach((_, index) => {
        if (lane.to[index] < shown.from || lane.from[index] > shown.to) return;
        const extra = loaded?.data.strings[(lane.phase ?? lane.place)?.[index] ?? 0] ?? "";
        made.push([lane.title, sliceText(lane, index), (lane.from[index] / 1e6).toFixed(6), (lane.length[index] / 1e3).toFixed(3), extra]);
      });
    }
    return made;
  };
  figure.append(element("div.controls", {}, subtitle, element("div.end", {}, launching, pathSwitch, choices.group, zooms)), wrap, legend, tickedLine, pathLine, say, gapHolder,
    element("div.actions", {}, copyButton("timeline", rows), ...pictureButtons("timeline", () => canvas)));
  open(name, null, null).catch((error) => console.error(error));

  return {
    redraw: () => {
      colours.clear();
      draw();
    },
    show: (address) => {
      const found = /^([a-z]+|\d+)?(?::(-?[\d.]+)-(-?[\d.]+))?$/.exec(address.selection);
      const window = found?.[2] !== undefined && Number(found[3]) > Number(found[2]) ? { from: Number(found[2]) * 1e6, to: Number(found[3]) * 1e6 } : null;
      showsPath = address.settings.path === "1";
      const pair = /^(\d+)\.(\d+)$/.exec(address.settings.sel ?? "");
      open(found?.[1] ?? name, window, pair ? { lane: Number(pair[1]), index: Number(pair[2]) } : null).catch((error) => console.error(error));
    },
    prepareForPrint: () => {
      scale = 2;
      colours.clear();
      draw();
      canvas.style.height = "auto";
      scale = 0;
    },
    keys: {
      "+": () => moveWindow(0.5, zoomAround()), "=": () => moveWindow(0.5, zoomAround()), "-": () => moveWindow(2, zoomAround()), "−": () => moveWindow(2, zoomAround()),
      ArrowLeft: () => moveWindow(1, shown.from, -(shown.to - shown.from) * 0.2), ArrowRight: () => moveWindow(1, shown.from, (shown.to - shown.from) * 0.2),
      0: showWhole, n: () => nextGap(1), p: () => nextGap(-1), Escape: () => select(null),
    },
  };
});

/** When the end of the document, where the steps are embedded, has been read. */
function documentIsRead() {
  if (document.readyState !== "loading") return Promise.resolve();
  return new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve, { once: true }));
}
