"""Results, sweeps, plans and what they show."""

from __future__ import annotations

import datetime
import json
import os
import tempfile
import warnings
from typing import Any

import numpy as np
import pytest

import ridgeline as rl

from conftest import having


def test_overrides_of_files_mappings_and_results(small: dict[str, Any], tmp_path: Any) -> None:
    r = rl.run(**small)
    assert rl.run(r.config) == r and rl.run(r) == r
    assert rl.run(r.config, gpu="h200").config["gpu"] != r.config["gpu"]
    path = tmp_path / "scenario.yaml"
    path.write_text("model: llama-3.1-8b\ngpu: h100\nengine: vllm@0.10\nworkload: {request_rate: 8, num_prompts: 20, "
                    "input_len: 99, output_len: 9}\n")
    wide = rl.run(path, tensor_parallel_size=2)
    assert wide.config["engine"]["tensor_parallel_size"] == 2 and "0.10" in wide.config["engine"]["version"]
    assert rl.run(str(path), seed=4).config["seed"] == 4


def test_targets_as_text_and_timedelta(small: dict[str, Any]) -> None:
    limits: tuple[Any, ...] = ("50ms", "0.05s", datetime.timedelta(milliseconds=50))
    runs = [rl.run(**small, slo_ttft=limit) for limit in limits]
    assert len({json.dumps(run.to_dict()["summary"]["slo"]) for run in runs}) == 1
    assert runs[0].summary.slo is not None and runs[0].summary.slo.ttft is not None
    assert runs[0].summary.slo.ttft.met in (True, False)


def test_numpy_scalars_are_numbers(small: dict[str, Any]) -> None:
    assert rl.run(**having(small, request_rate=np.float64(20), num_prompts=np.int64(200))) == rl.run(**small)


def test_series_figures_and_reports(small: dict[str, Any], tmp_path: Any) -> None:
    r = rl.run(**small, series=True)
    assert r.series.gauges.running.mean[0] >= 0 and r.to_dict()["series"]["windows"] == r.series.windows
    assert set(r.figures) >= {"distributions", "clock"}
    assert r.figure("distributions")._repr_svg_().startswith("<svg")
    with pytest.raises(rl.ConfigError, match="expected one of: distributions"):
        r.figure("ttft_cdf")
    bare = rl.run(**small, figures=False)
    with pytest.raises(rl.ConfigError, match="html"):
        bare.report("html")
    html = r._repr_html_()
    assert len(html) <= 80_000 and "<script" not in html and "<table>" in html and "<svg" in html
    for ending in ("json", "html", "csv", "md", "txt"):
        r.save(tmp_path / f"run.{ending}")
    assert rl.load(tmp_path / "run.json") == r and rl.load(str(tmp_path / "run.html")).digest == r.digest
    with pytest.raises(rl.ConfigError):
        r.save("run.bin")
    assert "TTFT" in repr(r)


def test_a_picture_is_svg_alone(small: dict[str, Any], tmp_path: Any) -> None:
    figure = rl.run(**small).figure("clock")
    for name in ("x.pdf", "x.png", "x.PNG"):
        with pytest.raises(rl.ConfigError, match=r"expected a name that ends in \.svg"):
            figure.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    figure.save(tmp_path / "x.svg")
    assert "var(" not in (tmp_path / "x.svg").read_text()


def test_sweeps_are_frames(small: dict[str, Any]) -> None:
    small.pop("request_rate")
    small.pop("gpu")
    seen: list[tuple[float, int, int]] = []
    s = rl.sweep(**small, gpu=["h100", "h200"], request_rate=[2, 4, 8], workers=2,
                 progress=lambda now, done, total: seen.append((now, done, total)))
    frame = s.to_pandas()
    assert len(s) == len(frame) == 6 and list(frame.columns[:3]) == ["gpu", "request_rate", "status"]
    assert seen[-1][1:] == (6, 6)
    single = rl.run(**small, gpu="h200", request_rate=4)
    row = frame[(frame.gpu == "h200") & (frame.request_rate == 4)].iloc[0]
    assert row["ttft_ms.p99"] == single.summary.ttft_ms.p99
    best = s.pareto("output_throughput", "tpot_ms.p50")
    assert 1 <= len(best) <= 6
    with pytest.raises(rl.ConfigError, match="no 'tpot'"):
        s.pareto("tpot")
    refused = rl.sweep(**small, gpu="h100", request_rate=2, tensor_parallel_size=[1, 3]).to_pandas()
    assert list(refused["status"]) == ["ok", "refused"] and "attention heads" in refused["reason"][1]
    with pytest.raises(rl.ConfigError, match="did you mean 'h200'"):
        rl.sweep(**small, gpu=["h100", "h2000"], request_rate=2)
    with pytest.raises(rl.ConfigError, match="nothing varies"):
        rl.sweep(**small, gpu="h100", request_rate=2)
    with pytest.raises(rl.ConfigError, match="workers: found 0"):
        rl.sweep(**small, gpu=["h100"], request_rate=2, workers=0)
    with pytest.raises(TypeError, match="on one thread"):
        rl.sweep(**small, gpu=["h100"], request_rate=2, instances=2, router=rl.Router())  # type: ignore[arg-type]


