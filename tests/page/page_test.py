#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser: every view of shipped captures is filled, each interaction does what it says, nothing is
requested or logged, names cannot do harm, and axe-core finds nothing serious.

    page_test.py BROWSER PROF CAPTURES [unittest's arguments]

BROWSER is chromium or firefox. PROF_PAGE_PICTURES names a folder for screenshots of what failed.
"""

import base64
import gzip
import html.parser
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
try:
    import axe_core_python

    import browser
except ModuleNotFoundError as missing:
    print(f"SKIPPED: no {missing.name}: pip install -r tests/requirements-all.txt")
    sys.exit(77)
from torch_trace import ENGINE, TorchTrace

NAME, PROF, CAPTURES = sys.argv[1], *(str(pathlib.Path(path).resolve()) for path in sys.argv[2:4])
AXE = pathlib.Path(os.environ.get("PROF_AXE", pathlib.Path(axe_core_python.__file__).parent / "axe.min.js"))
FOLDER = tempfile.TemporaryDirectory(prefix="libprof-page-")
MOST_MS_TO_FIRST_VIEW = 1500
HOSTILE = {
    "markup": "<img src=x onerror=\"window.harmed=1\">",
    "script": "</script><script>window.harmed=1</script>",
    "separators": "line\u2028and\u2029paragraph",
    "direction": "abc\u202egnp.exe\u2066x",
    "controls": "bell\x07escape\x1b[2Jnul\x00end",
    "quotes": "\"'`${window.harmed=1}&lt;&amp;",
    "comment": "<!--<script>",
    "formula": "=cmd|' /C calc'!A0",
    "long": "n" * 262144,
}


def pages():
    """The pages that are tested, by name."""
    captures = pathlib.Path(CAPTURES)
    made = {}

    def make(name, *inputs):
        out = pathlib.Path(FOLDER.name) / f"{name}.html"
        subprocess.run([PROF, "report", *map(str, inputs), "--html", str(out)], check=True, timeout=120, capture_output=True,
                       env={**os.environ, "LC_ALL": "C.UTF-8"})  # fmt: skip
        made[name] = out

    make("gpt", captures / "h200_gpt.prof")
    make("ddp", captures / "h200_ddp.0.prof")
    make("job", captures / "h200_ddp.0.prof", captures / "h200_ddp.1.prof")
    make("hostile", hostile_trace(pathlib.Path(FOLDER.name) / "hostile.json"))
    make("long", long_trace(pathlib.Path(FOLDER.name) / "long.json"))
    make("without_gpu", trace_without_gpu(pathlib.Path(FOLDER.name) / "cpu.json"))
    return made


def hostile_trace(path):
    trace = TorchTrace()
    at = 0.0
    for step in range(1, 7):
        begin = at
        trace.range("forward", at, at + 400)
        for name in HOSTILE.values():
            trace.range(name, at, at + 40)
            trace.kernel(at + 10, at + 30 + step, at + 1, name=name)
            at += 44
        trace.call("cudaDeviceSynchronize", at, at + 20)
        trace.step(step, begin, at + 21)
        at += 25
    return trace.write(path)


MANY_STEPS, SLOW_STEP = 6000, 4321


def long_trace(path):
    """Many steps of 3 ms, one of which takes 60 ms more."""
    trace = TorchTrace()
    at = 0.0
    for step in range(MANY_STEPS):
        trace.range("forward", at + 10, at + 900)
        trace.kernel(at + 100, at + 2500 + step % 7, at + 20)
        trace.call("cudaDeviceSynchronize", at + 910, at + 2600)
        end = at + 3000 + (60000 if step == SLOW_STEP else 0)
        trace.step(step, at, end - 1)
        at = end
    return trace.write(path)


def trace_without_gpu(path):
    trace = TorchTrace()
    for step in range(1, 9):
        begin = step * 1000.0
        trace.step(step, begin, begin + 900 + step)
        trace.range("forward", begin + 10, begin + 300)
        trace.range("backward", begin + 310, begin + 800)
        trace.operator("aten::mm", begin + 20, begin + 200)
        trace.operator("aten::mm_backward", begin + 320, begin + 700, ENGINE)
    return trace.write(path)


def embedded(page, name="results"):
    text = page.read_text(encoding="utf-8")
    found = re.search(rf'<script type="[^"]*" id="{name}"( data-encoding="gzip-base64")?>(.*?)</script>', text, re.S)
    content = gzip.decompress(base64.b64decode(found[2])).decode() if found[1] else found[2]
    return json.loads(content)


def page_with(name, views):
    """A copy of a page whose sections have other data, as a writer that knows them would have given them."""
    page = PAGES[name]
    results = embedded(page)
    results["views"].update(views)
    text = page.read_text(encoding="utf-8")
    content = json.dumps(results).replace("<", "\\u003c")
    text = re.sub(r'<script type="[^"]*" id="results".*?</script>',
                  lambda _: f'<script type="application/json" id="results">{content}</script>', text, count=1, flags=re.S)  # fmt: skip
    for view in views:
        section = (f'<section class="view" id="{view}" data-view="{view}" aria-labelledby="{view}-title"><h2 id="{view}-title">{view}</h2>'
                   f'<div class="figure" data-figure="{view}"></div><p class="plain">plain</p></section>')  # fmt: skip
        pattern = rf'<section class="view" id="{view}".*?</section>'
        found = re.search(pattern, text, re.S)
        text = text.replace(found[0], section) if found else text.replace("</main>", section + "</main>")
    PAGES[f"{name} with {' and '.join(views)}"] = out = pathlib.Path(FOLDER.name) / f"{name}-{'-'.join(views)}.html"
    out.write_text(text, encoding="utf-8")
    return f"{name} with {' and '.join(views)}"


def number(text):
    return float(text.replace(",", "").replace("\u2212", "-").replace("\u2009%", "").replace("+", ""))


class Texts(html.parser.HTMLParser):
    """What a reader without JavaScript gets: the texts of elements, by tag."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.texts, self.open, self.tags = {}, [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br", "link", "img", "input", "rect", "path", "line", "col"):
            self.open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag):
        while tag in self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if "script" in self.open or "style" in self.open:
            return
        for tag in set(self.open):
            self.texts[tag][-1] += data


