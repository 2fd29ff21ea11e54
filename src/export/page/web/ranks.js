// SPDX-License-Identifier: Apache-2.0
// The ranks of a job: how late each one reaches the collectives of each step, who waits for whom, and what collectives take.

/** @typedef {{rank: number[], host: string[], step_ns: number[], excess_ns: (number | null)[], gain_ns: (number | null)[],
 *             error_ns: (number | null)[], late_ns: number[], wait_ns: number[], compute_ns: number[], last: number[],
 *             collectives: number[]}} RankColumns */
/** @typedef {{communicator: string, function: string, bytes: number, ranks: number, a_step: number, transfer_ns: number,
 *             arrival_ns: number, launch_ns: number, clock_error_ns: number, exposed_ns: number, hidden_ns: number,
 *             rate: number, last: number | null, last_share: number}} Collective */
/** @typedef {{function: string, bytes: number, ranks: number, begin_ns: number, end_ns: number, clock_error_ns: number,
 *             last: number | null, late_ns: [number, number][]}} Arrival */
/** @typedef {{step: number, why: string, collectives: number, rows: Arrival[]}} ArrivalsOfStep */
/** @typedef {{per_row: number, per_column: number, number: number[], rows: number[][]}} RankMap */
/** @typedef {{names: string[], step_ns: number, steps: number, hosts: number, clock_error_ns: number, shown: number | null,
 *             ranks: RankColumns, map: RankMap, remarks: string[],
 *             waited_for: {rank: number | null, name: string, mean_ns: number, ranks?: number, most?: number, most_ns?: number}[],
 *             waits_ns?: number[][], arrivals: ArrivalsOfStep[], collectives: Collective[], collective_count: number,
 *             stragglers: {name: string, gain_ns: number, error_ns: number | null, steps: number, cause: string, line: string}[]}} RanksData */

