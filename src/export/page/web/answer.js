// SPDX-License-Identifier: Apache-2.0
// The answer: three bars on one scale, where the mean step goes, and what to change.

/** @type {Object<string, string>} */
const groupTerms = { busy: "busy", communication: "comm", idle: "idle", host: "CPU" };

/**
 * The groups of a step: what the GPU does, only communicates, or waits for.
 * @param {Part} part
 */
function groupOf(part) {
  if (part.kind === "communication" || part.kind === "idle" || part.kind === "host") return part.kind;
  return "busy";
}

/**
 * @param {Results} results
 * @returns {{key: string, title: string, short: string, ns: number, parts: PartTime[]}[]}
 */
function groupsOf(results) {
  /** @type {Answer} */
  const answer = results.views.answer;
  const communicates = answer.parts.some((entry) => groupOf(results.parts[entry.part]) === "communication" && entry.ns > 0);
  const titles = {
    busy: communicates ? ["GPU works", "works"] : ["GPU busy", "busy"],
    communication: ["GPU only communicates", "communicates"],
    idle: ["GPU idle", "idle"],
    host: ["CPU", "CPU"],
  };
  const groups = [];
  for (const key of /** @type {const} */ (["busy", "communication", "idle", "host"])) {
    const parts = answer.parts.filter((entry) => groupOf(results.parts[entry.part]) === key);
    const ns = parts.reduce((sum, entry) => sum + entry.ns, 0);
    if (ns > 0) groups.push({ key, title: titles[key][0], short: titles[key][1], ns, parts });
  }
  return groups;
}

