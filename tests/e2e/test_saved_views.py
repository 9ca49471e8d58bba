"""What a verb shows, and what `report` shows of the JSON that it saved: the same, in every format that the verb has."""

import pytest

SERVER = ("--model", "llama-3.1-8b", "--gpu", "h100", "--generation-config", "vllm")
LOAD = ("--num-prompts", 60, "--request-rate", 6, "--input-len", 200, "--output-len", 20)
PLAN = ("plan", "--model", "llama-3.1-8b", "--gpu", "h100", "--tensor-parallel-size", 1, "--request-rate", 8,
        "--input-len", 512, "--output-len", 64, "--effort", "quick", "--objective", "gpus", "--slo-ttft", "500ms")
STEP = ("step", "--model", "llama-3.1-8b", "--gpu", "h100", "--decode", "700x32", "--prefill", "0+2048")
TRACE = ("arrival_s,input_tokens,output_tokens,tenant\n"
         "0,10,1,gold\n1,20,2,gold\n2,30,3,batch\n4,40,4,gold\n9,1000,20,batch\n")  # fmt: skip
TEXTS = ("table", "markdown", "html", "csv")
VERBS = ("plan", "step", "compared steps", "steps", "trace", "validate", "calibrate")


def words_of(ridgeline, verb):
    """The verb's words; the files that it reads are written."""
    if verb in ("validate", "calibrate"):
        assert ridgeline("run", *SERVER, *LOAD, "--client-results", "vllm-bench=r.json").returncode == 0
        return verb, "r.json", *SERVER, "--histories", 1, *(("--coverage",) if verb == "validate" else ())
    if verb == "trace":
        return verb, ridgeline.write("trace.csv", TRACE)
    if verb == "steps":
        assert ridgeline("run", *SERVER, *LOAD, "--steps-out", "steps.jsonl", "--format", "quiet").returncode == 0
        return verb, "steps.jsonl"
    return {"plan": PLAN, "step": STEP, "compared steps": (*STEP, "--compare", "kernel,v1")}[verb]


@pytest.mark.parametrize("form", TEXTS)
@pytest.mark.parametrize("verb", VERBS)
def test_report_of_a_saved_result_shows_what_the_verb_shows(ridgeline, verb, form):
    words = words_of(ridgeline, verb)
    saved = ridgeline(*words, "--format", "json")
    assert saved.returncode in (0, 99), saved.stderr
    ridgeline.write("saved.json", saved.stdout)
    direct = ridgeline(*words, "--format", form).stdout
    again = ridgeline("report", "saved.json", "--format", form)
    assert again.returncode == 0, again.stderr
    assert direct and again.stdout == direct


FLEET = ("--instances", 2, "--router", "least-request", "--price-per-hour", 2.5, "--slo-ttft", "1s", "--slo-statistic", "mean")


@pytest.mark.parametrize("more", [(), FLEET], ids=["one instance", "a fleet"])
@pytest.mark.parametrize(("form", "ending"), [("table", "txt"), ("markdown", "md"), ("csv", "csv"), ("html", "html")])
def test_a_saved_run_shows_what_the_run_showed(ridgeline, form, ending, more):
    done = ridgeline("run", *SERVER, *LOAD, *more, "--series", "-o", "saved.json", "-o", f"direct.{ending}", "--format", "quiet")
    assert done.returncode == 0, done.stderr
    again = ridgeline("report", "saved.json", "--format", form)
    assert again.returncode == 0, again.stderr
    direct = (ridgeline.folder / f"direct.{ending}").read_text()
    assert direct and again.stdout == direct


def test_saved_points_of_a_sweep_are_the_table_that_merge_writes(ridgeline):
    axes = ("--axis", "max_num_seqs=8,64")
    assert ridgeline("sweep", "run", *SERVER, *LOAD, *axes, "--store", "points").returncode == 0
    for ending in ("ndjson", "csv"):
        assert ridgeline("sweep", "merge", "points", "-o", f"merged.{ending}").returncode == 0
    again = ridgeline("report", "merged.ndjson", "--format", "csv")
    assert again.returncode == 0, again.stderr
    assert again.stdout == (ridgeline.folder / "merged.csv").read_text()


def test_a_format_that_the_verb_lacks_is_refused(ridgeline):
    ridgeline.write("saved.json", ridgeline(*words_of(ridgeline, "trace"), "--format", "json").stdout)
    refused = ridgeline("report", "saved.json", "--format", "svg")
    assert refused.returncode == 2, refused.stderr
    assert "is JSON already" in ridgeline("report", "saved.json", "--format", "json").stderr
