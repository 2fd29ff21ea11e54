// SPDX-License-Identifier: Apache-2.0
// What the page's scripts compute without a browser: node --test arithmetic_test.js
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");

const folder = path.resolve(__dirname, "../../src/export/page/web");
const pure = ["formats.js", "colours.js", "address.js", "sets.js", "layout.js", "tables.js"];
const names = [
  "numberText", "stepTime", "kernelTime", "roughTime", "setTimeUnit", "unitText", "roughMilliseconds", "shareText", "durationText", "countText", "plural", "valueText", "shortened",
  "axisStep", "csvField", "csvText", "textColourOn", "luminance", "readAddress", "addressText", "gainOfSet", "bitsOf", "maskOfSelection", "isAbout", "inProgramOrder",
  "columnLayout", "waterfallRows", "waterfallAxis", "allParts", "medianOf", "partRows", "heatLimit", "mixedColour", "bytesText", "icicleLayout", "chainOf", "movedWindow", "labelPlaces", "slicePlaces", "firstEndingAfter", "visibleSlices",
  "memoryText", "lastNotAbove", "changeIn", "curveColumns", "columnPath", "placeRows",
];
const source = pure.map((name) => fs.readFileSync(path.join(folder, name), "utf8")).join("\n");
const page = new Function(`"use strict";${source}\nreturn {${names}};`)();
const space = "\u2009";
const minus = "\u2212";

test("numbers have commas, a true minus and no minus before zero", () => {
  assert.equal(page.numberText(1234567.891, 1), "1,234,567.9");
  assert.equal(page.numberText(999, 0), "999");
  assert.equal(page.numberText(-1234.5, 1), minus + "1,234.5");
  assert.equal(page.numberText(-0.001, 2), "0.00");
  assert.equal(page.numberText(5.5, 2, true), "+5.50");
  assert.equal(page.numberText(0, 2, true), "0.00");
});

test("times of a step are in the page's unit", () => {
  assert.equal(page.stepTime(24651000), "24.65");
  assert.equal(page.roughTime(24651000) + page.unitText(), "24.7 ms");
  page.setTimeUnit({ name: "us", ns: 1000, decimals: 1 });
  assert.equal(page.stepTime(-20000, true) + page.unitText(), minus + "20.0 µs");
  assert.equal(page.kernelTime(1234), "1.23");
  page.setTimeUnit({ name: "ms", ns: 1e6, decimals: 3 });
  assert.equal(page.kernelTime(1234567), "1.235");
  page.setTimeUnit(undefined);
  assert.equal(page.stepTime(1e6), "1.000");
});

test("sentences have three digits", () => {
  const ms = { 24.651: "24.7", 3.7: "3.70", 0.4156: "0.416", 2595: "2,595", 99.96: "100", 9.996: "10.0", 0.0004: "0.000", 0: "0", 101.4: "101" };
  for (const [value, text] of Object.entries(ms)) assert.equal(page.roughMilliseconds(Number(value) * 1e6), text, value);
});

test("shares are whole from 10 %", () => {
  const shares = { 0.153: "15", 0.0996: "10", 0.0994: "9.9", 0.0866: "8.7", 0.0004: "<0.1", 0: "0", 1: "100", 0.001: "0.1" };
  for (const [value, text] of Object.entries(shares)) assert.equal(page.shareText(Number(value)), text + space + "%", value);
});

test("durations choose their unit", () => {
  const durations = { 1500: "1.50 µs", 15000: "15.0 µs", 1.5e6: "1.50 ms", 23.9e6: "23.9 ms", 2.6e9: "2.60 s", 26e9: "26.0 s", 999.6e3: "1.00 ms" };
  for (const [value, text] of Object.entries(durations)) assert.equal(page.durationText(Number(value)), text, value);
});

test("counts of a step are whole where they are", () => {
  assert.deepEqual([1, 50.44, 837.5, 0.25, 12.001].map(page.countText), ["1", "50.4", "838", "0.25", "12"]);
  assert.equal(page.countText(0.004), "<0.01");
  assert.equal(page.countText(0), "0");
  assert.equal(page.plural(1, "step"), "1 step");
  assert.equal(page.plural(1200, "step"), "1,200 steps");
});

test("values of counters keep four digits", () => {
  assert.deepEqual([10.912, 0.01234, 42, NaN, 1.5e12].map(page.valueText), ["10.91", "0.01234", "42", "NaN", "1.50e+12"]);
});