PAGES = {}
WINDOW = None


def setUpModule():
    global WINDOW
    PAGES.update(pages())
    WINDOW = browser.Browser(NAME)


def tearDownModule():
    if WINDOW:
        WINDOW.close()
    FOLDER.cleanup()


class PageTest(unittest.TestCase):
    def setUp(self):
        self.window = WINDOW

    def open(self, name, address="", width=1440, height=900):
        self.window.resize(width, height)
        self.window.open(PAGES[name].as_uri() + address)
        self.wait("document.documentElement.dataset.ready")
        self.wait("!document.querySelector('.timeline-wrap') || document.querySelector('.timeline-wrap').dataset.loaded")
        self.window.run("localStorage.clear(); delete document.documentElement.dataset.theme")

    def wait(self, condition, seconds=10):
        end = time.monotonic() + seconds
        while not self.window.run(f"return Boolean({condition})"):
            self.assertLess(time.monotonic(), end, condition)
            time.sleep(0.02)

    def run_js(self, script, *arguments):
        return self.window.run(script, *arguments)

    def texts(self, selector):
        return self.run_js("return Array.from(document.querySelectorAll($0), e => e.textContent)", selector)

    def text(self, selector):
        return self.run_js("return document.querySelector($0)?.textContent ?? null", selector)

    def address(self):
        return self.run_js("return decodeURIComponent(location.hash)")

    def assert_quiet(self):
        self.run_js("await new Promise(r => setTimeout(r, 80))")  # what is on its way
        self.assertEqual(self.window.messages, [])
        self.assertEqual([url for url in self.window.requests if not url.startswith(("file:", "blob:", "data:", "about:"))], [])
        # Firefox does not tell of files.
        self.assertLessEqual(len([url for url in self.window.requests if url.startswith("file:")]), 1)

    def sideways(self):
        return self.run_js("return document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def serious(self):
        """What axe-core finds that keeps somebody from using the page."""
        self.run_js(AXE.read_text(encoding="utf-8") + "; return 1")
        found = self.run_js("const r = await axe.run(document, {resultTypes: ['violations']});"
                            "return r.violations.map(v => [v.impact, v.id, v.nodes.slice(0, 4).map(n => n.html.slice(0, 160))])")  # fmt: skip
        return [violation for violation in found if violation[0] in ("serious", "critical")]

    def record_files(self):
        """Keeps what the page saves or copies, instead of letting it leave."""
        self.run_js("window.files = []; URL.createObjectURL = ((old) => (blob) => { files.push(blob); return old.call(URL, blob); })(URL.createObjectURL);"
                    "HTMLAnchorElement.prototype.click = function () { if (!this.download) HTMLElement.prototype.click.call(this); };"
                    "Object.defineProperty(navigator, 'clipboard', {configurable: true, value: {writeText: async (t) => { window.copied = t; }}})")  # fmt: skip

    def go_back(self):
        self.run_js("history.back(); await new Promise(r => setTimeout(r, 150))")


class Views(PageTest):
    def check_filled(self, name, expected):
        self.open(name)
        views = embedded(PAGES[name])["views"]
        for view in expected:
            with self.subTest(page=name, view=view):
                figure = f"#{view} [data-figure={view}]"
                self.assertGreater(self.run_js("return document.querySelector($0).children.length", figure), 0)
                self.assertEqual(self.run_js("return document.querySelectorAll($0).length", f"#{view} .plain"), 0)
        for view, data in views.items():
            if data.get("why") and view not in ("findings",):
                with self.subTest(page=name, view=view, why=data["why"]):
                    self.assertIn(data["why"], self.text(f"#{view}") or "")
        self.assert_quiet()

    def test_every_view_is_filled(self):
        self.check_filled("gpt", ["answer", "steps", "where", "kernels", "timeline"])
        self.check_filled("ddp", ["answer", "steps", "where", "kernels", "timeline"])
        self.check_filled("job", ["answer", "processes", "steps", "where", "kernels", "timeline"])

    def test_the_answer_shows_what_the_data_have(self):
        self.open("gpt")
        results = embedded(PAGES["gpt"])
        answer = results["views"]["answer"]
        self.assertEqual(self.text("#answer h1"), answer["sentence"])
        rows = {row[0].lstrip("▸▾ "): row[1] for row in self.run_js(
            "return Array.from(document.querySelectorAll('.budget')[0].querySelectorAll('tbody tr:not(.place)'),"
            "r => [r.cells[0].textContent, r.cells[1].textContent])")}  # fmt: skip
        self.assertAlmostEqual(number(rows["mean step"]), answer["step_ns"] / 1e6, delta=0.006)
        groups = [number(value) for key, value in rows.items() if key.startswith("GPU ")]
        self.assertAlmostEqual(sum(groups), answer["step_ns"] / 1e6, delta=0.02)
        for part in answer["parts"]:
            if part["ns"] / answer["step_ns"] >= 0.0005:
                name = results["parts"][part["part"]]["name"]
                shown = next(value for key, value in rows.items() if key.startswith(name))
                self.assertAlmostEqual(number(shown), part["ns"] / 1e6, delta=0.006, msg=name)
        # The segments lie side by side, and are as long as the frame around them.
        total, frame = self.run_js(
            "const r = [...document.querySelectorAll('#answer-bars rect')].filter(e => e.querySelector('title'));"
            "const b = r.map(e => e.getBoundingClientRect()); const f = document.querySelector('#answer-bars .frame').getBoundingClientRect();"
            "return [Math.max(...b.map(x => x.right)) - Math.min(...b.map(x => x.left)), f.width]")  # fmt: skip
        self.assertAlmostEqual(total, frame, delta=1.5)

    def test_each_group_is_named_above_the_bar_and_no_name_covers_another(self):
        for name in ("gpt", "ddp", "job", "hostile"):
            groups = {"GPU busy": "busy", "GPU works": "works", "GPU only communicates": "communicates", "GPU idle": "idle"}
            for width in (390, 1440):
                self.open(name, width=width)
                with self.subTest(page=name, width=width):
                    expected = [groups[text] for text in self.texts(".budget tr.group th")]
                    boxes = self.run_js(
                        "return [...document.querySelectorAll('#answer-bars text')].map(e => { const r = e.getBoundingClientRect();"
                        "return [e.textContent, r.left, r.right, r.top] }).filter(e => /^(busy|works|communicates|idle) /.test(e[0]))")  # fmt: skip
                    self.assertEqual([box[0].split()[0] for box in boxes], expected)
                    for left, right in zip(boxes, boxes[1:]):
                        self.assertLess(left[2], right[1])
                    self.assertLessEqual(boxes[-1][2], width)

    def test_each_counted_step_has_a_bar(self):
        self.open("gpt")
        steps = embedded(PAGES["gpt"])["views"]["steps"]
        columns = self.run_js(
            "return new Set([...document.querySelectorAll('.steps-plot rect')].filter(e => e.style.fill.includes('--forward')).map(e => e.getAttribute('x'))).size")  # fmt: skip
        self.assertEqual(columns, sum(steps["counted"]))

    def test_the_timeline_is_drawn(self):
        for name in ("gpt", "ddp"):
            self.open(name)
            colours = self.run_js(
                "const c = document.querySelector('.timeline-wrap canvas'); const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
                "const s = new Set(); for (let i = 0; i < d.length; i += 4) s.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return s.size")  # fmt: skip
            self.assertGreater(colours, 20, name)

    def test_it_is_quick_and_small(self):
        for name in ("gpt", "ddp", "job"):
            self.open(name)
            self.assertLess(int(self.run_js("return document.documentElement.dataset.ready")), MOST_MS_TO_FIRST_VIEW)
            self.assertLess(PAGES[name].stat().st_size, 500_000)

    def test_a_run_without_gpu(self):
        self.open("without_gpu")
        self.assertIn("step", self.text("h1"))
        self.assertGreater(self.run_js("return document.querySelectorAll('#answer-bars rect').length"), 1)
        self.assert_quiet()

    def test_no_width_scrolls_sideways(self):
        for name in PAGES:
            for width in (390, 760, 1000, 1440, 2200):
                self.open(name, width=width)
                with self.subTest(page=name, width=width):
                    self.assertLessEqual(self.sideways(), 0)
        self.open("gpt", width=1440)
        self.window.resize(390, 800)
        self.wait("document.querySelector('.timeline-wrap canvas').clientWidth < 390")
        self.assertLessEqual(self.sideways(), 0)

    def test_the_themes(self):
        self.open("gpt")
        seen = []
        for _ in range(2):
            seen.append(self.run_js(
                "const c = document.querySelector('.timeline-wrap canvas').getContext('2d').getImageData(1, 30, 1, 1).data;"
                "return [getComputedStyle(document.body).backgroundColor, `rgb(${c[0]}, ${c[1]}, ${c[2]})`]"))  # fmt: skip
            self.window.click("#theme")
        self.assertEqual({pair[0] for pair in seen}, {"rgb(255, 255, 255)", "rgb(17, 21, 26)"})
        self.assertEqual([pair[0] for pair in seen], [pair[1] for pair in seen])
        self.assert_quiet()


class Interactions(PageTest):
    def test_ticks_are_replayed_prices(self):
        self.open("ddp")
        findings = embedded(PAGES["ddp"])["views"]["findings"]
        answer = embedded(PAGES["ddp"])["views"]["answer"]
        gains = {mask: gain for mask, gain in findings["sets"]}
        self.assertGreaterEqual(len(findings["list"]), 2)
        first = self.run_js("return [...document.querySelectorAll('.finding input')].map(e => e.checked)")
        self.assertEqual(sum(first), 1)
        for box in self.run_js("return [...document.querySelectorAll('.finding input:checked')].map(e => e.id)"):
            self.window.click(f"#{box}")
        self.assertIn("Nothing is ticked", self.text("#outcome"))
        self.window.click("#tick-1")
        self.window.click("#tick-2")
        self.assertEqual(self.address(), "#answer=tick:1,2")
        left = (answer["step_ns"] - gains[3]) / 1e6
        self.assertIn(f"{left:.1f} ms", self.text("#outcome"))
        self.assertIn("2 ticked", self.text("#live"))
        self.go_back()
        self.assertEqual(self.address(), "#answer=tick:1")
        self.assertEqual(self.run_js("return [...document.querySelectorAll('.finding input:checked')].map(e => e.id)"), ["tick-1"])
        self.open("ddp", "#answer=tick:2")
        self.assertEqual(self.run_js("return [...document.querySelectorAll('.finding input:checked')].map(e => e.id)"), ["tick-2"])
        self.assert_quiet()

    def test_a_part_of_the_budget_opens(self):
        self.open("gpt")
        hidden = "return [...document.querySelectorAll('tr.place')].filter(e => !e.hidden).length"
        self.assertEqual(self.run_js(hidden), 0)
        self.window.click(".budget button.opens")
        self.assertGreater(self.run_js(hidden), 0)
        self.assertEqual(self.run_js("return document.querySelector('.budget button.opens').getAttribute('aria-expanded')"), "true")

    def test_what_a_step_has_more_or_less_adds_up(self):
        for name in ("gpt", "ddp"):
            self.open(name)
            self.run_js("document.querySelector('.steps-plot').focus()")
            for key in ("Home", "ArrowRight", "ArrowRight", "m", "s"):
                self.window.press(key)
                heading = self.text("#steps .steps-detail h3")
                if "left out" in heading:
                    continue
                rows = self.run_js(
                    "return [...document.querySelectorAll('.steps-detail tbody tr')].map(r => [r.cells[1].textContent, r.cells[2].textContent,"
                    "r.cells[3].textContent, r.cells[3].querySelector('.is-less') !== null])")  # fmt: skip
                whole = embedded(PAGES[name])["views"]["steps"]
                picked = int(re.search(r"tep ([\d,]+)", heading)[1].replace(",", ""))
                length = whole["length"][whole["number"].index(picked)] / 1e6
                self.assertAlmostEqual(sum(number(row[0]) for row in rows), length, delta=0.06, msg=heading)
                more = length - embedded(PAGES[name])["views"]["answer"]["median_ns"] / 1e6
                self.assertAlmostEqual(sum(number(row[2]) for row in rows), more, delta=0.06, msg=heading)
                for row in rows:
                    self.assertEqual(row[3], number(row[2]) < 0, row)

    def test_narrow_windows_keep_words_and_show_the_current_view(self):
        self.open("job", width=390)
        # Cells with text have room for a word.
        narrow = self.run_js(
            "return [...document.querySelectorAll('main tbody th, main tbody td:not(.n)')].filter(e => e.offsetParent && e.textContent.length > 3)"
            ".filter(e => e.getBoundingClientRect().width < 30).map(e => e.textContent)")  # fmt: skip
        self.assertEqual(narrow, [])
        cut = self.run_js("return [...document.querySelectorAll('#processes .scroll')].map(e => e.scrollWidth - e.clientWidth)")
        self.assertEqual(cut, [0, 0])
        self.run_js("document.querySelector('#notes').scrollIntoView()")
        self.wait("document.querySelector('nav a[aria-current]')?.hash === '#notes'")
        self.wait(
            "(a => a.left >= 0 && a.right <= innerWidth)(document.querySelector('nav a[aria-current]').getBoundingClientRect())"
        )

    def test_steps_are_picked(self):
        self.open("gpt")
        steps = embedded(PAGES["gpt"])["views"]["steps"]
        heading = "#steps .steps-detail h3"
        slowest = max((length, number) for length, number, counted in zip(steps["length"], steps["number"], steps["counted"]) if counted)[1]
        self.assertTrue(self.text(heading).startswith(f"Step {slowest}, the slowest"), self.text(heading))
        self.run_js("document.querySelector('.steps-plot').focus()")
        self.window.press("Home", "ArrowRight", "ArrowRight")
        self.assertEqual(self.address(), f"#steps={steps['number'][2]}")
        self.assertIn(f"Step {steps['number'][2]}", self.text(heading))
        self.window.press("m")
        self.assertIn("the median", self.text(heading))
        self.window.press("s")
        self.assertIn("the slowest", self.text(heading))
        self.assertIn("the slowest", self.text("#live"))
        self.go_back()
        self.assertIn("the median", self.text(heading))
        # A click picks the bar below it.
        box = self.run_js("document.querySelector('#steps').scrollIntoView(); const r = [...document.querySelectorAll('.steps-plot rect')].filter(e => e.style.fill.includes('--forward'))[4].getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]")  # fmt: skip
        self.window.point(*box)
        fifth = [number for number, counted in zip(steps["number"], steps["counted"]) if counted][4]
        self.assertIn(f"Step {fifth} ", self.text(heading))
        # The parts of a step are those of the data.
        shown = {row[0]: number(row[1]) for row in self.run_js("return [...document.querySelectorAll('.steps-detail tbody tr')].map(r => [r.cells[0].textContent, r.cells[1].textContent])")}  # fmt: skip
        index = steps["number"].index(fifth)
        results = embedded(PAGES["gpt"])
        for column in steps["parts"]:
            name = results["parts"][column["part"]]["name"]
            if name in shown:
                self.assertAlmostEqual(shown[name], column["time"][index] * steps["unit_ns"] / 1e6, delta=0.006)

    def test_one_slow_step_among_many_is_seen(self):
        self.open("long")
        self.assertIn(f"Step {SLOW_STEP:,}, the slowest", self.text("#steps .steps-detail h3"))
        self.assertFalse([text for text in self.texts("#steps svg text") if "NaN" in text])
        # The bars fill the width that they have.
        edges = self.run_js("const r = [...document.querySelectorAll('.steps-plot rect')].filter(e => e.style.fill.includes('--forward')).map(e => e.getBoundingClientRect()); const s = document.querySelector('.steps-plot').getBoundingClientRect(); return [Math.min(...r.map(e => e.left)) - s.left, Math.max(...r.map(e => e.right)) - s.left, s.width]")  # fmt: skip
        self.assertGreater((edges[1] - edges[0]) / edges[2], 0.6)
        self.window.run("document.querySelector('.steps-plot').focus()")
        self.window.press("ArrowLeft", "m", "s")
        self.assertIn(f"Step {SLOW_STEP:,}", self.text("#steps .steps-detail h3"))
        self.assert_quiet()

    def test_steps_are_zoomed_by_dragging(self):
        self.open("gpt")
        left, right, y = self.run_js("document.querySelector('#steps').scrollIntoView(); const r = [...document.querySelectorAll('.steps-plot rect')].filter(e => e.style.fill.includes('--forward')).map(e => e.getBoundingClientRect()); return [r[5].left + 2, r[14].left + 2, r[5].top + 4]")  # fmt: skip
        self.window.point(left, y, (right, y))
        self.assertRegex(self.address(), r"^#steps=\d+-\d+$")
        bars = "return new Set([...document.querySelectorAll('.steps-plot rect')].filter(e => e.style.fill.includes('--forward')).map(e => e.getAttribute('x'))).size"
        self.assertEqual(self.run_js(bars), 10)
        self.run_js("document.querySelector('.steps-plot').focus()")
        self.window.press("Escape")
        self.assertGreater(self.run_js(bars), 10)

    def test_where_zooms_and_searches(self):
        self.open("gpt")
        tree = embedded(PAGES["gpt"])["views"]["where"]["nodes"]
        child = max(tree["children"], key=lambda node: sum(node["gpu_ns"]))
        self.run_js("document.querySelector('#where').scrollIntoView()")
        self.window.click("#where .cell:nth-of-type(2)")
        self.assertEqual(self.address().replace("+", " "), "#where=" + child["name"].replace("+", " "))
        self.assertIn(child["name"], self.text("#where .chain"))
        self.window.press("Backspace")
        self.assertEqual(self.address(), "#where")
        self.window.click("#where .cell:nth-of-type(2)")
        self.window.click("#where .cell:nth-of-type(1)")  # what is shown as the root leads out
        self.assertEqual(self.address(), "#where")
        self.run_js("document.querySelector('#where .cell').focus()")
        self.window.press("ArrowDown", "Enter")
        self.assertIn(child["name"], self.text("#where .chain"))
        self.go_back()
        self.assertTrue(self.run_js("return document.querySelector('#where .chain').hidden"))
        self.window.click("#where input[type=search]")
        self.window.press("mlp")
        self.assertGreater(self.run_js("return document.querySelectorAll('#where .cell.is-hit').length"), 0)
        self.assertTrue(all("mlp" in text for text in self.texts("#where .tree-table tbody th")))
        self.window.press("Escape")
        self.assertEqual(self.run_js("return document.querySelectorAll('#where .cell.is-dim').length"), 0)
        before = self.texts("#where .cell text")
        self.window.click("#where .switch button[aria-pressed=false]:last-child")
        self.window.click("#where .end .switch:last-child button[aria-pressed=false]")
        self.assertNotEqual(self.texts("#where .cell text"), before)
        self.assert_quiet()

    def test_one_cell_of_the_icicle_is_in_the_tab_order(self):
        self.open("gpt")
        count = "return document.querySelectorAll('#where .cell[tabindex=\"0\"]').length"
        self.assertEqual(self.run_js(count), 1)
        self.run_js("document.querySelector('#where .cell').focus()")
        self.window.press("ArrowDown", "ArrowDown", "ArrowRight")
        self.assertEqual(self.run_js(count), 1)
        self.assertEqual(self.run_js("return document.activeElement.getAttribute('tabindex')"), "0")

    def test_kernels_are_sorted_searched_and_opened(self):
        self.open("gpt")
        rows = embedded(PAGES["gpt"])["views"]["kernels"]["rows"]
        column = "return [...document.querySelectorAll('.kernel-table tbody tr')].map(r => [r.cells[0].textContent, r.cells[2].textContent])"
        self.window.click(".kernel-table button[data-sort=mean]")
        shown = self.run_js(column)
        best = sorted(rows, key=lambda row: -row["mean_ns"])[:12]
        self.assertEqual([row[0] for row in shown], [row["short"] for row in best])
        self.assertEqual(self.run_js("return document.querySelector('.kernel-table [aria-sort]').getAttribute('aria-sort')"), "descending")
        self.assertEqual(self.address(), "#kernels?sort=mean")
        self.window.click(".kernel-table button[data-sort=mean]")
        self.assertEqual(self.run_js(column)[0][0], min(rows, key=lambda row: row["mean_ns"])["short"])
        self.open("gpt", "#kernels?q=nvjet&sort=launches")
        self.assertTrue(all("nvjet" in text for text in self.texts(".kernel-table tbody button")))
        self.assertEqual(self.run_js("return document.querySelector('#kernels input').value"), "nvjet")
        self.window.click(".kernel-table tbody button")
        self.assertGreater(self.run_js("return document.querySelectorAll('.kernel-open svg rect').length"), 0)
        name = self.text(".kernel-open .whole")
        self.assertIn(name, [row["name"] for row in rows])
        counts = next(row for row in rows if row["name"] == name)["histogram"]["counts"]
        self.assertEqual(self.run_js("return document.querySelectorAll('.kernel-open svg rect').length"), len(counts))
        self.window.press("ArrowDown")
        self.window.press("Enter")
        self.assertNotEqual(self.text(".kernel-open .whole"), name)
        self.window.click("#kernels input")
        self.window.press("no such kernel")
        self.assertIn("no such kernel", self.text("#kernels .why"))
        self.assert_quiet()

    def test_more_kernels_are_shown(self):
        self.open("gpt")
        rows = embedded(PAGES["gpt"])["views"]["kernels"]["rows"]
        self.window.click("#kernels .more button")
        self.assertEqual(len(self.texts(".kernel-table tbody tr")), min(52, len(rows)))

    def test_lines_and_counters(self):
        causes = embedded(PAGES["gpt"])["causes"]
        line = {"cause": causes[0]["name"], "cause_key": causes[0]["key"], "steps": 3, "longest_ns": 3e6, "gain_ns": 0}
        lines = {"rows": [{**line, "line": f"train.py:{at}", "code": f"call{at}", "ns": at * 1e5, "count": 100 - at,
                           "stack": "main → <b>f</b>"} for at in range(1, 21)]}  # fmt: skip
        counters = {"rows": [{"name": "loss", "unit": "", "first": 10.9, "median": 9.8, "last": 9.1, "count": 3,
                              "time_ns": [0, 1e9, 2e9], "value": [10.9, 9.8, 9.1]}]}  # fmt: skip
        self.open(page_with("gpt", {"lines": lines, "counters": counters}))
        self.assertTrue(self.texts("#lines tbody th")[0].startswith("train.py:20"))
        self.assertEqual(len(self.texts("#lines tbody tr")), 12)
        self.window.click("#lines button[data-sort=count]")
        self.assertTrue(self.texts("#lines tbody th")[0].startswith("train.py:1c"))
        self.window.click("#lines .more button")
        self.assertEqual(len(self.texts("#lines tbody tr")), 20)
        self.window.click("#lines input")
        self.window.press("call7")
        self.assertEqual(len(self.texts("#lines tbody tr")), 1)
        self.assertEqual(self.texts("#lines b"), [])
        self.assertEqual(self.texts("#counters tbody td.n"), ["10.90", "9.800", "9.100"])
        points = self.run_js("return document.querySelector('#counters polyline').getAttribute('points').split(' ').map(p => p.split(',').map(Number))")
        self.assertEqual([x for x, _ in points], [0, 160, 320])
        self.assertTrue(points[0][1] < points[1][1] < points[2][1])
        self.assertEqual(self.serious(), [])
        self.assert_quiet()

    def test_a_view_that_fails_leaves_the_plain_tables(self):
        name = page_with("gpt", {"lines": {"rows": [None]}})
        self.open(name)
        self.assertEqual(self.texts("#lines .plain"), ["plain"])
        self.assertTrue(any("lines" in message for message in self.window.messages))
        self.assertGreater(len(self.texts(".kernel-table tbody tr")), 5)

    def test_the_timeline_zooms_and_explains(self):
        self.open("gpt")
        say = "#timeline .timeline-say"
        self.run_js("document.querySelector('.timeline-wrap').focus()")
        self.window.press("n")
        self.assertIn("The GPU is idle for", self.text(say))
        self.assertIn("Gap 1 of", self.text(say))
        self.window.press("n", "n", "p")
        self.assertIn("Gap 2 of", self.text(say))
        self.wait("/^#timeline=median:[\\d.]+-[\\d.]+&sel=\\d+\\.\\d+$/.test(location.hash)")
        self.window.press("0")
        self.window.press("+", "+", "+")
        self.wait("/^#timeline=median:/.test(location.hash)")
        _, data = self.text(say), embedded(PAGES["gpt"], "timeline-0")
        stream = next(index for index, lane in enumerate(data["lanes"]) if lane["kind"] == "stream" and max(lane["call"]) >= 0)
        kernel = next(i for i, call in enumerate(data["lanes"][stream]["call"]) if call >= 0 and i > 30)
        self.open("gpt", f"#timeline=median&sel={stream}.{kernel}")
        name = data["strings"][data["lanes"][stream]["name"][kernel]]
        self.assertIn(name[:20], self.text(say))
        self.assertIn("after its launch began", self.text(say))
        self.window.click("#timeline .switch[aria-label=Step] button[aria-pressed=false]")
        self.wait("document.querySelector('.timeline-wrap').dataset.loaded === 'slowest'")
        self.assertIn("#timeline=slowest", self.address())
        self.assert_quiet()

    def test_the_critical_path_is_drawn_on_demand(self):
        data = embedded(PAGES["gpt"], "timeline-0")
        path = next(lane for lane in data["lanes"] if lane["kind"] == "path")
        self.open("gpt")
        dark = ("const c = document.querySelector('.timeline-wrap canvas'); const d = c.getContext('2d').getImageData(133, 30, c.width - 134, c.height - 30).data; let n = 0;"
                "for (let i = 0; i < d.length; i += 4) if (d[i] === 0x17 && d[i + 1] === 0x1c && d[i + 2] === 0x23) n += 1; return n")  # fmt: skip
        before = self.run_js(dark)
        self.run_js("[...document.querySelectorAll('#timeline button')].find(b => b.textContent === 'critical path').click()")
        # A line over all of the step but for what lies on no lane; pixels at ends of its pieces are mixed with others.
        on_lanes = sum(length for length, on in zip(path["length"], path["on"]) if on >= 0) / data["length_ns"]
        width = self.run_js("return document.querySelector('.timeline-wrap canvas').width") - 132
        self.assertGreater(self.run_js(dark) - before, width * on_lanes)
        self.assertIn("Critical path", self.text("#timeline .hint"))
        self.assertIn("path=1", self.address())
        lanes = self.run_js("return document.querySelector('.timeline-wrap canvas').clientHeight")
        self.run_js("[...document.querySelectorAll('#timeline button')].find(b => b.textContent === 'critical path').click()")
        self.assertEqual(self.run_js(dark), before)
        self.assertEqual(self.run_js("return document.querySelector('.timeline-wrap canvas').clientHeight"), lanes)
        self.assert_quiet()

    def test_a_click_on_the_timeline_picks_what_is_there(self):
        self.open("gpt")
        data = embedded(PAGES["gpt"], "timeline-0")
        self.run_js("document.querySelector('#timeline').scrollIntoView()")
        left, top, width, height = self.run_js("const r = document.querySelector('.timeline-wrap canvas').getBoundingClientRect(); return [r.left, r.top, r.width, r.height]")  # fmt: skip
        # The phases are the first lane below the axis.
        phase = next(lane for lane in data["lanes"] if lane["kind"] == "phases")
        start, longest = 0, max(phase["length"])
        for difference, length in zip(phase["start"], phase["length"]):
            start += difference
            if length == longest:
                break
        x = left + 132 + (start + longest / 2) / data["length_ns"] * (width - 132)
        self.window.point(x, top + 50)
        name = data["strings"][phase["name"][phase["length"].index(longest)]]
        self.assertIn(name, self.text("#timeline .timeline-say"))
        self.assertIn("takes", self.text("#timeline .timeline-say"))

    def test_the_wheel_scrolls_the_page_unless_control_is_held(self):
        self.open("gpt")
        changes = self.run_js(
            "const c = document.querySelector('.timeline-wrap canvas'); const r = [];"
            "for (const ctrlKey of [false, true]) { const e = new WheelEvent('wheel', {deltaY: -100, ctrlKey, clientX: 700, bubbles: true, cancelable: true}); c.dispatchEvent(e); r.push(e.defaultPrevented); } return r")  # fmt: skip
        self.assertEqual(changes, [False, True])

    def test_keys(self):
        self.open("gpt")
        self.window.press("?")
        self.assertTrue(self.run_js("return document.querySelector('dialog').open"))
        self.window.press("Escape")
        self.assertFalse(self.run_js("return document.querySelector('dialog').open"))
        links = self.run_js("return [...document.querySelectorAll('header nav a')].map(a => a.getAttribute('href'))")
        for index, link in enumerate(links[:9]):
            self.window.press(str(index + 1))
            self.assertEqual(self.run_js("return location.hash"), link)
        self.run_js("document.querySelector('#kernels').scrollIntoView()")
        self.window.press("/")
        self.assertEqual(self.run_js("return document.activeElement.getAttribute('aria-label')"), "Search kernels")
        self.window.press("3?m")
        self.assertEqual(self.run_js("return document.activeElement.value"), "3?m")
        self.window.press("Escape")
        self.assertEqual(self.run_js("return document.activeElement.value"), "")

    def test_terms_explain_themselves(self):
        self.open("gpt")
        self.run_js("document.querySelector('button.term').focus()")
        self.assertGreater(len(self.text("#tip")), 20)
        self.assertEqual(self.run_js("return document.activeElement.getAttribute('aria-describedby')"), "tip")
        self.window.press("Escape")
        self.assertIsNone(self.text("#tip"))

    def test_numbers_are_copied(self):
        self.open("gpt")
        self.record_files()
        results = embedded(PAGES["gpt"])
        for view in ("answer", "steps", "where", "kernels", "timeline"):
            self.run_js("delete window.copied; [...document.querySelectorAll($0 + ' .actions button')].find(b => b.textContent === 'Copy as CSV').click();"
                        "await new Promise(r => setTimeout(r, 50))", f"#{view}")  # fmt: skip
            copied = self.run_js("return window.copied")
            self.assertGreater(copied.count("\r\n"), 3, view)
            if view == "steps":
                self.assertEqual(copied.count("\r\n"), results["views"]["steps"]["count"] + 1)

    def test_pictures_are_saved(self):
        self.open("gpt")
        for view in ("answer", "steps", "where", "timeline"):
            self.record_files()
            for kind in ("PNG", "SVG"):
                self.run_js("[...document.querySelectorAll($0 + ' .actions button')].find(b => b.textContent === 'Save as ' + $1)?.click();"
                            "await new Promise(r => setTimeout(r, 400))", f"#{view}", kind)  # fmt: skip
            sizes = self.run_js("return files.map(f => [f.type, f.size])")
            self.assertTrue(any(kind == "image/png" and size > 3000 for kind, size in sizes), (view, sizes))
            if view != "timeline":
                text = self.run_js("return await files.filter(f => f.type === 'image/svg+xml').at(-1).text()")
                self.assertNotIn("var(", text)
                self.assertIn('fill="rgb(74, 147, 220)"', text)  # forward, in the light theme
                self.assertTrue(self.run_js("return !new DOMParser().parseFromString($0, 'image/svg+xml').querySelector('parsererror')", text))
        self.assertEqual(self.window.messages, [])

    def test_addresses_survive_a_reload(self):
        self.open("gpt", "#steps=nonsense")
        self.open("gpt", "#timeline=none:1-0&sel=999.999")
        self.open("gpt", "#where=no/such/part")
        self.open("gpt", "#kernels=no%20such")
        self.open("gpt", "#%%%")
        self.assert_quiet()


class Readers(PageTest):
    def test_axe_finds_nothing_serious(self):
        for name in ("gpt", "ddp", "job", "without_gpu"):
            self.open(name)
            for theme in ("light", "dark"):
                self.run_js("for (const d of document.querySelectorAll('details')) d.open = true; document.querySelector('.kernel-table tbody button')?.click()")
                with self.subTest(page=name, theme=theme):
                    self.assertEqual(self.serious(), [])
                self.window.click("#theme")

    def test_there_is_one_heading_and_one_a_view(self):
        self.open("gpt")
        self.assertEqual(len(self.texts("h1")), 1)
        sections = self.run_js("return [...document.querySelectorAll('section.view')].map(s => [s.id, s.querySelectorAll('h1, h2').length])")
        self.assertTrue(sections)
        for name, count in sections:
            self.assertEqual(count, 1, name)

    def test_without_javascript_it_can_be_read(self):
        text = PAGES["gpt"].read_text(encoding="utf-8")
        results = embedded(PAGES["gpt"])
        plain = Texts(text)
        self.assertEqual(plain.texts["h1"], [results["views"]["answer"]["sentence"]])
        tables = " ".join(plain.texts["table"])
        for word in ("forward", "backward", results["views"]["kernels"]["rows"][0]["short"][:20]):
            self.assertIn(word, tables)
        whole = " ".join(plain.texts["main"])
        for finding in results["views"]["findings"]["list"][:3]:
            self.assertIn(f"{finding['gain_ns'] / 1e6:.2f}", whole)
        # The same in the browser, without the script.
        bare = pathlib.Path(FOLDER.name) / "bare.html"
        bare.write_text(re.sub(r"<script>.*?</script>", "", text, flags=re.S), encoding="utf-8")
        for width in (390, 1440):
            self.window.resize(width, 900)
            self.window.open(bare.as_uri())
            self.assertLessEqual(self.sideways(), 0)
            self.assertGreater(self.run_js("return [...document.querySelectorAll('table')].filter(t => t.offsetHeight > 0).length"), 3)
        self.assertEqual(self.window.messages, [])

    def test_it_prints(self):
        self.open("gpt")
        self.window.click("#theme")
        pdf = pathlib.Path(FOLDER.name) / "page.pdf"
        self.window.print_page(pdf)
        self.assertTrue(pdf.read_bytes().startswith(b"%PDF"))
        self.assertGreater(pdf.stat().st_size, 20000)
        self.run_js("dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(self.run_js("return [...document.querySelectorAll('details')].filter(d => !d.open).length"), 0)
        corner = "const c = document.querySelector('.timeline-wrap canvas').getContext('2d').getImageData(1, 30, 1, 1).data; return Array.from(c.slice(0, 3))"
        self.assertEqual(self.run_js(corner), [255, 255, 255])
        self.run_js("dispatchEvent(new Event('afterprint'))")
        self.assertEqual(self.run_js(corner), [17, 21, 26])
        self.assertGreater(self.run_js("return [...document.querySelectorAll('details')].filter(d => !d.open).length"), 0)
        self.assertEqual(self.window.messages, [])


class Hostile(PageTest):
    def test_names_are_shown_and_never_run(self):
        for width in (390, 1440):
            self.open("hostile", width=width)
            self.assertIsNone(self.run_js("return window.harmed ?? null"))
            self.assertEqual(self.run_js("return document.querySelectorAll('img, iframe, object, embed, link, base').length"), 0)
            self.assertEqual(self.run_js("return document.querySelectorAll('main script').length"), 0)
            self.assertLessEqual(self.sideways(), 0)
            self.run_js("for (const b of document.querySelectorAll('#kernels .more button')) b.click()")
            shown = " ".join(self.texts(".kernel-table tbody button"))
            self.assertIn("<img src=x", shown)
            self.assertIn("</script>", shown)
            self.assertNotRegex(shown, "[\u202e\u2066\x1b\x07]")
            for index in range(len(self.texts(".kernel-table tbody button.mono"))):
                self.run_js("document.querySelectorAll('.kernel-table tbody button.mono')[$0].click()", index)
            self.run_js("for (const c of [...document.querySelectorAll('#where .cell')]) c.dispatchEvent(new MouseEvent('click', {bubbles: true}))")
            self.assertIsNone(self.run_js("return window.harmed ?? null"))
            self.assert_quiet()

    def test_the_policy_forbids_what_could_leak(self):
        policy = self.run_in_page("return document.querySelector('meta[http-equiv=\"Content-Security-Policy\"]').content")
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe-eval", policy)
        self.assertNotRegex(policy, r"script-src[^;]*unsafe-inline")
        refused = self.run_in_page(
            "const made = document.createElement('script'); made.textContent = 'window.harmed = 2'; document.body.append(made);"
            "let left = 'refused'; try { await fetch('data:text/plain,x'); left = 'sent'; } catch {} return [window.harmed ?? null, left]")  # fmt: skip
        self.assertEqual(refused, [None, "refused"])

    def run_in_page(self, script):
        self.open("gpt")
        return self.run_js(script)


class SeededDefects(PageTest):
    """The checks above fail where they should."""

    def test_a_message_is_seen(self):
        self.open("gpt")
        self.run_js("console.error('seeded')")
        with self.assertRaises(AssertionError):
            self.assert_quiet()

    def test_a_request_is_seen(self):
        self.open("gpt")
        self.run_js("document.body.append(Object.assign(document.createElement('img'), {src: 'blob:nothing'}))")
        bare = pathlib.Path(FOLDER.name) / "request.html"
        bare.write_text("<!doctype html><title>x</title><img src='http://127.0.0.1:61234/x.png'>", encoding="utf-8")
        self.window.open(bare.as_uri())
        with self.assertRaises(AssertionError):
            self.assert_quiet()

    def test_what_scrolls_sideways_is_seen(self):
        self.open("gpt", width=390)
        self.run_js("const d = document.createElement('div'); d.style.width = '900px'; d.textContent = 'wide'; document.querySelector('main').append(d)")
        self.assertGreater(self.sideways(), 0)

    def test_a_control_without_a_name_is_seen(self):
        self.open("gpt")
        self.run_js("document.querySelector('.finding input').removeAttribute('aria-label')")
        self.assertIn("label", [violation[1] for violation in self.serious()])

    def test_pale_text_is_seen(self):
        self.open("gpt")
        self.run_js("document.documentElement.style.setProperty('--muted', '#c8ccd2')")
        self.assertIn("color-contrast", [violation[1] for violation in self.serious()])


if __name__ == "__main__":
    if NAME not in browser.available():
        print(f"SKIPPED: no {NAME} on this machine: cmake/setup.sh browsers installs it")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
