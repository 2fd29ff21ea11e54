# SPDX-License-Identifier: Apache-2.0
"""Makes a page from sample data and the sources of the scripts, until the writer does it."""
import base64, gzip, hashlib, html, json, re, sys
from pathlib import Path
WEB = Path(__file__).resolve().parents[2] / "src/export/page/web"
ORDER = "base formats colours elements address sets layout tips tables pictures answer steps where kernels lines timeline counters processes start".split()
TITLES = {"steps": "Every step", "where": "Where the time goes in the program", "kernels": "Kernels", "lines": "Lines of the program", "timeline": "One step in time", "counters": "Counters", "processes": "Processes", "notes": "Notes, and what was recorded", "terms": "Terms"}
def main(results, out, *timelines):
    data = json.loads(Path(results).read_text()); run = data["run"]; views = data["views"]
    script = "(() => {\n\"use strict\";\n" + "\n".join((WEB / f"{n}.js").read_text() for n in ORDER if (WEB / f"{n}.js").exists()) + "\n})();"
    esc = html.escape
    names = [n for n in ["answer", "processes", "steps", "where", "kernels", "lines", "timeline", "counters", "notes", "terms"] if n in views]
    parts = []
    for n in names:
        v = views[n]
        if n == "answer":
            parts.append(f'<section class="view" id="answer" data-view="answer" aria-labelledby="answer-title"><h1 id="answer-title">{esc(v["sentence"])}</h1><p class="lead">{esc(" ".join(v["lead"]))}</p><div class="figure" data-figure="answer"></div><table class="plain"><tr><td>plain budget</td></tr></table></section>')
            continue
        body = f'<div class="figure" data-figure="{n}"></div><p class="plain">plain</p>'
        if n == "terms": body = "<dl>" + "".join(f"<dt>{esc(a)}</dt><dd>{esc(b)}</dd>" for a, b in v["list"]) + "</dl>"
        if n == "notes": body = "<table>" + "".join(f'<tr><th scope="row">{esc(a)}</th><td>{esc(b)}</td></tr>' for a, b in v["recording"]) + "</table>"
        if v.get("why"): body = f'<p class="why">{esc(v["why"])}</p>'
        parts.append(f'<section class="view" id="{n}" data-view="{n}" aria-labelledby="{n}-title"><h2 id="{n}-title">{TITLES[n]}</h2>{body}</section>')
    blob = json.dumps(data).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    nav = "".join(f'<a href="#{n}">{n.capitalize()}</a>' for n in names if n != "terms")
    page = f'''<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{esc(run["title"])}</title><style>{(WEB / "page.css").read_text()}</style></head><body>
<header class="top"><div class="bar"><strong class="program">{esc(run["program"])}</strong><span class="facts">NVIDIA H200 · rank 0 · {esc(run["file"])}</span><nav aria-label="Views">{nav}</nav></div></header><main>{"".join(parts)}</main>
<script type="application/json" id="results">{blob}</script><script>{script}</script>'''
    for i, t in enumerate(timelines):
        page += f'<script type="text/plain" id="timeline-{i}" data-encoding="gzip-base64">{base64.b64encode(gzip.compress(Path(t).read_bytes())).decode()}</script>'
    Path(out).write_text(page + "</body></html>")
main(*sys.argv[1:])
