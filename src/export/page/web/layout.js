// SPDX-License-Identifier: Apache-2.0
// Where things go in drawings: arithmetic alone, so that it can be tested without a browser.

/**
 * Columns of bars: as many steps a column as are needed for columns of at least two pixels, and bars of at most 17.
 * @param {number} count
 * @param {number} width px
 */
function columnLayout(count, width) {
  const perColumn = Math.max(1, Math.ceil(count / Math.max(1, Math.floor(width / 2))));
  const columns = Math.ceil(count / perColumn);
  const pitch = Math.min(17, width / Math.max(1, columns));
  return { perColumn, columns, pitch, gap: pitch >= 6 ? 2 : pitch >= 3 ? 1 : 0 };
}

/**
 * The median, as in the reports: of an even number of values the mean of the middle two; 0 for none.
 * @param {number[]} values
 */
function medianOf(values) {
  const sorted = Array.from(values).sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return 0;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** @typedef {{parts: number[], ns: number, median: number, difference: number}} PartRow */

/**
 * The parts of a picked step beside the median of each: those that differ most have a row of their own, and the others
 * together one. A row of several has the median of their sum in each step, since medians do not add up.
 * @param {Map<number, number>} picked time by part
 * @param {Map<number, number>} medians by part
 * @param {Map<number, number[]> | null} series by part, of the steps that count; null: not known by step, so that each part has a row
 * @param {number} least a difference that is worth a row
 * @returns {PartRow[]}
 */
function partRows(picked, medians, series, least) {
  const rows = Array.from(picked, ([part, ns]) => ({ parts: [part], ns, median: medians.get(part) ?? 0, difference: ns - (medians.get(part) ?? 0) }))
    .filter((row) => row.ns > 0 || row.median > 0)
    .sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference));
  if (!series) return rows;
  const alone = rows.filter((row, index) => index < 2 || (index < 8 && Math.abs(row.difference) >= least));
  const folded = rows.slice(alone.length);
  if (folded.length < 2) return rows;
  const parts = folded.flatMap((row) => row.parts);
  const count = Math.max(0, ...parts.map((part) => series.get(part)?.length ?? 0));
  const sums = Array.from({ length: count }, (_, step) => parts.reduce((sum, part) => sum + (series.get(part)?.[step] ?? 0), 0));
  const ns = folded.reduce((sum, row) => sum + row.ns, 0);
  const median = medianOf(sums);
  return [...alone, { parts, ns, median, difference: ns - median }];
}

/**
 * What a map of times shows as its hottest: of those that can be told from 0 all but one in fifty are below it, so that a
 * single one does not hide the others.
 * @param {number[]} values below 0: not known
 * @param {number} least what cannot be told from 0
 */
function heatLimit(values, least) {
  const told = values.filter((value) => value > Math.max(0, least)).sort((a, b) => a - b);
  return Math.max(told[Math.floor((told.length - 1) * 0.98)] ?? 0, least, 1);
}

/**
 * Cells of an icicle. Children stand side by side below their parent in their order. Where they are longer than it together
 * they are drawn narrower, so that none sticks out.
 * @param {TreeNode} root
 * @param {(node: TreeNode) => number} size
 * @param {number} width px
 * @param {number} [least] px below which a cell is not drawn
 * @returns {{cells: {node: TreeNode, path: string, x: number, width: number, level: number, parent: number}[], levels: number}}
 */
function icicleLayout(root, size, width, least = 1.5) {
  /** @type {{node: TreeNode, path: string, x: number, width: number, level: number, parent: number}[]} */
  const cells = [];
  let levels = 0;
  /**
   * @param {TreeNode} node
   * @param {string} path
   * @param {number} x
   * @param {number} room
   * @param {number} level
   * @param {number} parent
   */
  const place = (node, path, x, room, level, parent) => {
    const index = cells.length;
    cells.push({ node, path, x, width: room, level, parent });
    levels = Math.max(levels, level + 1);
    const children = node.children ?? [];
    const own = size(node);
    const sum = children.reduce((total, child) => total + size(child), 0);
    const scale = room / Math.max(own, sum, 1e-9);
    let at = x;
    for (const child of children) {
      const share = size(child) * scale;
      if (share >= least) place(child, path === "" ? child.name : path + "/" + child.name, at, share, level + 1, index);
      at += share;
    }
  };
  place(root, "", 0, width, 0, -1);
  return { cells, levels };
}

