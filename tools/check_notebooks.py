#!/usr/bin/env python3
"""Runs notebooks by nbconvert with an interpreter, and keeps their pages: no cell fails, no page has a script of ours.
Their code is typed: mypy --strict finds nothing.

    tools/check_notebooks.py out/python/venv/bin/python docs/notebooks out/python/notebooks
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


CONFIG = Path(__file__).resolve().parent.parent / "python" / "pyproject.toml"


def types_of(python: str, notebooks: list[Path], out: Path) -> str:
    """What mypy finds in the code of notebooks; lines of magic are no Python."""
    code = out / "code"
    code.mkdir(exist_ok=True)
    files = []
    for notebook in notebooks:
        cells = ["".join(cell["source"]) for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
        files.append(code / f"{notebook.stem}.py")
        files[-1].write_text("\n".join(cell for cell in cells if not cell.startswith("%%")) + "\n")
    done = subprocess.run([python, "-m", "mypy", "--config-file", str(CONFIG), "--cache-dir", str(out / "mypy"), *map(str, files)],
                          capture_output=True, text=True, cwd=code)
    return "" if done.returncode == 0 else done.stdout + done.stderr


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
    types = types_of(python, notebooks, out)
    for problem in problems:
        print(problem)
    print(f"{len(notebooks) - len(problems)} of {len(notebooks)} notebooks run")
    print(types or "their types hold under mypy --strict")
    return 1 if problems or types or not notebooks else 0


if __name__ == "__main__":
    sys.exit(main())
