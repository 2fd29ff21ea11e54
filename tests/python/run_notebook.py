# SPDX-License-Identifier: Apache-2.0
"""Runs a notebook and prints as JSON what its cells show, a dictionary of texts by MIME type for each.

    run_notebook.py FILE

Where Jupyter is missing, each cell's statements run here, and its last expression is shown as Jupyter would.
"""
import ast
import json
import sys


def by_jupyter(path):
    import nbclient
    import nbformat

    notebook = nbformat.read(path, 4)
    nbclient.NotebookClient(notebook, timeout=200).execute()
    return [output["data"] for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs
            if output.output_type == "execute_result"]


def by_hand(path):
    scope, shown = {"__name__": "__main__"}, []
    for cell in json.load(open(path))["cells"]:
        if cell["cell_type"] != "code":
            continue
        body = ast.parse("".join(cell["source"])).body
        last = body.pop() if isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), path, "exec"), scope)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), path, "eval"), scope)
            html = getattr(value, "_repr_html_", None)
            shown.append({"text/plain": repr(value), **({"text/html": html()} if html else {})})
    return shown


if __name__ == "__main__":
    try:
        import nbclient  # noqa: F401

        run = by_jupyter
    except ImportError:
        run = by_hand
    print(json.dumps(run(sys.argv[1])))