def test_step_explain_and_lists() -> None:
    parts = rl.step(model="llama-3.1-8b", gpu="h100", decode="700x32", prefill="0+2048").parts.to_pandas()
    assert {"operator", "phase"} <= set(parts.columns) and len(parts) > 5
    assert rl.explain(model="llama-3.1-8b", gpu="h100").memory.num_gpu_blocks > 1000
    assert "h100" in rl.gpus().to_pandas().name.tolist()
    compared = rl.step(model="llama-3.1-8b", gpu="h100", decode="700x32", compare=["kernel", "v0"])
    assert compared.to_dict()


def test_comparison(small: dict[str, Any]) -> None:
    a, b = rl.run(**small), rl.run(**having(small, gpu="h200"))
    c = rl.compare(a, b)
    assert c.paired and "gpu" in [change.key for change in c.settings]
    frame = c.to_pandas().set_index("key")
    assert frame.loc["ttft_ms.p99", "b"] == b.summary.ttft_ms.p99
    assert not rl.compare(a, rl.run(**having(small, seed=2))).paired
    with pytest.raises(TypeError):
        rl.compare(a, 3)  # type: ignore[arg-type]


def test_warnings_reach_python(small: dict[str, Any]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        r = rl.run(**having(small, request_rate=500, num_prompts=2000))
    told = [warning.code for warning in r.warnings if warning.code != "W-no-number"]
    assert told and told == [str(c.message).split(":")[0] for c in caught]
    assert all(issubclass(c.category, rl.ResultWarning) and c.filename == __file__ for c in caught)


def test_every_option_has_its_keyword() -> None:
    import inspect

    from ridgeline._options import OPTIONS

    names = set(inspect.signature(rl.run).parameters)
    assert set(OPTIONS) <= names
    assert {path for path, _ in OPTIONS.values()} == {option.name for option in rl.options()}
    assert all(f"{name}: " in (rl.run.__doc__ or "") for name in OPTIONS)


def test_progress_is_told(small: dict[str, Any]) -> None:
    seen: list[tuple[float, int, int]] = []
    rl.run(**having(small, num_prompts=20_000), requests=False, progress=lambda now, done, total: seen.append((now, done, total)))
    assert seen and seen[-1][2] == 20_000

    def stop(*_: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        rl.run(**having(small, num_prompts=20_000), progress=stop)


def test_the_cell_magic(small: dict[str, Any]) -> None:
    class Shell:
        user_ns: dict[str, Any] = {}

        def register_magic_function(self, function: Any, magic_kind: str, magic_name: str) -> None:
            self.magic = function

    shell = Shell()
    rl.load_ipython_extension(shell)
    r = shell.magic("found", "model: llama-3.1-8b\ngpu: h100\nworkload: {request_rate: 8, num_prompts: 20, "
                             "input_len: 99, output_len: 9}\n")
    assert shell.user_ns["found"] is r and r.summary.completed == 20


def test_trace_and_workload(tmp_path: Any) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text("".join(json.dumps({"arrival_s": i, "input_tokens": 10, "output_tokens": 5}) + "\n"
                            for i in range(9)))
    t = rl.trace(path)
    assert t.requests == 9 and "requests" in repr(t) and t._repr_html_()
    import pandas as pd

    frame = pd.DataFrame({"arrival_s": [0.0, 1.0], "input_tokens": [9, 9], "output_tokens": [3, 4]})
    assert rl.replay(requests_from=frame, model="llama-3.1-8b", gpu="h100").summary.total_output_tokens == 7
    before = set(os.listdir(tempfile.gettempdir()))
    with pytest.raises(rl.ConfigError, match="lacks output_tokens"):
        rl.replay(requests_from=[{"arrival_s": 0, "input_tokens": 3}], model="llama-3.1-8b", gpu="h100")
    assert not {name for name in set(os.listdir(tempfile.gettempdir())) - before if name.startswith("ridgeline-")}