/**
 * The same tree, children in the order in which they first began; those of which that is not known come last.
 * @param {TreeNode} node
 * @returns {TreeNode}
 */
function inProgramOrder(node) {
  const first = (/** @type {TreeNode} */ of) => of.first_ns ?? Infinity;
  if (!node.children) return node;
  const children = node.children.map(inProgramOrder).sort((a, b) => (first(a) === first(b) ? 0 : first(a) - first(b)));
  return { ...node, children };
}

/**
 * The node at a path of names, and the nodes above it.
 * @param {TreeNode} root
 * @param {string} path
 * @returns {{node: TreeNode, path: string}[] | null} from the root to the node
 */
function chainOf(root, path) {
  const chain = [{ node: root, path: "" }];
  let rest = path;
  while (rest !== "") {
    const { node, path: above } = chain[chain.length - 1];
    // Names may have slashes, so that the longest name that begins the rest is taken.
    const fitting = (node.children ?? [])
      .filter((child) => rest === child.name || rest.startsWith(child.name + "/"))
      .sort((a, b) => b.name.length - a.name.length)[0];
    if (!fitting) return null;
    chain.push({ node: fitting, path: above === "" ? fitting.name : above + "/" + fitting.name });
    rest = rest.slice(fitting.name.length + 1);
  }
  return chain;
}

/**
 * Moves and scales the part of a line that a window shows, and keeps it on the line.
 * @param {{from: number, to: number}} window
 * @param {{from: number, to: number}} whole
 * @param {number} factor below 1 zooms in
 * @param {number} around a place that stays where it is
 * @param {number} shift
 * @param {number} least length of the window
 */
function movedWindow(window, whole, factor, around, shift, least) {
  const length = Math.min(whole.to - whole.from, Math.max(least, (window.to - window.from) * factor));
  const share = (around - window.from) / Math.max(1e-9, window.to - window.from);
  let from = around - share * length + shift;
  from = Math.max(whole.from, Math.min(whole.to - length, from));
  return { from, to: from + length };
}

/**
 * Begins and ends of slices, from differences.
 * @param {number[]} start each less the one before
 * @param {number[]} length
 */
function slicePlaces(start, length) {
  const from = new Float64Array(start.length);
  const to = new Float64Array(start.length);
  let at = 0;
  for (let i = 0; i < start.length; ++i) {
    at += start[i];
    from[i] = at;
    to[i] = at + length[i];
  }
  return { from, to };
}

/**
 * The index of the first slice that ends behind a time; slices are in order and do not overlap.
 * @param {Float64Array} to
 * @param {number} time
 */