addView("answer", ({ figure, results, data }) => {
  /** @type {Answer} */
  const answer = data;
  /** @type {Findings | undefined} */
  const findings = results.views.findings;
  const list = findings?.list ?? [];
  const step = answer.step_ns;
  const perStep = answer.has_steps ? "a step" : "in all";
  const ofStep = answer.has_steps ? "of the step" : "of the time";
  const groups = groupsOf(results);
  const bars = element("div", { id: "answer-bars" });
  let mask = startMask();

  function startMask() {
    const first = list.findIndex((finding) => finding.group !== "rough");
    return list.length === 0 ? 0 : 1 << Math.max(0, first);
  }
  const startSelection = mask;

  /** What the ticked changes leave, at the least and at the most. */
  function outcome() {
    const gain = gainOfSet(findings?.sets ?? [], mask, findings?.together_ns ?? 0);
    return { gain, shortest: Math.max(0, step - gain.most), longest: Math.max(0, step - gain.least) };
  }
  /**
   * @param {number} least
   * @param {number} most
   */
  function range(least, most) {
    const [low, high] = [roughTime(least), roughTime(most)];
    return low === high ? low : "between " + low + " and " + high;
  }

  function drawBars() {
    const width = Math.floor(bars.clientWidth);
    if (width < 50) return;
    const isNarrow = width < 620;
    const labelWidth = isNarrow ? 0 : 156;
    const roomRight = isNarrow ? 8 : 96;
    const plot = width - labelWidth - roomRight;
    const longest = Math.max(step, Math.min(answer.max_ns || step, step * 1.7));
    const x = (/** @type {number} */ ns) => labelWidth + (ns / longest) * plot;
    /** @type {SVGElement[]} */
    const items = [];
    const put = (/** @type {SVGElement[]} */ ...made) => items.push(...made);
    const right = x(step);
    let top = 0;
    if (isNarrow) {
      put(drawn("text", { x: 0, y: 12 }, "now " + roughTime(step) + unitText() + " " + perStep));
      top = 18;
    }
    // Names of the groups above the bar; one that has no room is moved, and left out if there is none at all.
    let at = 0;
    /** @type {{from: number, to: number, text: string}[]} */
    const brackets = [];
    for (const group of groups) {
      const from = x(at);
      at += group.ns;
      brackets.push({ from, to: x(at), text: group.short + " " + stepTime(group.ns) + unitText() });
    }
    const shorter = brackets.map((bracket) => bracket.text.slice(0, -unitText().length));
    const fitting = [brackets.map((bracket) => bracket.text), shorter]
      .map((texts) => ({ texts, places: labelPlaces(texts.map((text, i) => ({ from: brackets[i].from, width: textWidth(text) })), labelWidth, width, 12) }))
      .find(({ places }) => places !== null);
    brackets.forEach((bracket, index) => {
      if (fitting?.places) put(drawn("text", { x: fitting.places[index], y: top + 12 }, fitting.texts[index]));
      put(drawn("path.bracket", { d: `M${bracket.from + 0.5} ${top + 23}v-5H${Math.max(bracket.from + 1, bracket.to) - 0.5}v5` }));
    });
    top += 24;
    const barTop = top;
    at = 0;
    for (const group of groups) {
      for (const entry of group.parts) {
        const part = results.parts[entry.part];
        const from = x(at);
        at += entry.ns;
        const wide = x(at) - from;
        if (wide <= 0) continue;
        const segment = drawn("rect", { x: from, y: barTop, width: Math.max(0.5, wide - (wide > 3 ? 1 : 0)), height: 34 });
        segment.style.fill = colourStyle(part.colour);
        const text = part.name + ": " + stepTime(entry.ns) + unitText() + ", " + shareText(entry.ns / step) + " " + ofStep;
        segment.append(drawn("title", {}, text));
        put(segment);
        const name = [part.name, part.name.split(": ")[0]].find((text) => textWidth(text) <= wide - 14) ?? "";
        if (name) {
          const label = drawn("text", { x: from + 7, y: barTop + 21 }, name);
          label.style.fill = textColourOn(colourValue(part.colour));
          label.style.pointerEvents = "none";
          put(label);
        }
      }
    }
    put(drawn("rect.frame", { x: x(0), y: barTop, width: right - x(0), height: 34 }));
    if (!isNarrow) {
      put(
        drawn("text", { x: labelWidth - 14, y: barTop + 21, "text-anchor": "end" }, answer.has_steps ? "mean step, now" : "recorded"),
        drawn("text.big", { x: right + 9, y: barTop + 22 }, roughTime(step) + unitText()),
      );
    }
    top = barTop + 34;

    if (list.length > 0) {
      const { gain, shortest, longest: atMost } = outcome();
      top += isNarrow ? 8 : 14;
      if (isNarrow) {
        put(drawn("text", { x: 0, y: top + 12 }, "with the ticked changes, at best " + range(shortest, atMost) + unitText()));
        top += 18;
      }
      const solid = drawn("rect", { x: x(0), y: top, width: Math.max(1, x(atMost) - x(0)), height: 24 });
      solid.style.fill = "var(--solid)";
      put(solid);
      if (shortest < atMost) {
        const between = drawn("rect", { x: x(shortest), y: top, width: x(atMost) - x(shortest), height: 24 });
        between.style.fill = "var(--strong)";
        put(between);
      }
      if (right - x(atMost) > 1) {
        put(drawn("rect.ghost", { x: x(atMost), y: top, width: right - x(atMost), height: 24 }));
      }
      const saves = "saves at best " + range(gain.least, gain.most) + unitText() + " (" + shareText(gain.most / step) + ")";
      if (gain.most > 0 && textWidth(saves) < right - x(atMost) - 12) {
        put(drawn("text.muted", { x: (x(atMost) + right) / 2, y: top + 16, "text-anchor": "middle" }, saves));
      }
      if (!isNarrow) {
        put(
          drawn("text", { x: labelWidth - 14, y: top + 16, "text-anchor": "end" }, "with ticked changes"),
          drawn("text.big", { x: right + 9, y: top + 17 }, (gain.least < gain.most ? "≥ " : "") + roughTime(shortest) + unitText()),
        );
      }
      top += 24;
    }
    top = drawTicks(put, x, top, { isNarrow, labelWidth, plot, longest, width });
    const summary = groups.map((group) => group.title + " " + stepTime(group.ns) + unitText()).join(", ");
    const name = "The mean step takes " + roughTime(step) + unitText() + ": " + summary;
    bars.style.minHeight = top + "px";
    bars.replaceChildren(drawn("svg", { width, height: top, viewBox: `0 0 ${width} ${top}`, role: "img", "aria-label": name }, ...items));
  }

  /**
   * A mark for each step that counts, and a triangle at the median.
   * @param {(...made: SVGElement[]) => void} put
   * @param {(ns: number) => number} x
   * @param {number} top
   * @param {{isNarrow: boolean, labelWidth: number, plot: number, longest: number, width: number}} room
   */
  function drawTicks(put, x, top, { isNarrow, labelWidth, longest, width }) {
    /** @type {Steps | undefined} */
    const steps = results.views.steps;
    if (!answer.has_steps || answer.steps < 2) return top + 4;
    const lengths = [];
    if (steps?.length) {
      for (let i = 0; i < steps.length.length; ++i) {
        if (steps.counted[i]) lengths.push((steps.longest ?? steps.length)[i] * steps.unit_ns);
      }
    }
    const beyond = lengths.filter((length) => length > longest).length;
    let text = roughTime(answer.min_ns) + " to " + roughTime(answer.max_ns) + unitText() + ", median " +
      roughTime(answer.median_ns) + ", mean " + roughTime(step);
    if (beyond > 0) text += "; " + beyond + " beyond the right edge";
    const perMark = steps?.per_column ?? 1;
    const name = perMark > 1 ? "longest of each " + perMark : "each of " + plural(answer.steps, "step");
    if (isNarrow) {
      for (const line of wrappedText(name + ": " + text, width)) {
        put(drawn("text", { x: 0, y: top + 22 }, line));
        top += 16;
      }
      top += 8;
    } else {
      top += 8;
      put(drawn("text", { x: labelWidth - 14, y: top + 21, "text-anchor": "end" }, name));
    }
    const base = top + 26;
    put(drawn("path.axis", { d: `M${x(0)} ${base + 0.5}H${x(longest)}` }));
    let first = x(longest);
    for (const length of lengths) {
      if (length > longest) continue;
      const at = x(length);
      first = Math.min(first, at);
      const mark = drawn("rect", { x: at - 0.75, y: base - 14, width: 1.5, height: 14 });
      mark.style.fill = "var(--text)";
      mark.style.opacity = "0.45";
      put(mark);
    }
    const median = x(Math.min(longest, answer.median_ns));
    const triangle = drawn("path", { d: `M${median - 4.5} ${base - 22}h9l-4.5 6z` });
    triangle.style.fill = "var(--text)";
    triangle.append(drawn("title", {}, "median " + roughTime(answer.median_ns) + unitText()));
    put(triangle);
    if (!isNarrow) {
      const long = textWidth(text);
      const isLeft = first - 10 - long > labelWidth;
      put(drawn("text.muted", { x: isLeft ? first - 10 : x(0), y: isLeft ? base - 3 : base + 15, "text-anchor": isLeft ? "end" : "start" }, text));
      if (!isLeft) return base + 20;
    }
    return base + 2;
  }

  // The budget.
  /** @type {string[][]} */
  const budgetRows = [["part", unitName() + " " + perStep, "share " + ofStep]];
  function budget() {
    const body = element("tbody");
    for (const group of groups) {
      body.append(
        element("tr.group", {}, element("th", { scope: "rowgroup" }, termNode(group.title, group.short === "works" ? "works" : groupTerms[group.key])),
          element("td.n", {}, stepTime(group.ns)), element("td.n", {}, shareText(group.ns / step))),
      );
      budgetRows.push([group.title, stepTime(group.ns), shareText(group.ns / step)]);
      const parts = group.key === "idle" ? group.parts.slice().sort((a, b) => b.ns - a.ns) : group.parts;
      for (const entry of parts) budgetRows.push([results.parts[entry.part].name, stepTime(entry.ns), shareText(entry.ns / step)]);
      // Each part has a row, the smallest ones together.
      const small = parts.filter((entry) => entry.ns / step < 0.0005);
      for (const entry of parts) {
        if (small.length < 2 || !small.includes(entry)) body.append(...budgetPart(entry));
      }
      if (small.length > 1) body.append(othersRow(small));
    }
    body.append(
      element("tr.sum", {}, element("th", { scope: "row" }, answer.has_steps ? "mean step" : "all"),
        element("td.n", {}, stepTime(step)), element("td.n", {}, shareText(1))),
    );
    return element("table.budget", {},
      element("caption.unseen", {}, "Where the mean step goes"),
      element("thead", {}, element("tr", {},
        element("th", { scope: "col" }, answer.has_steps ? "where a mean step goes" : "where the time goes"),
        element("th.n", { scope: "col" }, unitName() + " " + perStep), element("th.n", { scope: "col" }, ofStep))),
      body);
  }

  /** @param {PartTime[]} entries */
  function othersRow(entries) {
    const ns = entries.reduce((sum, entry) => sum + entry.ns, 0);
    const names = entries.map((entry) => results.parts[entry.part].name).join(", ");
    return element("tr", { "data-part": "others" }, element("th", { scope: "row" }, element("span.part", {}, swatch("other"),
      "others (" + entries.length + ")", element("span.in", {}, "\u00a0" + names))),
    element("td.n", {}, stepTime(ns)), element("td.n.weak", {}, shareText(ns / step)));
  }

  /**
   * Where a piece of idle time is, without the name of its cause, which the row above has.
   * @param {IdlePlace} place
   */
  function placeOf(place) {
    const cause = results.causes[place.cause]?.name ?? "";
    return cause !== "" && place.text.startsWith(cause + " in ") ? place.text.slice(cause.length + 4) : place.text === cause ? "" : place.text;
  }

  /**
   * The row of a part, and those of its places, which it opens.
   * @param {PartTime} entry
   */
  function budgetPart(entry) {
    const part = results.parts[entry.part];
    const all = entry.places ?? [];
    const count = Math.max(entry.place_count ?? 0, all.length);
    const places = all.slice(0, count === 9 ? 9 : 8);
    const restNs = entry.ns - places.reduce((sum, place) => sum + place.ns, 0);
    const hidden = places.map((place) => {
      const cause = results.causes[place.cause];
      const what = placeOf(place) + (cause && causeNameOf(results, cause) !== part.name ? " (" + causeNameOf(results, cause) + ")" : "");
      return element("tr.place", { hidden: true },
        element("th", { scope: "row" }, what, place.did ? element("span.did", {}, "the thread " + place.did + ", by samples") : null),
        element("td.n", {}, stepTime(place.ns)),
        element("td.n", {}, shareText(place.ns / step)));
    });
    if (count > places.length) {
      hidden.push(element("tr.place", { hidden: true }, element("th", { scope: "row" }, "others (" + (count - places.length) + ")"),
        element("td.n", {}, stepTime(restNs)), element("td.n", {}, shareText(restNs / step))));
    }
    const name = element("span.part", {}, swatch(part.colour));
    if (places.length > 1 || (places.length === 1 && placeOf(places[0]) !== "")) {
      const button = element("button.opens", { type: "button", "aria-expanded": "false" }, "▸ " + part.name);
      const inPlaces = placeOf(places[0]) ? " " + inPlace(shortened(placeOf(places[0]), 120)) + (count > 1 ? " +" + (count - 1) : "") : "";
      button.addEventListener("click", () => {
        const opens = hidden.length > 0 && hidden[0].hidden;
        for (const row of hidden) row.hidden = !opens;
        button.setAttribute("aria-expanded", String(opens));
        button.textContent = (opens ? "▾ " : "▸ ") + part.name;
      });
      name.append(button, element("span.in", { title: inPlaces.trim() || null }, inPlaces));
    } else {
      name.append(termNode(part.name));
    }
    return [
      element("tr", { "data-part": part.key }, element("th", { scope: "row" }, name),
        element("td.n", {}, stepTime(entry.ns)), element("td.n.weak", {}, shareText(entry.ns / step))),
      ...hidden,
    ];
  }

  function largestKernels() {
    /** @type {Kernels | undefined} */
    const kernels = results.views.kernels;
    const busy = groups.find((group) => group.key === "busy");
    if (!kernels?.rows?.length || !busy || busy.ns / step < 0.8) return null;
    const body = element("tbody");
    for (const row of kernels.rows.slice(0, 6)) {
      body.append(element("tr", {},
        element("td", {}, element("span.name", {}, swatch(row.class === "communication" ? row.class : phaseColour(results, row.phases[0]?.[0] ?? "")),
          element("span.mono", { title: shortened(row.name, 400) }, shortened(row.short, 36)))),
        element("td.n", {}, stepTime(row.ns)), element("td.n.weak", {}, shareText(row.share))));
    }
    return element("div.kernels-short", {},
      element("table.budget.fixed", {},
        element("caption.unseen", {}, "Largest kernels"),
        element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "largest kernels"),
          element("th.n", { scope: "col" }, unitName() + " " + perStep), element("th.n", { scope: "col" }, "of kernel time"))),
        body),
      element("p.hint", {}, element("a", { href: "#kernels" }, "All " + plural(kernels.count, "kernel"))));
  }

  // The findings: one block a rule.
  /** @type {HTMLInputElement[]} */
  const boxes = [];
  const outcomeText = element("span", { id: "outcome" });

  /** @param {boolean} says */
  function showOutcome(says) {
    const { gain, shortest, longest } = outcome();
    const count = bitsOf(mask).length;
    outcomeText.replaceChildren();
    if (count === 0) {
      outcomeText.append("Nothing is ticked.");
    } else {
      outcomeText.append(count + " ticked: at best ", element("b", {}, range(shortest, longest) + unitText() + " " + perStep), ", " +
        range(gain.least, gain.most) + unitText() + " (" + shareText(gain.most / step) + ") less");
    }
    boxes.forEach((box, index) => {
      box.checked = (mask & (1 << index)) !== 0;
    });
    ticked.set(bitsOf(mask).map((bit) => list[bit]).filter(Boolean));
    drawBars();
    if (says) announce(outcomeText.textContent ?? "");
  }

  /**
   * @param {number} index
   * @param {string} name
   */
  function tickBox(index, name) {
    const box = /** @type {HTMLInputElement} */ (element("input", { type: "checkbox", id: "tick-" + (index + 1), "aria-label": name }));
    box.addEventListener("change", () => {
      mask = box.checked ? mask | (1 << index) : mask & ~(1 << index);
      setAddress("answer", "tick:" + bitsOf(mask).map((bit) => bit + 1).join(","));
      showOutcome(true);
    });
    boxes[index] = box;
    return element("label.tick", {}, box);
  }

  /** @param {Finding} finding */
  function gainText(finding) {
    return element("span.gain", {}, stepTime(-finding.gain_ns), element("span.share", {}, shareText(finding.gain_ns / step)));
  }

  /** @param {Finding} finding */
  function placeText(finding) {
    const places = finding.places ?? [];
    if (places.length === 0) return "";
    const first = places[0].place || places[0].what;
    const more = Math.max(finding.place_count, places.length) - 1;
    return inPlace(first) + (more > 0 ? " and " + more + " more" : "");
  }

  /** @param {Finding[]} found of one rule */
  function findingBlock(found) {
    const first = found[0];
    const block = element("div.finding", { "data-rule": first.rule });
    const title = capitalized(/** @type {any} */ (first).action ?? first.noun);
    const isOne = found.length === 1;
    if (isOne) block.append(tickBox(list.indexOf(first), title));
    block.append(element("h3", {}, title));
    if (isOne) block.append(gainText(first));
    const isOneTry = new Set(found.map((finding) => finding.brief)).size === 1;
    for (const finding of isOne ? [] : found) {
      const place = placeText(finding) || finding.title;
      block.append(tickBox(list.indexOf(finding), title + ", " + place), element("span.place-name", {}, place), gainText(finding));
      if (!isOneTry && finding.brief) block.append(element("p.rest", {}, element("span.muted", {}, "Try: "), finding.brief));
    }
    const remarks = [];
    if (first.confidence === "low") remarks.push("rough");
    else remarks.push("confidence " + first.confidence);
    const whole = Math.max(...found.map((finding) => finding.steps));
    const counted = findings?.sampled || findings?.steps || 0;
    if (counted > 1) remarks.push(whole >= counted ? "in every step" : "in " + whole + " of " + counted + " steps");
    if (first.changes_results) remarks.push("the results change");
    const why = first.title + (isOne ? "" : " and so on");
    const rest = element("div.rest", {},
      element("p.why-line", {}, [isOne ? why : "", ...remarks].filter(Boolean).join(" · ")));
    if (isOneTry && first.brief) rest.append(element("p", {}, element("span.muted", {}, "Try: "), first.brief));
    for (const text of new Set(found.map((finding) => finding.beyond).filter(Boolean))) rest.append(element("p.small.muted", {}, text + "."));
    rest.append(moreOf(found));
    block.append(rest);
    return block;
  }

  /** @param {Finding[]} found */
  function moreOf(found) {
    const details = element("details", {}, element("summary", {}, "More, and where exactly"));
    const advice = new Set(found.flatMap((finding) => finding.advice ?? []));
    if (advice.size > 0) details.append(element("ul", {}, ...Array.from(advice, (text) => element("li", {}, text))));
    const bounds = new Set(found.map((finding) => finding.bound).filter(Boolean));
    for (const bound of bounds) details.append(element("p.small.muted", {}, "The gain is counted " + bound + "."));
    const modules = new Set(found.flatMap((finding) => finding.modules ?? []));
    if (modules.size > 0) details.append(element("p.small.muted", {}, "Modules: " + Array.from(modules).join(", ")));
    const places = found.flatMap((finding) => finding.places ?? []);
    if (places.length > 0) {
      const hasLines = places.some((place) => place.line || place.code);
      const body = element("tbody", {}, ...places.map((place) => element("tr", {},
        element("td", {}, place.what || place.place), hasLines ? element("td", {}, [place.line, place.code].filter(Boolean).join(" ")) : null,
        element("td.n", {}, stepTime(place.cost_ns)), element("td.n", {}, countText(place.count)))));
      details.append(element("table", {}, element("caption.unseen", {}, "Places"), element("thead", {}, element("tr", {},
        element("th", { scope: "col" }, "place"), hasLines ? element("th", { scope: "col" }, "line") : null,
        element("th.n", { scope: "col" }, unitName() + " " + perStep), element("th.n", { scope: "col" }, "times " + perStep))), body));
    }
    return details;
  }

  function whatToChange() {
    const column = element("div.findings");
    if (!findings || findings.why) {
      column.append(element("h3", {}, "What to change"), element("p.why", {}, capitalized(findings?.why ?? "findings were not looked for.")));
      return column;
    }
    column.append(element("div.findings-head", {}, element("span", {}, "what to change"),
      element("span", {}, termNode("gain, at best, " + unitName() + " " + perStep, "Possible gains"))));
    const least = shareText(findings.least_share || 0.01).replace(".0", "");
    if (list.length === 0) {
      column.append(element("p.why", {}, "Nothing that libprof looks for would shorten a step by " + least + " or more."));
    }
    /** @type {Map<string, Finding[]>} */
    const rules = new Map();
    for (const finding of list.slice(0, 31)) rules.set(finding.rule, [...(rules.get(finding.rule) ?? []), finding]);
    const blocks = Array.from(rules.values());
    const shown = blocks.slice(0, 5);
    for (const found of shown) column.append(findingBlock(found));
    if (blocks.length > shown.length) {
      const details = element("details.aside", { "data-more": "findings" }, element("summary", {}, blocks.length - shown.length + " more, with smaller gains"));
      for (const found of blocks.slice(shown.length)) details.append(findingBlock(found));
      column.append(details);
    }
    if (list.length > 0) {
      column.append(element("p.outcome", {}, outcomeText, element("span.labels", {}, list.length > 1 ? "tick more to see what they leave together: gains of several do not add up, and are replayed" : "replayed from the recording")));
    }
    const aside = [
      [findings.looked, (/** @type {number} */ n) => plural(n, list.length > 0 ? "other cause" : "cause") + (n === 1 ? " was" : " were") + " looked for and would gain less than " + least],
      [findings.not_looked, (/** @type {number} */ n) => plural(n, "cause") + " could not be looked for"],
      [findings.remarks, (/** @type {number} */ n) => plural(n, "remark") + " on these prices"],
    ];
    for (const [texts, title] of /** @type {[string[], (n: number) => string][]} */ (aside)) {
      if (!texts?.length) continue;
      column.append(element("details.aside", {}, element("summary", {}, title(texts.length)),
        element("ul", {}, ...texts.map((text) => element("li", {}, text.replace(/_/g, " "))))));
    }
    return column;
  }

  const grid = element("div.budget-findings", {},
    element("div", {}, budget(), largestKernels(),
      element("div.actions", {}, copyButton("budget", () => budgetRows),
        ...pictureButtons("answer", () => bars.querySelector("svg")))),
    whatToChange());
  figure.append(bars, grid);
  showOutcome(false);

  return {
    redraw: drawBars,
    show: (address) => {
      mask = maskOfSelection(address.selection, list.length) ?? startSelection;
      showOutcome(false);
    },
  };
});

/** @param {string} place "forward", "outside ranges" */
function inPlace(place) {
  return /^(in|outside) /.test(place) ? place : "in " + place;
}

/** @param {string} text */
function capitalized(text) {
  return text === "" ? "" : text[0].toUpperCase() + text.slice(1);
}

/**
 * The colour of a phase, by its name.
 * @param {Results} results
 * @param {string} name
 */
function phaseColour(results, name) {
  if (/^(forward|backward|recompute|evaluation|optimizer)$/.test(name)) return name;
  if (name === "data loader" || name === "data") return "data";
  // Work that is of both, as where a compiler has joined them.
  if (/^(forward \+ backward|backward \+ forward)$/.test(name)) return "both";
  const exact = results.parts.find((part) => part.name === name && part.kind !== "idle");
  if (exact) return exact.colour;
  const inner = results.parts.find((part) => part.kind !== "idle" && (part.name.startsWith(name + ":") || part.key === "phase:" + name));
  return name !== "" && inner ? inner.colour : "other";
}
