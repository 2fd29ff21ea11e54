# SPDX-License-Identifier: Apache-2.0
"""Unfinished comparison by hand: PROF=build/ci/bin/prof probe.py FIRST LAST. It is no test and is registered nowhere."""
import json, os, subprocess, sys, tempfile
import random_traces, written_reference as w
P=os.environ["PROF"]
def run(seed, doc=None, reports="gpu-projection,breakdown"):
    doc = doc or random_traces.trace(seed)
    f=f"{tempfile.gettempdir()}/oracle_{seed}.json"; json.dump(doc,open(f,"w"))
    r=subprocess.run([P,"report",f,"--report",reports,"--format","json"],capture_output=True,text=True)
    return doc, json.loads(r.stdout) if r.stdout.strip() not in ("","[]") else f"failed {r.returncode} {r.stderr}"
def diffs(doc, out):
    d=[]
    if isinstance(out,str): return ["failed: "+out]
    gp,bd=out
    b=w.Breakdown(doc); rows,process,totals=b.gpu_projection()
    def cmp(where, exp, got):
        for k,v in exp.items():
            g=got.get(k,"absent")
            if isinstance(v,float) or isinstance(g,float):
                if g=="absent" or g is None or abs(g-v)>1e-6*max(1,abs(v)): d.append(f"{where} {k}: expected {v}, got {g}")
            elif g!=v: d.append(f"{where} {k}: expected {v}, got {g}")
    got={r["path"]:r for r in gp["rows"]}
    for p,r in rows.items():
        if p in got: cmp("row "+p,r,got[p])
        elif not(p.startswith("(") and "/" not in p and r["ops"]==0): d.append(f"row {p} is missing; expected {r}")
    for p in got:
        if p not in rows: d.append(f"row {p} is unexpected: ops {got[p]['ops']}")
    gotp={r["path"]:r for r in gp["process_ranges"]}
    for p,r in process.items():
        if p in gotp: cmp("process "+p,r,gotp[p])
        else: d.append(f"process {p} missing")
    for p in gotp:
        if p not in process: d.append(f"process {p} unexpected")
    cmp("total",totals,gp)
    cmp("process",{"recorded_ns":b.last-b.first},gp["process"])
    if gp["answer"] is None: return d if b.devices else []
    cmp("answer",{"has_steps":b.has_steps},gp["answer"])
    if b.has_steps:
        if "step" in gp: cmp("step",b.step_summary(),gp["step"])
    if gp["answer"]["has_steps"]==b.has_steps and b.devices:
        rows,beside,spans=b.breakdown()
        total=sum(e-s for s,e in spans)*len(b.devices)
        cmp("breakdown",{"wall_ns":total,"devices":len(b.devices)},bd)
        g={}
        for r in bd["rows"]:
            k=(r["use"],r["part"] if r["use"]!="idle" else None)
            if k in g and r["use"]=="idle": g[k]["total_ns"]+=r["total_ns"]
            else: g[k]=dict(r)
        for k,v in rows.items():
            if k not in g:
                if sum(v) or beside[k]: d.append(f"breakdown {k} missing, expected {sum(v)} beside {beside[k]}")
                continue
            e={"total_ns":sum(v)}
            if k[0]!="idle": e["overlapped_ns"]=beside[k]
            cmp(f"breakdown {k}",e,g[k])
        for k in g:
            if k not in rows: d.append(f"breakdown {k} unexpected {g[k]['total_ns']}")
    return d
if __name__=="__main__":
    import collections
    lo,hi=int(sys.argv[1]),int(sys.argv[2]); bad=0
    for s in range(lo,hi):
        doc,out=run(s); d=diffs(doc,out)
        if d and "of PyTorch" not in d[0]: bad+=1; print(s,len(d),d[0][:300])
    print("bad",bad,"of",hi-lo)
