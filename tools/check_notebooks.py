#!/usr/bin/env python3
"""Runs notebooks by nbconvert with an interpreter, and keeps their pages: no cell fails, no page has a script of ours.

    tools/check_notebooks.py out/python/venv/bin/python docs/notebooks out/python/notebooks
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def main() -> int:
    python, folder, out = str(Path(sys.argv[1]).absolute()), Path(sys.argv[2]), Path(sys.argv[3]).resolve()
    kernels = out / "jupyter" / "kernels" / "ridgeline"
    kernels.mkdir(parents=True, exist_ok=True)
    (kernels / "kernel.json").write_text(json.dumps({
        "argv": [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "ridgeline", "language": "python"}))
    environment = {**os.environ, "JUPYTER_PATH": str(out / "jupyter"), "PYTHONWARNINGS": "ignore"}

    def run(notebook: Path) -> str:
        done = subprocess.run(
            [python, "-m", "nbconvert", "--to", "html", "--execute", "--ExecutePreprocessor.kernel_name=ridgeline",
             "--template=basic", "--output-dir", str(out), str(notebook.resolve())],
            env=environment, capture_output=True, text=True, cwd=notebook.parent)
        if done.returncode != 0:
            return f"{notebook}: {done.stderr[-3000:]}"
        page = (out / f"{notebook.stem}.html").read_text()
        return f"{notebook}: its page has a script" if "<script" in page else ""

    notebooks = sorted(folder.glob("*.ipynb"))
    with ThreadPoolExecutor(2) as pool:
        problems = [problem for problem in pool.map(run, notebooks) if problem]
    for problem in problems:
        print(problem)
    print(f"{len(notebooks) - len(problems)} of {len(notebooks)} notebooks run")
    return 1 if problems or not notebooks else 0


if __name__ == "__main__":
    sys.exit(main())