addView("ranks", ({ figure, data }) => {
  /** @type {RanksData} */
  const job = data;
  const { map, names } = job;
  const columnsInMap = map.number.length;
  const limit = heatLimit(map.rows.flat(), job.clock_error_ns);
  /** @type {Map<number, number>} */
  const placeOfRank = new Map(job.ranks.rank.map((rank, place) => [rank, place]));
  let order = { key: "", ascending: false };
  let showsAll = false;
  const worst = job.ranks.rank[0] ?? 0;
  let cursor = { row: Math.floor(worst / map.per_row), column: -1 };
  const canvas = /** @type {HTMLCanvasElement} */ (element("canvas", { "aria-hidden": "true" }));
  const plot = element("div.rank-map", { role: "application", tabindex: "0", "aria-label": "How late each rank is in each step. Arrows move among ranks and steps" }, canvas);
  const say = element("p.rank-say", { role: "status" });
  const holder = element("div.scroll", { tabindex: "0", role: "group", "aria-label": "Ranks" });

  const rowName = (/** @type {number} */ row) => {
    const [from, to] = [row * map.per_row, Math.min(names.length, (row + 1) * map.per_row) - 1];
    return from === to ? names[from] : names[from] + " … " + names[to].replace(/^rank /, "");
  };
  /** The latest of the ranks of a row, in the mean of all its collectives. */
  const rowLate = (/** @type {number} */ row) => Math.max(...names.slice(row * map.per_row, (row + 1) * map.per_row)
    .map((_, index) => job.ranks.late_ns[placeOfRank.get(row * map.per_row + index) ?? -1] ?? -1));

  const layout = () => {
    const width = Math.max(100, plot.clientWidth);
    const rows = map.rows.length;
    const high = rows <= 16 ? 24 : Math.max(4, Math.floor(420 / rows));
    const isNarrow = width < 620;
    const left = Math.min(isNarrow ? 90 : 150, Math.max(...map.rows.map((_, row) => textWidth(rowName(row)))) + 12);
    const right = isNarrow ? 0 : 96;
    return { width, high, left, right, plot: width - left - right, height: rows * high + 22, isNarrow };
  };

  function draw() {
    if (plot.clientWidth < 50) return;
    const { width, high, left, plot: room, height } = layout();
    const ratio = Math.min(3, devicePixelRatio || 1);
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = height + "px";
    const pen = canvas.getContext("2d");
    if (!pen) return;
    const style = getComputedStyle(document.documentElement);
    const colour = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
    const [cold, hot, text, muted, page] = ["--cell", "--heat", "--text", "--muted", "--page"].map(colour);
    pen.setTransform(canvas.width / width, 0, 0, canvas.height / height, 0, 0);
    pen.fillStyle = page;
    pen.fillRect(0, 0, width, height);
    pen.font = "12px " + getComputedStyle(document.body).fontFamily;
    pen.textBaseline = "middle";
    const wide = room / columnsInMap;
    const gap = wide >= 4 && high >= 8 ? 1 : 0;
    const every = Math.max(1, Math.ceil(16 / high));
    const chosen = cursor.row;
    map.rows.forEach((cells, row) => {
      const y = row * high;
      cells.forEach((ns, column) => {
        if (ns < 0) return;
        pen.fillStyle = mixedColour(cold, hot, ns <= job.clock_error_ns ? 0 : Math.min(1, ns / limit));
        pen.fillRect(left + column * wide, y, Math.max(0.5, wide - gap), high - gap);
      });
      const isChosen = row === chosen;
      if (!isChosen && (row % every !== every >> 1 || Math.abs(row - chosen) < every)) return;
      pen.fillStyle = isChosen ? text : muted;
      pen.textAlign = "right";
      const middle = Math.max(7, Math.min(map.rows.length * high - 7, y + high / 2));
      pen.fillText(fittingText(rowName(row), left - 6), left - 8, middle);
      pen.textAlign = "left";
      const late = rowLate(row);
      // Between rows with a name there are others: of these the picked one alone has its figure.
      if (room + left < width && late >= 0 && (every === 1 || isChosen)) pen.fillText(stepTime(late) + unitText() + " late", left + room + 8, middle);
    });
    pen.fillStyle = muted;
    pen.textAlign = "left";
    const from = "step " + numberText(map.number[0] ?? 0, 0);
    const to = numberText(map.number[columnsInMap - 1] ?? 0, 0);
    pen.fillText(from, left, height - 9);
    pen.textAlign = "right";
    if (columnsInMap > 1 && room > textWidth(from) + textWidth(to) + 20) pen.fillText(to, left + room, height - 9);
    pen.textAlign = "left";
    pen.strokeStyle = text;
    pen.lineWidth = 1.5;
    if (cursor.column >= 0) pen.strokeRect(left + cursor.column * wide - 0.5, chosen * high - 0.5, Math.max(3, wide), Math.max(3, high));
    else pen.strokeRect(left - 0.5, chosen * high - 1, room + 0.5, high + 1.5);
  }

  function sentence() {
    const { row, column } = cursor;
    const isOne = map.per_row === 1;
    const who = isOne ? capitalized(names[row]) : "The latest of " + rowName(row);
    if (column >= 0) {
      const ns = map.rows[row][column];
      const step = (map.per_column > 1 ? "the latest of " + map.per_column + " steps from " : "step ") + numberText(map.number[column], 0);
      if (ns < 0) return who + " shares no collective with others in " + step + ".";
      if (ns <= job.clock_error_ns) return who + " is not late in " + step + ", as far as the clocks can tell.";
      return who + " reaches the collectives of " + step + " " + stepTime(ns) + unitText() + " after the first rank, in their mean.";
    }
    const late = rowLate(row);
    const place = placeOfRank.get(row) ?? -1;
    if (late < 0) return who + " shares no collective with others.";
    let text = who + " reaches its collectives " + stepTime(late) + unitText() + " after the first rank, in the mean of all steps.";
    if (isOne && job.ranks.collectives[place] > 0) {
      text += " It is the last in " + shareText(job.ranks.last[place] / job.ranks.collectives[place]) + " of them, and waits " + stepTime(job.ranks.wait_ns[place]) + unitText() + " a step for others.";
    }
    return text;
  }

  /**
   * @param {number} row
   * @param {number} column −1: all steps
   * @param {boolean} [isStep]
   */
  function moveTo(row, column, isStep = true) {
    cursor = { row: Math.max(0, Math.min(map.rows.length - 1, row)), column: Math.max(-1, Math.min(columnsInMap - 1, column)) };
    draw();
    drawTable();
    say.textContent = sentence();
    if (isStep) setAddress("ranks", selectionText(), {}, false);
  }
  const selectionText = () => names[cursor.row * map.per_row].replace(/^rank /, "") + (cursor.column >= 0 ? ":" + map.number[cursor.column] : "");

  /** @param {PointerEvent} event */
  function cellAt(event) {
    const { high, left, plot: room } = layout();
    const box = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const row = Math.floor(y / high);
    if (row < 0 || row >= map.rows.length) return null;
    const column = Math.floor(((x - left) / room) * columnsInMap);
    return { row, column: column < 0 || column >= columnsInMap ? -1 : column };
  }
  canvas.addEventListener("pointerup", (event) => {
    const cell = cellAt(event);
    if (cell) moveTo(cell.row, cell.column);
  });
  canvas.addEventListener("pointermove", (event) => {
    const cell = cellAt(event);
    if (!cell || cell.column < 0 || map.rows[cell.row][cell.column] < 0) return hideTip();
    showTip(null, { left: event.clientX + 8, top: event.clientY - 4, bottom: event.clientY + 12 },
      rowName(cell.row) + ", step " + numberText(map.number[cell.column], 0) + ": ", stepTime(map.rows[cell.row][cell.column]) + unitText() + " late");
  });
  canvas.addEventListener("pointerleave", hideTip);
  plot.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && cursor.column >= 0) moveTo(cursor.row, -1);
  });

  // The ranks as a table, the worst first.
  const unit = unitName();
  const hasHosts = job.hosts > 1;
  /** @type {(Column & {of: (place: number) => number | null, text: (place: number) => string})[]} */
  const columns = [
    { key: "step", title: "step, " + unit, number: true, of: (i) => job.ranks.step_ns[i], text: (i) => stepTime(job.ranks.step_ns[i]) },
    { key: "gain", title: "job’s gain", number: true, of: (i) => job.ranks.gain_ns[i], text: (i) => optionalTime(job.ranks.gain_ns[i]) + (job.ranks.error_ns[i] === null || job.ranks.error_ns[i] === undefined ? "" : " ± " + stepTime(job.ranks.error_ns[i] ?? 0)) },
    { key: "excess", title: "beyond peers", number: true, narrow: true, of: (i) => job.ranks.excess_ns[i], text: (i) => optionalTime(job.ranks.excess_ns[i]) },
    { key: "late", title: "late", number: true, of: (i) => job.ranks.late_ns[i], text: (i) => optionalTime(job.ranks.late_ns[i] < 0 ? null : job.ranks.late_ns[i]) },
    { key: "wait", title: "waits", number: true, of: (i) => job.ranks.wait_ns[i], text: (i) => stepTime(job.ranks.wait_ns[i]) },
    { key: "last", title: "last in", number: true, narrow: true, of: (i) => job.ranks.last[i] / Math.max(1, job.ranks.collectives[i]), text: (i) => (job.ranks.collectives[i] ? shareText(job.ranks.last[i] / job.ranks.collectives[i]) : "") },
    { key: "compute", title: "computing", number: true, narrow: true, of: (i) => job.ranks.compute_ns[i], text: (i) => stepTime(job.ranks.compute_ns[i]) },
  ];
  /** @param {number | null | undefined} ns */
  function optionalTime(ns) {
    return ns === null || ns === undefined ? "" : stepTime(ns);
  }
  function places() {
    const all = job.ranks.rank.map((_, place) => place);
    const column = columns.find((each) => each.key === order.key);
    const known = (/** @type {number | null | undefined} */ value) => (value === null || value === undefined ? -Infinity : value);
    if (order.key === "rank") all.sort((a, b) => job.ranks.rank[a] - job.ranks.rank[b]);
    else if (order.key === "host") all.sort((a, b) => job.ranks.host[a].localeCompare(job.ranks.host[b]));
    else if (column) all.sort((a, b) => known(column.of(a)) - known(column.of(b)) || 0);
    return order.key !== "" && !order.ascending ? all.reverse() : all;
  }
  function drawTable() {
    const most = 10;
    const all = places();
    const shown = showsAll || all.length <= most + 2 ? all : all.slice(0, most);
    const heads = [{ key: "rank", title: "rank" }, ...(hasHosts ? [{ key: "host", title: "host", narrow: true }] : []), ...columns];
    const head = sortableHead(heads, order, (key) => {
      order = { key, ascending: order.key === key ? !order.ascending : key === "rank" || key === "host" };
      drawTable();
      /** @type {HTMLElement | null} */ (holder.querySelector(`button[data-sort="${key}"]`))?.focus();
    });
    const body = element("tbody", {}, ...shown.map((place) => {
      const rank = job.ranks.rank[place];
      const row = Math.floor(rank / map.per_row);
      return element("tr" + (row === cursor.row ? ".is-chosen" : ""), {},
        element("th", { scope: "row" }, element("button.opens", { type: "button", click: () => moveTo(row, -1) }, names[rank])),
        hasHosts ? element("td.hide-narrow", {}, job.ranks.host[place]) : null,
        ...columns.map((column) => element("td.n" + (column.narrow ? ".hide-narrow" : ""), {}, column.text(place))));
    }));
    const more = all.length - shown.length;
    holder.replaceChildren(element("table.rank-table", {}, element("caption.unseen", {}, "Ranks, the worst first"), head, body));
    if (more > 0) holder.append(element("p.more", {}, element("button.button", { type: "button", click: () => { showsAll = true; drawTable(); } }, "Show " + numberText(more, 0) + " more")));
  }

  /** Who waits, in rows; for whom, in columns. */
  function waitMatrix() {
    const waits = job.waits_ns;
    if (!waits) return null;
    const brief = (/** @type {number} */ rank) => names[rank].replace(/^rank /, "");
    const largest = Math.max(1, ...waits.flat());
    return element("div.scroll", { tabindex: "0", role: "group", "aria-label": "Who waits for whom" }, element("table.wait-table", {},
      element("caption.unseen", {}, "Who waits for whom"),
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "waits"), ...waits.map((_, rank) => element("th.n", { scope: "col" }, "for " + brief(rank))), element("th.n", { scope: "col" }, "all"))),
      element("tbody", {}, ...waits.map((row, rank) => element("tr", {}, element("th", { scope: "row" }, names[rank]),
        ...row.map((ns, whom) => {
          const cell = element("td.n.wait", {}, rank === whom ? "" : stepTime(ns));
          cell.style.setProperty("--share", Math.round((ns / largest) * 60) + "%");
          return cell;
        }),
        element("td.n", {}, optionalTime(job.ranks.wait_ns[placeOfRank.get(rank) ?? -1])))))));
  }
  function waitList() {
    if (job.waited_for.length === 0) return element("p.why", {}, "No rank waits for another in a collective.");
    const longest = Math.max(1, ...job.waited_for.map((each) => each.mean_ns));
    return element("table.waited-table", {}, element("caption", {}, "For whom the ranks wait in collectives, the mean of all ranks"),
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "for"), element("th.n", { scope: "col" }, unit + " a step"), element("th.hide-narrow", { scope: "col" }, "the longest"))),
      element("tbody", {}, ...job.waited_for.map((each) => {
        const bar = element("i.wait-bar", { "aria-hidden": "true" });
        bar.style.width = (each.mean_ns / longest) * 60 + "px";
        return element("tr", {}, element("th", { scope: "row" }, each.name), element("td.n", {}, bar, stepTime(each.mean_ns)),
          element("td.hide-narrow", {}, each.most === undefined ? "" : names[each.most] + ", " + stepTime(each.most_ns ?? 0)));
      })));
  }

  function hostTable() {
    if (!hasHosts) return null;
    /** @type {Map<string, {ranks: number, late: number, latest: number, wait: number}>} */
    const hosts = new Map();
    job.ranks.rank.forEach((rank, place) => {
      const of = hosts.get(job.ranks.host[place]) ?? { ranks: 0, late: 0, latest: rank, wait: 0 };
      of.ranks += 1;
      of.late += Math.max(0, job.ranks.late_ns[place]);
      of.wait += job.ranks.wait_ns[place];
      if (job.ranks.late_ns[place] > (job.ranks.late_ns[placeOfRank.get(of.latest) ?? -1] ?? -1)) of.latest = rank;
      hosts.set(job.ranks.host[place], of);
    });
    const sorted = Array.from(hosts).sort((a, b) => b[1].late / b[1].ranks - a[1].late / a[1].ranks).slice(0, 12);
    const folded = hosts.size - sorted.length;
    return element("div.scroll", { tabindex: "0", role: "group", "aria-label": "Hosts" }, element("table", {},
      element("caption", {}, "Hosts, the mean of their ranks, " + unit + (folded > 0 ? "; the latest " + sorted.length + " of " + hosts.size : "")),
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "host"), element("th.n", { scope: "col" }, "ranks"), element("th.n", { scope: "col" }, "late"), element("th.n", { scope: "col" }, "waits"), element("th", { scope: "col" }, "its latest"))),
      element("tbody", {}, ...sorted.map(([name, of]) => element("tr", {}, element("th", { scope: "row" }, name || "not known"), element("td.n", {}, String(of.ranks)),
        element("td.n", {}, stepTime(of.late / of.ranks)), element("td.n", {}, stepTime(of.wait / of.ranks)), element("td", {}, names[of.latest]))))));
  }

  function collectiveTable() {
    if (job.collectives.length === 0) return element("p.why", {}, "No collective of several ranks was recorded.");
    const most = 12;
    const shown = job.collectives.slice(0, most);
    const longest = Math.max(1, ...shown.map((each) => each.exposed_ns + each.hidden_ns));
    const hasSeveral = new Set(job.collectives.map((each) => each.communicator)).size > 1;
    const body = element("tbody", {}, ...shown.map((each) => {
      const bar = element("div.launched", { "aria-hidden": "true" });
      for (const [ns, tag] of /** @type {[number, string][]} */ ([[each.exposed_ns, "i"], [each.hidden_ns, "i.hidden-part"]])) {
        const piece = element(tag);
        piece.style.width = (ns / longest) * 100 + "%";
        piece.style.background = colourStyle("communication");
        bar.append(piece);
      }
      const last = each.last === null ? "" : names[each.last] + ", " + shareText(each.last_share);
      return element("tr", {}, element("th", { scope: "row", title: plural(each.bytes, "byte") }, each.function + " " + bytesText(each.bytes), " ",
          element("span.in", {}, (hasSeveral ? each.communicator + ", " : "") + plural(each.ranks, "rank"))),
        element("td.n", {}, countText(each.a_step)), element("td.n", {}, stepTime(each.arrival_ns)), element("td.n", {}, stepTime(each.transfer_ns)),
        element("td.n.hide-narrow", {}, stepTime(each.exposed_ns)), element("td.n.hide-narrow", {}, stepTime(each.hidden_ns)), element("td.hide-narrow", {}, bar), element("td.hide-narrow", {}, last));
    }));
    const folded = job.collective_count - shown.length;
    return element("div", {}, element("table.collective-table", {}, element("caption.unseen", {}, "Collectives of the job"),
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "collective"), element("th.n", { scope: "col" }, "a step"), element("th.n", { scope: "col" }, "first to last arrival"),
        element("th.n", { scope: "col" }, "transfer"), element("th.n.hide-narrow", { scope: "col" }, "exposed a step"), element("th.n.hide-narrow", { scope: "col" }, "hidden a step"), element("th.hide-narrow", { scope: "col" }, "exposed, then hidden"), element("th.hide-narrow", { scope: "col" }, "last most often"))), body),
    element("p.hint", {}, "Times in " + unit + ". The transfer is from the last arrival to the end. Exposed: nothing computes meanwhile." + (folded > 0 ? " " + plural(folded, "more kind") + " of collectives: the report collectives has all." : "")));
  }

  // When each rank comes to the collectives of a step: a mark for each, on a scale from the first rank's arrival on.
  let shownArrivals = 0;
  const arrivalHolder = element("div", {});
  const arrivalSteps = switchButtons("Step", job.arrivals.map((each, index) => [String(index), "step " + numberText(each.step, 0) + ", " + each.why]), "0",
    (index) => { shownArrivals = Number(index); drawArrivals(); });
  function drawArrivals() {
    const of = job.arrivals[shownArrivals];
    if (!of) return;
    const longest = Math.max(1, ...of.rows.map((row) => Math.max(row.end_ns, row.late_ns[0]?.[1] ?? 0)));
    const place = (/** @type {number} */ ns) => Math.max(0, Math.min(100, (ns / longest) * 100)).toFixed(2) + "%";
    const body = element("tbody", {}, ...of.rows.map((row) => {
      const track = element("div.arrivals", { "aria-hidden": "true" });
      const latest = row.late_ns[0]?.[1] ?? 0;
      const transfer = element("i.transfer");
      transfer.style.left = place(latest);
      transfer.style.width = place(Math.max(0, row.end_ns - latest));
      track.append(transfer);
      for (const [rank, ns] of row.late_ns) {
        const mark = element("i.arrival" + (rank === row.last ? ".is-last" : ""), { title: names[rank] + ", " + stepTime(ns) + unitText() + " after the first" });
        mark.style.left = place(ns);
        track.append(mark);
      }
      const last = row.last === null ? "not known" : names[row.last];
      return element("tr", {}, element("th", { scope: "row" }, row.function + " " + bytesText(row.bytes)),
        element("td.n", {}, stepTime(row.begin_ns)), element("td.arrival-track", {}, track), element("td.n", {}, stepTime(latest)),
        element("td.n.hide-narrow", {}, stepTime(Math.max(0, row.end_ns - latest))), element("td", {}, last));
    }));
    const folded = of.collectives - of.rows.length;
    arrivalHolder.replaceChildren(
      element("div.scroll", { tabindex: "0", role: "group", "aria-label": "Arrivals" }, element("table.arrival-table", {},
        element("caption.unseen", {}, "Arrivals in step " + of.step),
        element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "collective"), element("th.n", { scope: "col" }, "begins at"), element("th", { scope: "col" }, "ranks arrive, then transfer"),
          element("th.n", { scope: "col" }, "first to last"), element("th.n.hide-narrow", { scope: "col" }, "transfer"), element("th", { scope: "col" }, "last"))), body)),
      element("p.hint", {}, "Times in " + unit + "; a collective begins at the first rank's arrival, counted from the step's begin. A mark is a rank, up to 16 of the latest; the bar is the transfer, from the last arrival to the end." +
        (folded > 0 ? " " + plural(folded, "more collective") + " with shorter waits." : "")));
  }
  const arrivalRows = () => [["step", "function", "bytes", "begin ms", "rank", "late ms", "last"], ...job.arrivals.flatMap((of) => of.rows.flatMap((row) => row.late_ns.map(([rank, ns]) =>
    [String(of.step), row.function, String(row.bytes), (row.begin_ns / 1e6).toFixed(6), names[rank], (ns / 1e6).toFixed(6), row.last === null ? "" : names[row.last]])))];

  /** What the heading alone does not tell: several that hold the job up. */
  function stragglerTable() {
    if (job.stragglers.length < 2) return null;
    const shown = job.stragglers.slice(0, 12);
    return element("div.scroll", { tabindex: "0", role: "group", "aria-label": "What holds the job up" }, element("table.straggler-table", {},
      element("caption", {}, "What holds the job up" + (job.stragglers.length > shown.length ? ", the dearest " + shown.length + " of " + job.stragglers.length : "") + ". Gains do not add up."),
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "which"), element("th.n", { scope: "col" }, "gain, " + unit + " a step"), element("th.n", { scope: "col" }, "in steps"), element("th.hide-narrow", { scope: "col" }, "cause"))),
      element("tbody", {}, ...shown.map((each) => element("tr", {}, element("th", { scope: "row" }, each.name),
        element("td.n", {}, stepTime(each.gain_ns) + (each.error_ns === null ? "" : " ± " + stepTime(each.error_ns))),
        element("td.n", {}, each.steps + " of " + job.steps), element("td.hide-narrow", {}, [each.cause, each.line].filter(Boolean).join(", ")))))));
  }

  const rankRows = () => [["rank", "host", ...columns.map((column) => column.title)], ...places().map((place) => [names[job.ranks.rank[place]], job.ranks.host[place], ...columns.map((column) => column.text(place))])];
  const collectiveRows = () => [["function", "bytes", "communicator", "ranks", "a step", "arrival us", "transfer us", "exposed us a step", "hidden us a step", "bus GB/s", "last", "share"],
    ...job.collectives.map((each) => [each.function, String(each.bytes), each.communicator, String(each.ranks), String(each.a_step), (each.arrival_ns / 1e3).toFixed(3), (each.transfer_ns / 1e3).toFixed(3),
      (each.exposed_ns / 1e3).toFixed(3), (each.hidden_ns / 1e3).toFixed(3), each.rate.toFixed(3), each.last === null ? "" : names[each.last], each.last_share.toFixed(4)])];
  const mapRows = () => [["rank", ...map.number.map((number) => "step " + number + " ms")], ...map.rows.map((cells, row) => [rowName(row), ...cells.map((ns) => (ns < 0 ? "" : (ns / 1e6).toFixed(6)))])];

  const scale = element("span.heat-scale", { "aria-hidden": "true" });
  let how = "0 to " + stepTime(limit) + unitText() + " late";
  if (map.per_row > 1) how += "; a row is " + map.per_row + " ranks, and shows the latest of them";
  if (map.per_column > 1) how += "; a column is " + map.per_column + " steps, and shows the latest";
  if (job.clock_error_ns > 0) how += "; clocks of hosts agree within " + durationText(job.clock_error_ns) + ", and what is less is drawn as 0";
  figure.append(
    element("h3", {}, "How late each rank reaches the collectives of a step, after the first rank"), plot,
    element("div.legend", {}, element("span", {}, scale, how)), say,
    element("div.actions", {}, copyButton("lateness", mapRows), ...pictureButtons("ranks", () => canvas)),
    element("div.rank-grid", {},
      element("div", {}, element("h3", {}, "Ranks"), holder,
        element("p.hint", {}, "Times of a step. Job’s gain: how much shorter each step of the job would be if the rank were as fast as its peers. Beyond peers: its own work more than theirs. Late: after the first rank, in the mean of its collectives. Waits: in collectives, for ranks that come later."),
        element("div.actions", {}, copyButton("ranks", rankRows))),
      element("div", {}, element("h3", {}, "Who waits for whom"),
        job.waits_ns ? element("p.labels", {}, "In collectives, " + unit + " a step; who waits has the row.") : null, waitMatrix() ?? waitList(), hostTable())),
    stragglerTable() ?? "",
    ...(job.arrivals.length > 0 ? [element("h3", {}, "Arrivals in the collectives of a step"), job.arrivals.length > 1 ? arrivalSteps.group : "", arrivalHolder, element("div.actions", {}, copyButton("arrivals", arrivalRows))] : []),
    element("h3", {}, "Collectives"), element("div.scroll", { tabindex: "0", role: "group", "aria-label": "Collectives" }, collectiveTable()),
    element("div.actions", {}, copyButton("collectives", collectiveRows)),
    job.remarks.length > 0 ? element("ul.rank-remarks", {}, ...job.remarks.map((text) => element("li", {}, text))) : "",
  );
  drawArrivals();
  moveTo(cursor.row, -1, false);

  return {
    redraw: draw,
    show: (address) => {
      const [who, step] = address.selection.split(":");
      const rank = names.findIndex((name) => name.replace(/^rank /, "") === who || name === who);
      const column = step === undefined ? -1 : map.number.reduce((found, number, index) => (number <= Number(step) ? index : found), -1);
      moveTo(Math.floor((rank >= 0 ? rank : worst) / map.per_row), column, false);
    },
    keys: {
      ArrowUp: () => moveTo(cursor.row - 1, cursor.column), ArrowDown: () => moveTo(cursor.row + 1, cursor.column),
      ArrowLeft: () => moveTo(cursor.row, cursor.column - 1), ArrowRight: () => moveTo(cursor.row, cursor.column + 1),
      Home: () => moveTo(cursor.row, 0), End: () => moveTo(cursor.row, columnsInMap - 1),
    },
  };
});
