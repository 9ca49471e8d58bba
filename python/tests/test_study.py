"""Studies run by the laboratory's program, where it stands beside the tested one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import ridgeline as rl

from conftest import program

EXAMPLE = Path(__file__).parents[2] / "examples" / "studies" / "decode-by-ranks.yaml"


@pytest.fixture(autouse=True)
def laboratory(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Path(program()).with_name("ridgeline-lab")
    if not lab.exists():
        pytest.skip("ridgeline-lab does not stand beside the program: ./dev lab")
    monkeypatch.setenv("RIDGELINE_LAB", os.fspath(lab))


def test_tables_are_frames() -> None:
    pytest.importorskip("pandas")
    found = rl.Study(EXAMPLE).run()
    steps = found.frames["steps"]
    assert list(steps.batch) == [1, 8, 32, 64, 128, 256]
    assert found.verdict_by_rule == ("refuted" if steps.speedup.min() < 1.8 else "confirmed")
    faster = rl.Study(EXAMPLE).run(gpu="b200").frames["steps"]
    assert (faster.two_us < steps.two_us).all()


def test_problems_have_their_places(tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(EXAMPLE.read_text().replace("batch: batch\n      two", "batch: bach\n      two"))
    with pytest.raises(rl.ConfigError) as caught:
        rl.Study(path).run()
    problem = caught.value.errors[0]
    assert problem.field == "tables.steps.columns.batch" and problem.file == str(path) and problem.line > 20
    with pytest.raises(rl.ConfigError):
        rl.Study(tmp_path / "none.yaml").run()
