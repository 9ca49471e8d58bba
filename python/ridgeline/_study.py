"""Studies: hypotheses as files, which the laboratory's program runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from ._errors import ConfigError, InternalError, Problem
from ._result import Record

_USAGE = 2
_DIFFERS = 1
_ERROR = re.compile(r"error: (?:([\w.\[\]-]+): )?(.*)\n(?: --> ([^\n]*?)(?::(\d+):(\d+))?\n)?(?:hint: ([^\n]*))?")


class StudyReport(Record):
    """What a study found: claim, arms, tables, verdict_by_rule, because, finding and warnings.

    >>> StudyReport({"tables": {"steps": [{"batch": 1}, {"batch": 8}]}}).tables.steps[1].batch
    8
    """

    @property
    def frames(self) -> dict[str, Any]:
        """A DataFrame of each table, by its name."""
        import pandas as pd

        return {name: pd.DataFrame(rows) for name, rows in self._tree["tables"].items()}


class Study:
    """A study: a YAML file (lab/docs/studies.md), or the name of a published one, such as "h28".

    `run()` needs the program ridgeline-lab: the one that the variable RIDGELINE_LAB names, else the one beside the
    package's own program or on the path.

    >>> rl.Study("mine.yaml")
    <ridgeline.Study mine.yaml>
    """

    def __init__(self, file: str | os.PathLike[str]) -> None:
        self.file = os.fspath(file)

    def __repr__(self) -> str:
        return f"<ridgeline.Study {self.file}>"

    def run(
        self,
        *,
        model: str | None = None,
        gpu: str | None = None,
        bench_data: str | os.PathLike[str] | None = None,
        measured: str | os.PathLike[str] | None = None,
    ) -> StudyReport:
        """Runs it, here or with another network or GPU; `bench_data` and `measured` are as after `study run`."""
        words = [_program(), "study", "run", self.file, "--format", "json"]
        given = {"--model": model, "--gpu": gpu, "--bench-data": bench_data, "--measured": measured}
        for flag, value in given.items():
            words += [flag, os.fspath(value)] if value is not None else []
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode not in (0, _DIFFERS) or not done.stdout:
            raise (ConfigError if done.returncode == _USAGE else InternalError)(_problems(done.stderr))
        return StudyReport(json.loads(done.stdout))


def _program() -> str:
    named = os.environ.get("RIDGELINE_LAB")
    beside = Path(os.environ.get("RIDGELINE_PROGRAM") or Path(__file__).parent / "_lib" / "ridgeline")
    found = named or shutil.which("ridgeline-lab", path=str(beside.parent)) or shutil.which("ridgeline-lab")
    if not found:
        raise ConfigError((Problem(
            "RIDGELINE_LAB", "no ridgeline-lab is on the path", "`./dev lab` in a checkout of the sources builds it"),))
    return found


def _problems(text: str) -> tuple[Problem, ...]:
    """The errors of the command line.

    >>> print(*_problems("error: claim: missing\\n --> a.yaml:2:1\\nhint: state it\\n"))
    a.yaml:2:1: claim: missing (hint: state it)
    """
    found = [
        Problem(field or "", message, hint or "", file or "", int(line or 0), int(column or 0))
        for field, message, file, line, column, hint in _ERROR.findall(text)
    ]
    return tuple(found) or (Problem("", text.strip() or "ridgeline-lab gave no answer", ""),)
