"""`ridgeline plan`: answers, refusals and exit codes, from outside."""

import json
import random
import signal
import time
import xml.etree.ElementTree

import pytest

SMALL = ["--model", "llama-3.1-8b", "--gpu", "h100,h200", "--tensor-parallel-size", "1", "--request-rate", "8",
         "--input-len", "512", "--output-len", "64", "--effort", "quick", "--objective", "gpus"]


def plan(ridgeline, *words):
    return ridgeline("plan", *SMALL, *words)


def without_run_info(done):
    answer = json.loads(done.stdout)
    del answer["run_info"]
    return answer


def test_answer_and_jobs(ridgeline):
    one = plan(ridgeline, "--slo-ttft", "500ms", "--slo-tpot", "50ms", "--format", "json", "--jobs", "1")
    assert one.returncode == 0, one.stderr
    answer = without_run_info(one)
    two = plan(ridgeline, "--slo-ttft", "500ms", "--slo-tpot", "50ms", "--format", "json", "--jobs", "2")
    assert without_run_info(two) == answer
    pick = next(c for c in answer["candidates"] if c["id"] == answer["answer"]["id"])
    assert pick["gpus"] == 1 and pick["how"] == "certified" and pick["p_feasible"] >= 0.9
    assert max(pick["p_feasible"], pick["p_best"]) < 1
    assert [s["verdict"] for s in pick["slo"]] == ["met", "met"]
    assert pick["certificate"]["windows"] >= 29
    refused = sum(r["count"] for r in answer["rejected"])
    assert len(answer["candidates"]) + refused == answer["search"]["points"]


def test_impossible_is_a_proof(ridgeline):
    start = time.monotonic()
    done = plan(ridgeline, "--slo-ttft", "1ms")
    assert time.monotonic() - start < 5  # A sanitizer's build is slow; the page has the figure.
    assert done.returncode == 4
    assert "cannot even without load" in done.stdout and "nearest" in done.stdout
    assert "0 requests simulated" in done.stdout


def test_bad_input_is_said_at_once(ridgeline):
    done = ridgeline("plan", "--model", "lama-3.1-8b", "--gpu", "h100,h2000", "--request-rate", "5", "--slo-ttft", "500",
                     "--objective", "money")
    assert done.returncode == 2
    for word in ("lama-3.1-8b", "h2000", "slo.ttft"):
        assert word in done.stderr, done.stderr


@pytest.mark.parametrize("words, said", [
    (["--instances", "10"], "cluster.instances: is what a plan finds itself"),
    (["--num-prompts", "10"], "workload.num_prompts: is what a plan finds itself"),
    (["--slo", "mlperf/llama3.1-8b"], "slo.ttft: beside the preset mlperf/llama3.1-8b"),
    (["--max-concurrency", "2"], "workload.max_concurrency: beside a request rate"),
])
def test_what_would_be_ignored_is_refused(ridgeline, words, said):
    done = plan(ridgeline, "--slo-ttft", "500ms", *words)
    assert done.returncode == 2 and said in done.stderr, done.stderr


def test_a_trace_without_a_99th_percentile_is_refused(ridgeline, tmp_path):
    trace = tmp_path / "short.csv"
    trace.write_text("arrival_s,input_tokens,output_tokens\n" + "".join(f"{i},100,10\n" for i in range(50)))
    done = ridgeline("plan", "--model", "llama-3.1-8b", "--gpu", "h100", "--slo-ttft", "500ms", "--trace", trace)
    assert done.returncode == 2 and "has 50 requests within 49 s, expected at least 100" in done.stderr


def test_prompts_that_the_engine_rejects_are_said(ridgeline):
    done = plan(ridgeline, "--slo-ttft", "500ms", "--max-model-len", "300")
    assert done.returncode == 4 and "4 would reject 100 % of the prompts: longer than max_model_len 300" in " ".join(
        done.stdout.split()), done.stdout


def test_bursts_are_warned_of(ridgeline):
    quiet = plan(ridgeline, "--slo-ttft", "500ms")
    bursts = plan(ridgeline, "--slo-ttft", "500ms", "--burstiness", "0.05")
    assert quiet.returncode == 0 and "W-bursts" not in quiet.stdout and "W-bursts" in bursts.stdout, bursts.stdout