test("long names are cut in the middle, by characters", () => {
  assert.equal(page.shortened("abcdefghij", 10), "abcdefghij");
  assert.equal(page.shortened("abcdefghijk", 7), "abcd…jk");
  assert.equal(Array.from(page.shortened("🙂".repeat(50), 9)).length, 9);
});

test("marks of an axis are 1, 2 or 5 of a power of ten", () => {
  assert.deepEqual([[40, 5], [41, 5], [0.3, 4], [7, 7], [0, 5]].map(([length, count]) => page.axisStep(length, count)), [10, 10, 0.1, 1, 1]);
});

test("CSV follows RFC 4180 and no cell is a formula", () => {
  assert.equal(page.csvField('a "b", c'), '"a ""b"", c"');
  assert.equal(page.csvField("=1+1"), "'=1+1");
  assert.equal(page.csvField("@x"), "'@x");
  assert.equal(page.csvField(minus + "1,234.50"), "-1234.50");
  assert.equal(page.csvField("line\nbreak"), '"line\nbreak"');
  assert.equal(page.csvText([["a", "b"], ["1,5 x", "2"]]), 'a,b\r\n"1,5 x",2\r\n');
});

/** The colours of the style sheet, by theme. */
function palettes() {
  const style = fs.readFileSync(path.join(folder, "page.css"), "utf8");
  const blocks = style.split(/color-scheme: (?:light|dark);/).slice(1).map((block) => block.slice(0, block.indexOf("}")));
  return blocks.map((block) => new Map(Array.from(block.matchAll(/--([a-z-]+): (#[0-9a-f]{6});/g), (found) => [found[1], found[2]])));
}

test("the themes have the same names, and both ways into the dark one have the same colours", () => {
  const [light, dark, chosen] = palettes();
  assert.deepEqual(Array.from(light.keys()), Array.from(dark.keys()));
  assert.deepEqual(Array.from(dark), Array.from(chosen));
});

const contrast = (a, b) => {
  const [low, high] = [page.luminance(a), page.luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
};

test("text has a contrast of 4.5 on every colour", () => {
  for (const palette of palettes()) {
    for (const [name, colour] of palette) {
      if (["text", "muted", "page", "line", "strong", "link", "heat", "solid"].includes(name)) continue;
      assert.ok(contrast(colour, page.textColourOn(colour)) >= 4.5, `${name} ${colour}`);
    }
    for (const name of ["text", "muted", "link"]) {
      for (const below of name === "link" ? ["page"] : ["page", "cell"]) {
        assert.ok(contrast(palette.get(name), palette.get(below)) >= 4.5, `${name} on ${below}`);
      }
    }
  }
});

// CIE L*a*b* after the colour has been seen by an eye that lacks one kind of cone (Viénot 1999 for the first two).
const linear = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
const seen = {
  normal: ([r, g, b]) => [r, g, b],
  protan: ([r, g, b]) => [0.11238 * r + 0.88762 * g, 0.11238 * r + 0.88762 * g, 0.00401 * r - 0.00401 * g + b],
  deutan: ([r, g, b]) => [0.29275 * r + 0.70725 * g, 0.29275 * r + 0.70725 * g, -0.02234 * r + 0.02234 * g + b],
};
const lab = ([r, g, b]) => {
  const xyz = [(0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505, 0.2126 * r + 0.7152 * g + 0.0722 * b, (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089];
  const [x, y, z] = xyz.map((v) => (v > 0.008856 ? Math.cbrt(v) : 7.787 * v + 16 / 116));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
};

test("colours that meet in one bar can be told apart, also by the colour-blind", () => {
  const meet = ["forward", "backward", "optimizer", "communication", "copies", "other", "a", "launches", "cpu-code", "data", "latency", "syncs", "memory-calls", "compilation", "short-gaps"];
  for (const palette of palettes()) {
    for (const [eye, see] of Object.entries(seen)) {
      for (const one of meet) {
        for (const other of meet) {
          if (one >= other) continue;
          const [a, b] = [one, other].map((name) => lab(see(linear(palette.get(name)))));
          assert.ok(Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]) >= 11, `${one} and ${other} for ${eye} sight`);
        }
      }
    }
  }
});

test("addresses are read as they are written", () => {
  const addresses = [
    { view: "steps", selection: "19", settings: {} },
    { view: "answer", selection: "tick:1,3", settings: {} },
    { view: "where", selection: "model: forward + backward/blocks.0 … 11 ×12", settings: { by: "cpu", q: "a&b=c" } },
    { view: "kernels", selection: "", settings: { q: "gemm?x#y%", sort: "mean" } },
    { view: "timeline", selection: "slowest:13.53-13.76", settings: { sel: "3.99" } },
    { view: "kernels", selection: "void f<int>(a, b)+c", settings: {} },
  ];
  for (const address of addresses) {
    const read = page.readAddress(page.addressText(address));
    assert.deepEqual({ ...read, settings: { ...read.settings } }, address);
  }
  assert.equal(page.addressText(addresses[4]), "#timeline=slowest:13.53-13.76&sel=3.99");
});

test("addresses that nobody wrote are read, too", () => {
  assert.equal(page.readAddress(""), null);
  assert.equal(page.readAddress("#<img>"), null);
  assert.equal(page.readAddress("#steps=%zz").selection, "%zz");
  assert.equal(page.readAddress("#kernels?__proto__=1").settings["__proto__"], "1");
});

test("gains of sets are replayed, and between bounds where they were not", () => {
  const sets = [[1, 10], [2, 6], [3, 12], [4, 5]];
  assert.deepEqual(page.gainOfSet(sets, 0, 20), { least: 0, most: 0 });
  assert.deepEqual(page.gainOfSet(sets, 3, 20), { least: 12, most: 12 });
  // {1, 3}: no less than 10, no more than 10 + 5.
  assert.deepEqual(page.gainOfSet(sets, 5, 20), { least: 10, most: 15 });
  // All three: at least the pair's 12, at most what all gain together.
  assert.deepEqual(page.gainOfSet(sets, 7, 14), { least: 12, most: 14 });
  assert.deepEqual(page.bitsOf(5), [0, 2]);
});

test("ticks in an address", () => {
  assert.equal(page.maskOfSelection("tick:1,3", 4), 5);
  assert.equal(page.maskOfSelection("tick:", 4), 0);
  assert.equal(page.maskOfSelection("tick:9,0", 4), 0);
  assert.equal(page.maskOfSelection("19", 4), null);
});

test("a finding is about idle time of its causes at its places", () => {
  const finding = (rule, paths, count = paths.length) => ({ rule, place_count: count, places: paths.map((path) => ({ path })) });
  const code = finding("host_code", ["forward", ""]);
  assert.equal(page.isAbout(code, "host_code", "forward"), true);
  assert.equal(page.isAbout(code, "host_code", "forward/loss"), true);
  assert.equal(page.isAbout(code, "host_code", "forwards"), false);
  assert.equal(page.isAbout(code, "host_code", ""), true);
  assert.equal(page.isAbout(code, "launching", "forward"), false);
  assert.equal(page.isAbout(finding("host_code", ["forward"]), "host_code", ""), false);
  assert.equal(page.isAbout(finding("host_code", ["forward"], 9), "host_code", "backward"), true);
  assert.equal(page.isAbout(finding("allocation", ["forward"]), "allocating", "cudaMalloc, forward"), true);
  assert.equal(page.isAbout(finding("synchronization", [""]), "waiting", "cudaStreamSynchronize"), true);
  assert.equal(page.isAbout(finding("synchronization", [""]), "waiting", "cudaStreamSynchronize, forward"), false);
  assert.equal(page.isAbout(finding("uneven_steps", []), "host_code", ""), false);
});

test("program order is by the first beginning, and leaves out nothing", () => {
  const tree = { name: "step", children: [{ name: "b", first_ns: 9, children: [{ name: "y", first_ns: 3 }, { name: "x", first_ns: 1 }] }, { name: "own" }, { name: "a", first_ns: 2 }] };
  const found = page.inProgramOrder(tree);
  assert.deepEqual(found.children.map((each) => each.name), ["a", "b", "own"]);
  assert.deepEqual(found.children[1].children.map((each) => each.name), ["x", "y"]);
  assert.deepEqual(tree.children.map((each) => each.name), ["b", "own", "a"]);
});

test("columns of steps are at most 17 pixels wide and at least 2", () => {
  assert.deepEqual(page.columnLayout(27, 600), { perColumn: 1, columns: 27, pitch: 17, gap: 2 });
  const many = page.columnLayout(10000, 640);
  assert.equal(many.perColumn, 32);
  assert.ok(many.pitch >= 2 && many.columns * many.perColumn >= 10000);
});

test("an icicle's cells stay inside of their parents", () => {
  const tree = { name: "step", gpu: 10, children: [{ name: "a", gpu: 6, children: [{ name: "x", gpu: 20 }, { name: "y", gpu: 10 }] }, { name: "b", gpu: 3 }] };
  const { cells, levels } = page.icicleLayout(tree, (node) => node.gpu, 1000);
  assert.equal(levels, 3);
  const of = Object.fromEntries(cells.map((cell) => [cell.node.name, cell]));
  assert.deepEqual([of.a.x, of.a.width, of.b.x, of.b.width], [0, 600, 600, 300]);
  assert.deepEqual([of.x.width, of.y.x, of.y.width], [400, 400, 200]);
  assert.equal(of.y.path, "a/y");
});

test("paths find their nodes, also through names with slashes", () => {
  const tree = { name: "step", children: [{ name: "a", children: [] }, { name: "a/b", children: [{ name: "c" }] }] };
  assert.deepEqual(page.chainOf(tree, "a/b/c").map((each) => each.node.name), ["step", "a/b", "c"]);
  assert.equal(page.chainOf(tree, "a/b/d"), null);
  assert.equal(page.chainOf(tree, "").length, 1);
});

test("a window stays on its line", () => {
  const whole = { from: 0, to: 100 };
  assert.deepEqual(page.movedWindow({ from: 20, to: 40 }, whole, 0.5, 30, 0, 1), { from: 25, to: 35 });
  assert.deepEqual(page.movedWindow({ from: 20, to: 40 }, whole, 1, 20, -50, 1), { from: 0, to: 20 });
  assert.deepEqual(page.movedWindow({ from: 20, to: 40 }, whole, 100, 30, 0, 1), whole);
  assert.deepEqual(page.movedWindow({ from: 20, to: 40 }, whole, 0.001, 30, 0, 4), { from: 28, to: 32 });
});

test("labels in a row are pushed apart and stay in it", () => {
  const labels = [{ from: 0, width: 50 }, { from: 20, width: 50 }, { from: 190, width: 50 }];
  assert.deepEqual(page.labelPlaces(labels, 0, 200, 10), [0, 60, 150]);
  assert.deepEqual(page.labelPlaces(labels, 0, 175, 10), [0, 60, 125]);
  assert.deepEqual(page.labelPlaces([{ from: 100, width: 60 }, { from: 150, width: 60 }], 0, 200, 10), [70, 140]);
  assert.equal(page.labelPlaces(labels, 0, 165, 10), null);
  assert.deepEqual(page.labelPlaces([], 0, 10, 1), []);
});

test("slices are found, and a long gap is not lost among short ones", () => {
  const { from, to } = page.slicePlaces([0, 10, 20], [5, 10, 1]);
  assert.deepEqual([Array.from(from), Array.from(to)], [[0, 10, 30], [5, 20, 31]]);
  assert.equal(page.firstEndingAfter(to, 5), 1);
  assert.equal(page.firstEndingAfter(to, 31), 3);
  // 1,000 slices of 1, and one of 40 among them, on 10 pixels of 200 each.
  const starts = Array.from({ length: 1000 }, () => 2);
  starts[0] = 0;
  const lengths = starts.map((_, i) => (i === 500 ? 1.9 : 1));
  const many = page.slicePlaces(starts, lengths);
  const drawn = [];
  page.visibleSlices(many.from, many.to, 0, 2000, 10, (index, x, width) => drawn.push([index, x, width]));
  assert.equal(drawn.length, 10);
  assert.ok(drawn.some(([index]) => index === 500));
  assert.ok(drawn.every(([, x, width]) => x >= 0 && x + width <= 10));
});

test("every name that a script declares at its top is its own", () => {
  const seen = new Map();
  for (const file of fs.readdirSync(folder).filter((name) => name.endsWith(".js"))) {
    for (const found of fs.readFileSync(path.join(folder, file), "utf8").matchAll(/^(?:async )?(?:function|const|let|class) (\w+)/gm)) {
      assert.ok(!seen.has(found[1]), `${found[1]} in ${file} and ${seen.get(found[1])}`);
      seen.set(found[1], file);
    }
  }
});

test("no script parses HTML, evaluates text or asks the network", () => {
  for (const file of fs.readdirSync(folder).filter((name) => name.endsWith(".js"))) {
    const text = fs.readFileSync(path.join(folder, file), "utf8");
    assert.doesNotMatch(text, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|new Function|\bfetch\(|XMLHttpRequest|WebSocket|sendBeacon|importScripts/, file);
  }
});

test("the median of an even number of values is the mean of the middle two", () => {
  assert.equal(page.medianOf([]), 0);
  assert.equal(page.medianOf([7]), 7);
  assert.equal(page.medianOf([9, 1, 2]), 2);
  assert.equal(page.medianOf([4, 1, 10, 3]), 3.5);
});

test("parts that have no row of their own have the median of their sum in each step", () => {
  // Parts 2 and 3 take turns: each has the median 0, together they take 6 in each step.
  const series = new Map([[0, [10, 10, 10, 40]], [1, [5, 5, 5, 1]], [2, [6, 0, 6, 0]], [3, [0, 6, 0, 6]]]);
  const medians = new Map([[0, 10], [1, 5], [2, 3], [3, 3]]);
  const picked = new Map([[0, 40], [1, 1], [2, 0], [3, 6]]);
  const rows = page.partRows(picked, medians, series, 3.5);
  assert.deepEqual(rows.map((row) => [row.parts, row.ns, row.median, row.difference]), [[[0], 40, 10, 30], [[1], 1, 5, -4], [[2, 3], 6, 6, 0]]);
  // One part alone is no "others", and without the steps each has a row.
  const three = page.partRows(new Map([[0, 40], [1, 1], [3, 6]]), medians, series, 3.5);
  assert.deepEqual(three.map((row) => row.parts), [[0], [1], [3]]);
  assert.deepEqual(page.partRows(picked, medians, null, 3.5).map((row) => row.parts.length), [1, 1, 1, 1]);
  for (const parts of [rows, three]) assert.equal(parts.reduce((sum, row) => sum + row.ns, 0), 47);
});

test("a map's hottest colour is above all but one in fifty of what can be told from 0", () => {
  assert.equal(page.heatLimit([], 0), 1);
  assert.equal(page.heatLimit([-1, 0, 3, 3], 5), 5);
  assert.equal(page.heatLimit([...Array(49).fill(10), 20, 1000, -1, 0, 0], 0), 20);
  assert.equal(page.heatLimit([...Array(1000).fill(2), 50, 60], 5), 50);
});

test("colours are mixed by channel", () => {
  assert.equal(page.mixedColour("#000000", "#ff8001", 0), "#000000");
  assert.equal(page.mixedColour("#000000", "#ff8001", 1), "#ff8001");
  assert.equal(page.mixedColour("#102030", "#304050", 0.5), "#203040");
});

test("bytes have four digits", () => {
  const bytes = { 4: "4 B", 999: "999 B", 1024: "1.024 KB", 67133440: "67.13 MB", 67108864: "67.11 MB", 403200000: "403.2 MB", 1070000000: "1.070 GB" };
  for (const [value, text] of Object.entries(bytes)) assert.equal(page.bytesText(Number(value)), text, value);
});

test("a waterfall leads from the old whole to the new one", () => {
  const change = { what: "step", base_ns: 100, new_ns: 60, rows: [{ name: "a", base_ns: 50, new_ns: 5 }, { name: "b", base_ns: 0, new_ns: 10 }],
    more: { count: 3, base_ns: 50, new_ns: 45 } };
  const rows = page.waterfallRows(change);
  assert.deepEqual(rows.map((row) => [row.from, row.to]), [[0, 100], [100, 55], [55, 65], [65, 60], [0, 60]]);
  assert.deepEqual(rows.map((row) => row.name), ["base step", "a", "b", "3 more", "new step"]);
  assert.equal(page.waterfallAxis(rows).from, 0);
  const small = page.waterfallAxis(page.waterfallRows({ what: "step", base_ns: 1000, new_ns: 1010, rows: [{ name: "a", base_ns: 0, new_ns: 10 }] }));
  assert.ok(small.from > 990 && small.from < 1000 && small.to > 1010);
  const none = page.waterfallAxis(page.waterfallRows({ what: "step", base_ns: 1000, new_ns: 1000, rows: [] }));
  assert.ok(none.to > none.from);
});

test("memory is written as in the reports", () => {
  const texts = { 0: "0 B", 999: "999 B", 1000: "1.00 kB", 117440512: "117.44 MB", 2.76e9: "2.76 GB", 5.5e15: "5500.00 TB" };
  for (const [value, text] of Object.entries(texts)) assert.equal(page.memoryText(Number(value)), text, value);
  assert.equal(page.memoryText(-2097152), minus + "2.10 MB");
});

// Two windows, of which the first ends at 50 and the second one begins at 100.
const curve = { changes: 5, time_ns: [10, 20, 30, 100, 110], allocated: [1, 5, 2, 7, 3], reserved: [6, 6, 6, 8, 8], segments: [[0, 50], [3, 120]] };

test("a piece of time shows its highest change, or what holds from before", () => {
  assert.equal(page.lastNotAbove([1, 3, 3, 9], 3), 2);
  assert.equal(page.lastNotAbove([1, 3], 0), -1);
  assert.equal(page.changeIn(curve, 12, 32), 1);
  assert.equal(page.changeIn(curve, 22, 35), 2);
  assert.equal(page.changeIn(curve, 40, 45), 2);
  assert.equal(page.changeIn(curve, 60, 70), -1, "between windows nothing is known");
  assert.equal(page.changeIn(curve, 60, 105), 3);
  assert.equal(page.changeIn(curve, 0, 5), -1);
});

test("a column has the most and the least that was allocated in it", () => {
  const all = page.curveColumns(curve, 0, 120, 12);
  assert.deepEqual(all.most, [NaN, 1, 5, 2, 2, NaN, NaN, NaN, NaN, NaN, 7, 3]);
  assert.deepEqual(all.least, all.most);
  const wide = page.curveColumns(curve, 0, 120, 3);
  assert.deepEqual(wide.most, [5, 2, 7]);
  assert.deepEqual(wide.least, [1, 2, 3]);
  assert.deepEqual(wide.reserved, [6, 6, 8]);
  // Inside of what holds.
  assert.deepEqual(page.curveColumns(curve, 42, 48, 2).most, [2, 2]);
});

test("no column loses a peak, wherever it lies", () => {
  const times = Array.from({ length: 997 }, (_, i) => i * 7);
  const values = times.map((_, i) => ((i * 7919) % 1009) + (i === 613 ? 5000 : 0));
  const many = { changes: 997, time_ns: times, allocated: values, reserved: values, segments: [[0, 7000]] };
  for (const columns of [1, 3, 40, 641]) {
    const { most } = page.curveColumns(many, 0, 7000, columns);
    assert.equal(Math.max(...most), Math.max(...values), columns);
    assert.equal(most.indexOf(Math.max(...most)), Math.floor((613 * 7) / (7000 / columns)), columns);
  }
});

test("a path has steps, and gaps between windows", () => {
  const [x, y] = [(/** @type {number} */ column) => column * 10, (/** @type {number} */ value) => 100 - value];
  assert.equal(page.columnPath([1, 1, 5, NaN, 7], x, y, null), "M0.0 99.0V99.0H20.0V95.0H30.0M40.0 93.0V93.0H50.0");
  assert.equal(page.columnPath([1, NaN], x, y, 100), "M0.0 100.0V99.0H10.0V100.0Z");
  assert.equal(page.columnPath([NaN], x, y, 100), "");
});

test("places of one range or module are one row, and nothing is lost", () => {
  const of = { use: [0, 1, 1, 2], path: ["forward", "forward", "", ""], module: ["A", "B", "A", ""], line: ["", "a.py:3", "", ""], bytes: [[10, 20, 30, 4], [1, 2, 3, 0]], blocks: [1, 1, 1, 0], churn: [5, 0, 0, 0],
    births: [1, 0, 0, 0], growth: [0, 0, 9, 0], rest: { count: 0, bytes: [0, 0] } };
  const rows = page.placeRows(of, "range", 2);
  assert.deepEqual(rows.map((row) => [row.name, row.bytes, row.uses]), [["forward", [30, 3], [0, 1]], ["outside ranges", [30, 3], [1]], ["not known", [4, 0], [2]]]);
  assert.deepEqual(page.placeRows(of, "module", 2).map((row) => [row.name, row.bytes[0]]), [["A", 40], ["B", 20], ["not known", 4]]);
  assert.deepEqual(page.placeRows(of, "place", 2).map((row) => row.below), ["A", "B · a.py:3", "A", ""]);
});