function firstEndingAfter(to, time) {
  let low = 0;
  let high = to.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (to[middle] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * What to draw of a lane's slices: those narrower than a pixel are one rectangle a pixel, which shows the longest of them, so
 * that a long one is not lost among short ones.
 * @param {Float64Array} from
 * @param {Float64Array} to
 * @param {number} windowFrom
 * @param {number} windowTo
 * @param {number} width px
 * @param {(index: number, x: number, width: number) => void} draw
 */
function visibleSlices(from, to, windowFrom, windowTo, width, draw) {
  const scale = width / (windowTo - windowFrom);
  let column = -1;
  let longest = -1;
  const flush = () => {
    if (longest >= 0) draw(longest, column, 1);
    longest = -1;
  };
  for (let i = firstEndingAfter(to, windowFrom); i < from.length && from[i] < windowTo; ++i) {
    const x = (from[i] - windowFrom) * scale;
    const wide = (to[i] - from[i]) * scale;
    if (wide >= 1) {
      flush();
      const left = Math.max(0, x);
      draw(i, left, Math.min(width, x + wide) - left);
      continue;
    }
    const at = Math.max(0, Math.min(width - 1, Math.floor(x)));
    if (at !== column || longest < 0) {
      flush();
      column = at;
      longest = i;
    } else if (to[i] - from[i] > to[longest] - from[longest]) {
      longest = i;
    }
  }
  flush();
}

/**
 * Where labels in a row begin: each at its place, but pushed so that none overlaps another or leaves the row.
 * @param {{from: number, width: number}[]} labels from left to right
 * @param {number} left
 * @param {number} right
 * @param {number} gap between two
 * @returns {number[] | null} null: they do not fit
 */
function labelPlaces(labels, left, right, gap) {
  const places = [];
  let next = left;
  for (const label of labels) {
    const at = Math.max(next, label.from);
    places.push(at);
    next = at + label.width + gap;
  }
  let limit = right;
  for (let i = labels.length - 1; i >= 0; --i) {
    places[i] = Math.min(places[i], limit - labels[i].width);
    limit = places[i] - gap;
  }
  return places.length > 0 && places[0] < left - 0.5 ? null : places;
}

/** @typedef {{name: string, from: number, to: number, isTotal: boolean}} WaterfallRow */

/**
 * All parts of a change, those that are shown together as the last one.
 * @param {{rows: {name: string, base_ns: number, new_ns: number}[], more?: {count: number, base_ns: number, new_ns: number}}} change
 */
function allParts(change) {
  const more = change.more ? [{ ...change.more, name: change.more.count + " more" }] : [];
  return [...change.rows, ...more];
}

/**
 * The bars of a waterfall from the old whole to the new one: each begins where the one before it ended.
 * @param {{what: string, base_ns: number, new_ns: number, rows: {name: string, base_ns: number, new_ns: number}[],
 *          more?: {count: number, base_ns: number, new_ns: number}}} change
 * @returns {WaterfallRow[]}
 */
function waterfallRows(change) {
  const rows = [{ name: "base " + change.what, from: 0, to: change.base_ns, isTotal: true }];
  let at = change.base_ns;
  for (const part of allParts(change)) {
    const to = at + part.new_ns - part.base_ns;
    if (to !== at) rows.push({ name: part.name, from: at, to, isTotal: false });
    at = to;
  }
  rows.push({ name: "new " + change.what, from: 0, to: change.new_ns, isTotal: true });
  return rows;
}

/**
 * The part of the axis that shows the changes: all of it from 0, unless they are too small to be seen there.
 * @param {WaterfallRow[]} rows
 */
function waterfallAxis(rows) {
  const ends = rows.map((row) => row.to);
  const [least, most] = [Math.min(...ends), Math.max(...ends)];
  const span = Math.max(most - least, most * 1e-4);
  const from = span > most * 0.15 ? 0 : Math.max(0, least - span * 0.5);
  return { from, to: Math.max(most + span * 0.02, from + 1) };
}

/**
 * The index of the last of ascending values that is not above a limit; -1: all are.
 * @param {number[]} values
 * @param {number} limit
 */
function lastNotAbove(values, limit) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** @typedef {{changes: number, time_ns: number[], allocated: number[], reserved: number[], segments: [number, number][]}} MemoryCurve */

/**
 * The change that shows best what a piece of time has: the one with the most allocated in it, or where it has none, the one
 * before it, if the recording went on until then. -1: nothing is known of it.
 * @param {MemoryCurve} curve
 * @param {number} from
 * @param {number} to
 */
function changeIn(curve, from, to) {
  const last = lastNotAbove(curve.time_ns, to);
  if (last < 0) return -1;
  let best = last;
  for (let i = last; i >= 0 && curve.time_ns[i] >= from; --i) if (curve.allocated[i] > curve.allocated[best]) best = i;
  if (curve.time_ns[best] >= from) return best;
  const segment = lastNotAbove(curve.segments.map(([first]) => first), best);
  return from <= curve.segments[segment][1] ? best : -1;
}

/**
 * The most and the least that was allocated, and the most that was reserved, in each column of a screen; NaN: nothing is known of
 * it. A value holds until the next change, and the last one of a window until that ends.
 * @param {MemoryCurve} curve
 * @param {number} from
 * @param {number} to
 * @param {number} count of columns
 */
function curveColumns(curve, from, to, count) {
  const wide = (to - from) / count;
  const [most, least, reserved] = [new Array(count).fill(NaN), new Array(count).fill(NaN), new Array(count).fill(NaN)];
  curve.segments.forEach(([first, until], index) => {
    const end = curve.segments[index + 1]?.[0] ?? curve.time_ns.length;
    for (let i = first; i < end; ++i) {
      const [start, stop] = [curve.time_ns[i], i + 1 < end ? curve.time_ns[i + 1] : until];
      if (stop < from || start >= to) continue;
      const begin = Math.max(0, Math.floor((start - from) / wide));
      const last = Math.min(count - 1, Math.max(begin, Math.ceil((stop - from) / wide) - 1));
      for (let column = begin; column <= last; ++column) {
        const known = !Number.isNaN(most[column]);
        most[column] = known ? Math.max(most[column], curve.allocated[i]) : curve.allocated[i];
        least[column] = known ? Math.min(least[column], curve.allocated[i]) : curve.allocated[i];
        reserved[column] = known ? Math.max(reserved[column], curve.reserved[i]) : curve.reserved[i];
      }
    }
  });
  return { most, least, reserved };
}

/**
 * Columns as a path: a line of steps, or the area below it, with gaps where a value is NaN.
 * @param {number[]} values
 * @param {(column: number) => number} x
 * @param {(value: number) => number} y
 * @param {number | null} base of the area; null: a line
 */
function columnPath(values, x, y, base) {
  let path = "";
  const at = (/** @type {number} */ value) => value.toFixed(1);
  for (let i = 0; i < values.length;) {
    if (Number.isNaN(values[i])) {
      ++i;
      continue;
    }
    path += "M" + at(x(i)) + " " + at(base ?? y(values[i]));
    for (; i < values.length && !Number.isNaN(values[i]); ++i) {
      if (i > 0 && values[i] === values[i - 1]) continue;
      let next = i + 1;
      while (next < values.length && values[next] === values[i]) ++next;
      path += "V" + at(y(values[i])) + "H" + at(x(next));
    }
    if (base !== null) path += "V" + at(base) + "Z";
  }
  return path;
}

/** @typedef {{use: number[], path: string[], module: string[], line: string[], bytes: number[][], blocks: number[], churn: number[], births: number[],
 *             growth: number[], rest: {count: number, bytes: number[]}}} MemoryPlaces */
/** @typedef {{name: string, below: string, uses: number[], bytes: number[], blocks: number, churn: number, births: number,
 *             growth: number}} PlaceRow */

/**
 * Rows of a table of places: each place, or those of one range or one module as one.
 * @param {MemoryPlaces} of
 * @param {string} by "place", "range" or "module"
 * @param {number} firstUnknown the first of the uses whose place is not known
 * @returns {PlaceRow[]}
 */
function placeRows(of, by, firstUnknown) {
  /** @type {Map<string, PlaceRow>} */
  const rows = new Map();
  of.use.forEach((use, i) => {
    const unknown = use >= firstUnknown ? "not known" : "";
    const range = unknown || of.path[i] || "outside ranges";
    const module = unknown || of.module[i] || "outside modules";
    const name = by === "module" ? module : range;
    const key = by === "place" ? String(i) : name;
    const row = rows.get(key) ?? { name, below: by === "place" ? [of.module[i], of.line[i]].filter(Boolean).join(" · ") : "", uses: [], bytes: of.bytes.map(() => 0), blocks: 0, churn: 0, births: 0, growth: 0 };
    rows.set(key, row);
    if (!row.uses.includes(use)) row.uses.push(use);
    of.bytes.forEach((bytes, moment) => { row.bytes[moment] += bytes[i]; });
    row.blocks += of.blocks[i];
    row.churn += of.churn[i];
    row.births += of.births[i];
    row.growth += of.growth[i];
  });
  return Array.from(rows.values());
}