LONE = ["--request-rate", "60", "--input-len", "300", "--output-len", "50", "--tp", "1"]


@pytest.mark.parametrize("target, most", [("25ms", 35), ("50ms", 4)])
def test_replicas_that_keep_prompts_apart_are_few(ridgeline, target, most):
    """A target near the TTFT of a lone prompt: one replica carries a hundredth of what it does among others."""
    done = ridgeline("plan", "--model", "llama-3.1-8b", "--gpu", "h100", *LONE, "--slo-ttft", target, "--effort", "quick",
                     "--format", "json")
    answer = json.loads(done.stdout)
    pick = next(c for c in answer["candidates"] if c["id"] == answer["answer"]["id"])
    assert done.returncode == 0 and pick["p_feasible"] >= 0.9 and pick["gpus"] <= most, pick

    def p99(replicas):
        run = ridgeline("run", "--model", "llama-3.1-8b", "--gpu", "h100", *LONE[:6], "--instances", str(replicas),
                        "--num-prompts", "10000", "--format", "json")
        return json.loads(run.stdout)["summary"]["ttft_ms"]["p99"]

    limit = float(target.removesuffix("ms"))
    # Half of them leaves too little room for the error of a prediction.
    assert p99(pick["gpus"]) < 0.95 * limit < p99(pick["gpus"] // 2)


@pytest.mark.parametrize("words, piece", [
    (["--gpu", "H100,h100"], "gpu: H100 and h100 are the same"),
    (["--gpu", "h100,"], '"gpu=h100," has an empty value'),
    (["--gpu", "h100", "--svg", "a.png"], "--svg: 'a.png' is no name of an SVG file, expected .svg"),
])
def test_slips_are_refused_by_name(ridgeline, words, piece):
    done = ridgeline("plan", "--model", "llama-3.1-8b", "--request-rate", "5", "--input-len", "64", "--output-len", "16",
                     "--slo-ttft", "500ms", *words)
    assert done.returncode == 2 and piece in done.stderr, done.stderr
    assert not (ridgeline.folder / "a.png").exists()


def test_unwritable_outputs_are_said_before_the_plan(ridgeline, tmp_path):
    (tmp_path / "file").write_text("x")
    for flag, path in (("--save-dir", "file/out"), ("--svg", "none/front.svg")):
        done = plan(ridgeline, "--slo-ttft", "500ms", flag, str(tmp_path / path), "--progress", "plain")
        assert done.returncode == 2 and flag in done.stderr, done.stderr
        assert "simulated" not in done.stderr and done.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_words_of_aiconfigurator(ridgeline):
    theirs = ridgeline("plan", "--model", "llama-3.1-8b", "--system", "h100", "--isl", "600", "--prefix", "88", "--osl", "64",
                       "--ttft", "500", "--tpot", "50", "--target-request-rate", "8", "--total-gpus", "8",
                       "--backend", "vllm", "--effort", "quick", "--format", "json", "--tensor-parallel-size", "1")
    assert theirs.returncode == 0, theirs.stderr
    question = json.loads(theirs.stdout)["question"]
    assert question["rate_rps"] == 8
    assert [t.get("ttft_ms") or t.get("tpot_ms") for t in question["slo"]] == [500, 50]


def test_explain_and_files(ridgeline):
    done = plan(ridgeline, "--slo-ttft", "500ms", "--explain", "1")
    assert done.returncode == 0 and "windows" in done.stdout
    assert plan(ridgeline, "--slo-ttft", "500ms", "--explain", "zzz").returncode == 2
    done = plan(ridgeline, "--slo-ttft", "500ms", "--save-dir", "out", "--deployment-target", "vllm")
    assert done.returncode == 0, done.stderr
    assert (ridgeline.folder / "out" / "top1" / "scenario.yaml").exists() and "W-earlier-plan" not in done.stdout
    # Rows of another question that stay in the folder are said to be of it.
    rows = sum(folder.name.startswith("top") for folder in (ridgeline.folder / "out").iterdir())
    done = plan(ridgeline, "--slo-ttft", "500ms", "--save-dir", "out", "--deployment-target", "vllm", "--top-n", rows - 1)
    assert f"out/top{rows} is of an earlier plan" in " ".join(done.stdout.replace("warning ", "").split()), done.stdout


def test_files_for_targets_without_a_router_in_common(ridgeline):
    done = plan(ridgeline, "--slo-ttft", "500ms", "--save-dir", "out", "--deployment-target", "vllm", "--deployment-target",
                "llm-d-helm")
    assert done.returncode == 2 and "routing policy in common" in done.stderr
    assert not (ridgeline.folder / "out").exists()
    done = plan(ridgeline, "--slo-ttft", "500ms", "--save-dir", "out", "--deployment-target", "kubernetes", "--router",
                "round-robin")
    assert done.returncode == 2 and "cluster.router.name" in done.stderr


def test_measure_sh(ridgeline):
    done = plan(ridgeline, "--slo-ttft", "500ms", "--save-dir", "out", "--what-to-measure")
    assert done.returncode == 0, done.stderr
    assert (ridgeline.folder / "out" / "measure.sh").read_text().startswith("#!/usr/bin/env bash")


def test_keys_of_the_result(ridgeline):
    done = plan(ridgeline, "--slo-ttft", "500ms", "--slo-tpot", "50ms", "--format", "json")
    answer = json.loads(done.stdout)
    assert {"schema_version", "run_info", "config", "question", "answer", "candidates", "pareto", "rejected", "sensitivity",
            "measure", "breakeven", "search", "warnings", "digest"} <= set(answer)
    pick = next(c for c in answer["candidates"] if c["id"] == answer["answer"]["id"])
    assert {"model", "gpu", "engine", "replicas", "disaggregation", "routing"} <= set(pick["deployment"])
    assert {"metric", "statistic", "target", "value", "lo", "hi", "exceed_share", "verdict"} <= set(pick["slo"][0])
    assert {"points", "by_stage", "requests_simulated"} <= set(answer["search"])
    assert sum(answer["search"]["by_stage"].values()) == answer["search"]["points"]
    assert all({"factor", "sd", "elasticity", "doubt_of_answer_pct"} <= set(s) for s in answer["sensitivity"])
    assert all("evsi_usd_per_month" in m for m in answer["measure"])
    assert answer["run_info"]["core_seconds"] > 0


MIX = """model: llama-3.1-8b
mix:
  chat: {request_rate: 12, input_len: 300, output_len: 100}
  documents: {request_rate: 2, input_len: 4000, output_len: 50}
space: {gpu: [l40s, h100], engine: {tensor_parallel_size: [1]}}
slo: {ttft: {p99: 2s}, tpot: {p99: 50ms}}
"""


def test_mix(ridgeline):
    (ridgeline.folder / "mix.yaml").write_text(MIX)
    done = ridgeline("plan", "mix.yaml", "--effort", "quick", "--format", "json")
    if done.returncode == 2 and "libCbcSolver" in done.stderr:
        assert "apt install coinor-libcbc3" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    mix = json.loads(done.stdout)["mix"]
    assert all(pool["certificate"]["holds"] for pool in mix["pools"])
    assert mix["cost"] <= mix["alone"]["cost"]
    done = ridgeline("plan", "mix.yaml", "--effort", "quick", "--save-dir", "out", "--deployment-target", "kubernetes", "--format", "json")
    saved = json.loads(done.stdout)["mix"]
    assert {key: value for key, value in saved.items() if key != "files"} == {key: value for key, value in mix.items() if key != "files"}
    assert mix["files"] == [] and saved["files"]
    for number, pool in enumerate(saved["pools"], 1):
        folder = ridgeline.folder / "out" / f"pool{number}"
        assert f"replicas: {pool['replicas']}" in (folder / "deployment.yaml").read_text()
        ran = ridgeline("run", folder / "scenario.yaml", "--num-prompts", "50", "--format", "json")
        assert json.loads(ran.stdout)["config"]["workload"]["request_rate"] == pytest.approx(pool["rate_rps"])
    (ridgeline.folder / "bad.yaml").write_text(MIX.replace("request_rate: 2,", ""))
    bad = ridgeline("plan", "bad.yaml", "--request-rate", "5")
    assert bad.returncode == 2 and "mix.documents.request_rate" in bad.stderr and "workload.request_rate" in bad.stderr


def test_sweep_measures_capacity(ridgeline):
    done = ridgeline("sweep", "run", "--model", "llama-3.1-8b", "--gpu", "h100", "--request-rate", "8", "--input-len", "512",
                     "--output-len", "64", "--slo-ttft", "300ms", "--axis", "max_num_batched_tokens=2048,8192", "--measure",
                     "capacity", "--store", "s", "-o", "c.csv")
    assert done.returncode == 0, done.stderr
    assert "capacity_rps" in (ridgeline.folder / "c.csv").read_text()


def test_what_to_measure(ridgeline):
    close = [*SMALL, "--slo-tpot", "12ms", "--slo-ttft", "200ms"]
    everything = ridgeline("plan", *close, "--what-to-measure")
    assert everything.returncode == 0, everything.stderr
    kernels = ridgeline("kernels", "plan", *close)
    assert kernels.returncode == 0, kernels.stderr
    for done in (everything, kernels):
        assert "worth measuring" in done.stdout or "changes the answer with" in done.stdout
    assert "vllm bench" not in kernels.stdout
    answer = json.loads(ridgeline("plan", *close, "--format", "json").stdout)
    assert {m["what"].split(",")[0] for m in answer["measure"]} >= {"first token of a lone prompt"}
    assert all(0 <= m["changes_answer_probability"] <= 1 and m["command"] for m in answer["measure"])


def test_store_resumes_with_the_same_bytes(ridgeline, tmp_path):
    words = ["--slo-ttft", "500ms", "--format", "json", "--jobs", "1"]
    whole = plan(ridgeline, *words)
    store = tmp_path / "store"
    kept = plan(ridgeline, *words, "--store", str(store))
    assert without_run_info(kept) == without_run_info(whole)
    files = list((store / "evaluations").iterdir())
    assert len(files) == 1
    lines = files[0].read_text().splitlines(keepends=True)
    # As a kill leaves it: half of the lines, the last one torn.
    files[0].write_text("".join(lines[: len(lines) // 2]) + lines[-1][:20])
    resumed = plan(ridgeline, *words, "--store", str(store))
    assert without_run_info(resumed) == without_run_info(whole)
    assert plan(ridgeline, *words, "--store", "/dev/null").returncode == 2


def test_interrupt_gives_the_best_so_far(ridgeline):
    store = ridgeline.folder / "store"
    process = ridgeline.start("plan", *[w if w != "quick" else "full" for w in SMALL], "--slo-ttft", "500ms", "--jobs", "1", "--format", "json",
                              "--store", "store")
    end = time.monotonic() + 60
    while time.monotonic() < end and sum(file.stat().st_size for file in store.glob("evaluations/*")) == 0:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    answer = json.loads(output)
    assert answer["partial"] is True
    assert answer["ranking"], "the store has a point, so the answer has one"


def test_picture(ridgeline, tmp_path):
    drawn = tmp_path / "plan.svg"
    done = plan(ridgeline, "--slo-ttft", "500ms", "--svg", str(drawn))
    assert done.returncode == 0, done.stderr
    marks = xml.etree.ElementTree.fromstring(drawn.read_text()).iter("{http://www.w3.org/2000/svg}title")
    assert sum(1 for _ in marks) >= 2


def test_splits_and_routing_run_through_the_fleet(ridgeline, tmp_path):
    question = tmp_path / "plan.yaml"
    question.write_text("""
model: llama-3.1-8b
workload: {request_rate: 60, input_len: 1000, output_len: 16}
space:
  gpu: [h100]
  engine: {tensor_parallel_size: [1], max_num_batched_tokens: [8192]}
  disaggregation: [none, {prefill: 2, decode: 1}]
  routing: [round-robin, random]
slo: {ttft: {p99: 400ms}, tpot: {p99: 20ms}}
objective: gpus
""")
    done = ridgeline("plan", str(question), "--effort", "quick", "--format", "json")
    assert done.returncode == 0, done.stderr + done.stdout
    answer = json.loads(done.stdout)
    assert answer["search"]["points"] == 4
    certified = [c for c in answer["candidates"] if c["how"] == "certified"]
    assert certified
    for candidate in answer["candidates"]:
        split = candidate["deployment"]["disaggregation"]
        parts = 1 if split == "none" else 3
        if candidate["deployment"]["replicas"]:
            assert candidate["gpus"] == parts * candidate["deployment"]["replicas"], candidate["deployment"]
    wrong = question.read_text().replace("random]", "at-random]")
    question.write_text(wrong)
    refused = ridgeline("plan", str(question))
    assert refused.returncode == 2 and "at-random" in refused.stderr


ENGINES = ("vllm", "sglang", "tensorrt-llm")
OWN_BUDGET = {"vllm": "max_num_batched_tokens", "sglang": "chunked_prefill_size", "tensorrt-llm": "max_num_tokens"}


@pytest.mark.parametrize("asked", ["sglang", "tensorrt-llm", "vllm,sglang", "all"])
def test_engines_are_searched_each_with_its_own_settings(ridgeline, asked):
    done = plan(ridgeline, "--slo-ttft", "500ms", "--engine", asked, "--format", "json")
    assert done.returncode == 0, done.stderr
    candidates = json.loads(done.stdout)["candidates"]
    wanted = ENGINES if asked == "all" else tuple(asked.split(","))
    names = {candidate["deployment"]["engine_version"].split("@")[0] for candidate in candidates}
    assert names == set(wanted)
    for candidate in candidates:
        name = candidate["deployment"]["engine_version"].split("@")[0]
        own = set(candidate["deployment"]["engine"]) & set(OWN_BUDGET.values())
        assert own == {OWN_BUDGET[name]}, candidate["deployment"]


def test_a_stated_axis_is_of_the_engines_that_have_it(ridgeline):
    done = plan(ridgeline, "--slo-ttft", "500ms", "--engine", "vllm,sglang", "--axis", "max_num_seqs=32,64",
                "--max-running-requests", "48", "--format", "json")
    assert done.returncode == 0, done.stderr
    for candidate in json.loads(done.stdout)["candidates"]:
        deployment = candidate["deployment"]
        assert ("max_num_seqs" in deployment["engine"]) == deployment["engine_version"].startswith("vllm"), deployment
    refused = plan(ridgeline, "--slo-ttft", "500ms", "--engine", "vllm,sglang", "--max-num-tokens", "2048")
    assert refused.returncode == 2 and "none of vllm, sglang has it" in refused.stderr


@pytest.mark.parametrize("chosen", [
    ("--model", "llama-3.1-8b", "--engine", "tensorrt-llm", "--axis", "engine.max_num_tokens=700,900", "--axis", "engine.max_batch_size=8,16"),
    ("--model", "qwen3-30b-a3b", "--engine", "sglang", "--enable-expert-parallel"),
])
def test_a_scenario_says_what_no_file_can(ridgeline, chosen):
    """Nothing deploys these, so that the scenario alone holds what was chosen."""
    done = ridgeline("plan", *chosen, "--gpu", "h100", "--tensor-parallel-size", "2", *SMALL[6:], "--slo-ttft", "900ms",
                     "--save-dir", "out", "--format", "json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert len(answer["ranking"]) > 1
    for place, row in enumerate(answer["ranking"], 1):
        [target] = next(c for c in answer["candidates"] if c["id"] == row)["slo"]
        run = ridgeline("run", f"out/top{place}/scenario.yaml", "--format", "json")
        assert json.loads(run.stdout)["summary"]["ttft_ms"]["p99"] == pytest.approx(target["value"], rel=1e-9), row


def test_files_are_of_the_answers_engine(ridgeline):
    done = plan(ridgeline, "--slo-ttft", "500ms", "--engine", "sglang", "--save-dir", "out")
    assert done.returncode == 0, done.stderr
    assert "sglang.launch_server" in (ridgeline.folder / "out" / "top1" / "launch.sh").read_text()
    # Nothing deploys TensorRT-LLM: its scenario is saved, and a target that is asked for refuses it before the search.
    done = plan(ridgeline, "--slo-ttft", "500ms", "--engine", "tensorrt-llm", "--save-dir", "trt")
    assert done.returncode == 0 and "W-not-written: top1" in " ".join(done.stdout.split()), done.stdout
    assert [file.name for file in (ridgeline.folder / "trt" / "top1").iterdir()] == ["scenario.yaml"]
    # What the search chose stands in it, though no flag of vLLM's says it.
    assert "max_num_tokens:" in (ridgeline.folder / "trt" / "top1" / "scenario.yaml").read_text()
    assert ridgeline("run", "trt/top1/scenario.yaml").returncode == 0
    done = plan(ridgeline, "--slo-ttft", "500ms", "--engine", "tensorrt-llm", "--save-dir", "none", "--deployment-target",
                "vllm", "--progress", "plain")
    assert done.returncode == 2 and "the engine is tensorrt-llm" in done.stderr and "requests each" not in done.stderr
    assert not (ridgeline.folder / "none").exists()


WORDS = "a bound, not an estimate"


def test_bounds_are_said_and_never_sure(ridgeline):
    """Random questions about GPUs that nothing was measured on, beside others and alone."""
    draw = random.Random(7)
    for _ in range(8):
        gpus = draw.sample(["mi300x", "mi355x", "gaudi3", "h100", "l40s"], draw.choice([1, 2, 3]))
        words = ["--model", "llama-3.1-8b", "--gpu", ",".join(gpus), "--request-rate", str(draw.choice([4, 20])),
                 "--input-len", "300", "--output-len", "40", "--slo-ttft", "400ms", "--tensor-parallel-size", "1",
                 "--effort", "quick", *draw.choice([[], ["--accept-bounds"], ["--objective", "gpus"]])]
        done = ridgeline("plan", *words, "--format", "json")
        assert done.returncode in (0, 99), done.stderr
        tree = json.loads(done.stdout)
        by_id = {candidate["id"]: candidate for candidate in tree["candidates"]}
        ranking = [by_id[name] for name in tree["ranking"]]
        for candidate in tree["candidates"]:
            measured = candidate["deployment"]["gpu"] in ("h100", "l40s")
            assert (candidate["bound"] is None) == measured
            assert measured or (candidate["p_feasible"] is None and candidate["p_best"] is None)
        accepts = "--accept-bounds" in words
        if not accepts:
            assert [bool(one["bound"]) for one in ranking] == sorted(bool(one["bound"]) for one in ranking)
        pick = by_id.get(tree["answer"]["id"])
        assert (done.returncode == 0) == (pick is not None)
        assert pick is None or not pick["bound"] or accepts
        table = " ".join(ridgeline("plan", *words).stdout.split())
        assert (WORDS in table) == any(one["bound"] for one in ranking), table
        if pick and pick["bound"]:
            assert tree["warnings"][0]["code"] == "W-datasheet-only" and "suffices with" not in table
            assert tree["answer"]["expected_regret_pct"] is None
        else:
            assert not any(warning["code"] == "W-datasheet-only" for warning in tree["warnings"]) or pick is None


def test_a_run_on_bounds_says_so(ridgeline, tmp_path):
    words = ["run", "--model", "llama-3.1-8b", "--gpu", "mi300x", "--request-rate", "4", "--num-prompts", "50",
             "--input-len", "100", "--output-len", "10"]
    done = ridgeline(*words, "-o", str(tmp_path / "run.html"), "-o", str(tmp_path / "run.json"))
    assert done.returncode == 0, done.stderr
    assert f"expected err none: {WORDS}" in " ".join(done.stdout.split())
    tree = json.loads((tmp_path / "run.json").read_text())
    assert tree["bound"].startswith(WORDS) and "expected_error" not in tree
    page = (tmp_path / "run.html").read_text()
    assert WORDS in page and "too few measured runs like this" not in page
    measured = ridgeline(*[word.replace("mi300x", "h100") for word in words], "--format", "json")
    assert "bound" not in json.loads(measured.stdout)


def test_one_gpu_without_a_price_is_listed_apart(ridgeline, tmp_path):
    prices = tmp_path / "prices.yaml"
    prices.write_text("currency: USD\nprices:\n  h100: {value: 2.5, date: 2026-11-20, source: ours}\n"
                      "  h200: {value: 9.0, date: 2026-11-20, source: ours}\n")
    words = ["--model", "llama-3.1-8b", "--gpu", "h100,h200,b200", "--tensor-parallel-size", "1", "--request-rate", "8",
             "--input-len", "512", "--output-len", "64", "--effort", "quick", "--slo-ttft", "500ms"]
    for objective in ([], ["--objective", "usd_per_hour"]):
        done = ridgeline("plan", *words, *objective, "--prices", str(prices))
        assert done.returncode == 0, done.stderr
        rows = [line.split() for line in done.stdout.splitlines() if " × " in line]
        assert rows[0][3] == "h100" and "W-no-price" in done.stdout and "least USD/h" in done.stdout
        assert "b200" in rows[-1] and "no price" in done.stdout


def test_targets_are_checked_before_the_search(ridgeline):
    words = ["--model", "llama-3.1-8b", "--tensor-parallel-size", "1", "--request-rate", "8", "--input-len", "512",
             "--output-len", "64", "--effort", "quick", "--slo-ttft", "500ms", "--accept-bounds", "--save-dir", "out",
             "--deployment-target", "kubernetes", "--progress", "plain"]
    none = ridgeline("plan", "--gpu", "mi300x", *words)
    assert none.returncode == 2 and "mi300x is none" in none.stderr and "requests each" not in none.stderr
    assert not (ridgeline.folder / "out").exists()
    # The answer cannot be written, rows behind it can: they are, and it is said.
    some = ridgeline("plan", "--gpu", "mi300x,h100", *words)
    assert some.returncode == 0, some.stderr
    rows = [line.split() for line in some.stdout.splitlines() if " × " in line]
    assert rows[0][3] == "mi300x"
    assert "W-not-written: top1 is not written" in " ".join(some.stdout.replace("warning ", "").split()), some.stdout
    place = next(row[0] for row in rows if "h100" in row)
    assert (ridgeline.folder / "out" / f"top{place}" / "deployment.yaml").exists()
    assert not (ridgeline.folder / "out" / "top1").exists()


def test_the_page_of_a_plan(ridgeline, tmp_path):
    done = plan(ridgeline, "--slo-ttft", "500ms", "-o", str(tmp_path / "plan.html"), "-o", str(tmp_path / "plan.json"))
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "plan.html").read_text()
    again = ridgeline("report", str(tmp_path / "plan.json"), "-o", str(tmp_path / "again.html"))
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again.html").read_text() == page
    for piece in ('id="question"', 'id="answer"', 'id="ranking"', 'id="cost"', "<svg", "p99 TTFT"):
        assert piece in page, piece
    assert "No point has a number to draw" not in page and "src=" not in page and "href=" not in page


MOST = ["--model", "llama-3.1-8b", "--gpu", "h100", "--tensor-parallel-size", "1,2", "--input-len", "512",
        "--output-len", "64", "--effort", "quick", "--slo-tpot", "12ms", "--slo-statistic", "mean", "--gpus", "4"]


@pytest.mark.parametrize(("load", "counted"), [([], "clients"), (["--request-rate", "auto"], "req/s")])
def test_most_of_so_many_gpus(ridgeline, load, counted):
    words = [*MOST, *load, "--maximize", "throughput"]
    table = ridgeline("plan", *words)
    assert table.returncode == 0, table.stderr
    said = " ".join(table.stdout.split())
    assert "most output tokens/s at ≥ 90 %" in said and f" {counted} with " in said
    done = ridgeline("plan", *words, "--format", "json", "--save-dir", "out")
    answer = json.loads(done.stdout)
    assert answer["question"]["maximize"] == "throughput"
    ranked = [next(c for c in answer["candidates"] if c["id"] == id_) for id_ in answer["ranking"]]
    assert [c["gpus"] for c in ranked] == [4] * len(ranked)
    tokens = [c["recommended_load"]["output_tokens_per_s"] for c in ranked]
    assert tokens == sorted(tokens, reverse=True)
    assert sum(answer["search"]["by_stage"].values()) == answer["search"]["points"]
    at = ranked[0]["recommended_load"]
    assert (at["clients"] is not None) == (counted == "clients")
    # What was saved is what is said: the load, and the target that it meets.
    run = json.loads(ridgeline("run", ridgeline.folder / "out" / "top1" / "scenario.yaml", "--format", "json").stdout)
    workload = run["config"]["workload"]
    if at["clients"] is None:
        assert workload["request_rate"] == pytest.approx(at["requests_per_s"], rel=1e-4)
    else:
        assert workload["max_concurrency"] == at["clients"]
    assert run["summary"]["tpot_ms"]["mean"] <= 12


@pytest.mark.parametrize(("words", "said"), [
    (["--maximize", "tokens"], "maximize: found \"tokens\", expected throughput"),
    (["--maximize", "throughput", "--request-rate", "5"], "workload.request_rate: found \"5\", expected auto"),
    (["--maximize", "throughput", "--objective", "gpus"], "maximize: found beside an objective"),
    (["--maximize", "throughput", "--max-gpus", "8"], "--gpus: says the same as --max-gpus"),
    (["--maximize", "throughput", "--what-to-measure"], "--what-to-measure: is not taken"),
])
def test_questions_for_the_most_that_make_no_sense(ridgeline, words, said):
    done = ridgeline("plan", *MOST, *words)
    assert done.returncode == 2 and said in done.stderr, done.stderr


def test_most_of_no_gpus_is_refused(ridgeline):
    done = ridgeline("plan", *MOST[:-2], "--maximize", "throughput")
    assert done.returncode == 2 and "--gpus: is missing" in done.stderr


def test_clients_up_to_the_seats_need_one_replica(ridgeline):
    """Eight clients of eight seats, far within the target: certain, whatever a step takes."""
    words = ["--model", "llama-3.1-8b", "--gpu", "h100", "--tensor-parallel-size", "1", "--max-num-seqs", "8",
             "--input-len", "512", "--output-len", "64", "--slo-tpot", "60ms", "--objective", "gpus", "--effort",
             "quick", "--format", "json"]
    for clients, replicas in ((8, 1), (9, 2)):
        answer = json.loads(ridgeline("plan", *words, "--max-concurrency", clients).stdout)
        pick = next(c for c in answer["candidates"] if c["id"] == answer["answer"]["id"])
        assert pick["deployment"]["replicas"] == replicas
        assert pick["replica_capacity"]["value"] == 8


def test_attainment_of_two_limits_is_no_surer_than_one_of_them(ridgeline, tmp_path):
    """It has no value to judge by: the run counts it with tightened limits."""
    question = tmp_path / "question.yaml"
    sure = {}
    for limits in ("tpot: 60ms", "ttft: 5s, tpot: 60ms"):
        question.write_text("model: qwen3-32b\nworkload: {request_rate: 2, input_len: 512, output_len: 128}\n"
                            "space: {gpu: [l40s], replicas: [4], engine: {tensor_parallel_size: [4], max_num_batched_tokens: [2048]}}\n"
                            f"slo: {{attainment: 0.99, {limits}}}\n")
        answer = json.loads(ridgeline("plan", question, "--confidence", "0.5", "--effort", "quick", "--format", "json").stdout)
        pick = next(c for c in answer["candidates"] if c["id"] == answer["answer"]["id"])
        sure[limits] = pick["p_feasible"]
    one, both = sure.values()
    assert both <= one and one - both < 0.06, sure  # Levels are five percent apart.


def test_sureness_falls_between_replicas_by_their_runs(ridgeline):
    """The row of what is cheaper is as sure as that number of replicas is when it is asked for."""
    words = ["--model", "llama-3.1-8b", "--gpu", "h100", "--request-rate", "40", "--input-len", "512", "--output-len", "128",
             "--tensor-parallel-size", "1", "--max-num-batched-tokens", "2048", "--slo-tpot", "8ms", "--effort", "quick", "--format",
             "json"]
    answer = json.loads(ridgeline("plan", *words).stdout)
    pick = next(c for c in answer["candidates"] if c["id"] == answer["answer"]["id"])
    cheaper = answer["answer"]["cheaper"]
    assert pick["p_feasible"] >= 0.9 > cheaper["p_feasible"] >= 0.5
    assert cheaper["replicas"] < pick["deployment"]["replicas"] <= 10
    fewer = json.loads(ridgeline("plan", *words, "--confidence", "0.5", "--replicas", cheaper["replicas"]).stdout)
    same = next(c for c in fewer["candidates"] if c["id"] == fewer["answer"]["id"])
    assert same["deployment"]["replicas"] == cheaper["replicas"] and same["p_feasible"] == cheaper["p_feasible"]
