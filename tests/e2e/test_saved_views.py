"""What a verb shows, and what `report` shows of the JSON that it saved: the same, in every format that the verb has."""

import pytest

PLAN = ("plan", "--model", "llama-3.1-8b", "--gpu", "h100", "--tensor-parallel-size", 1, "--request-rate", 8,
        "--input-len", 512, "--output-len", 64, "--effort", "quick", "--objective", "gpus", "--slo-ttft", "500ms")
SERVER = ("--model", "llama-3.1-8b", "--gpu", "h100", "--generation-config", "vllm")
LOAD = ("--num-prompts", 60, "--request-rate", 6, "--input-len", 200, "--output-len", 20)
TRACE = ("arrival_s,input_tokens,output_tokens,tenant\n"
         "0,10,1,gold\n1,20,2,gold\n2,30,3,batch\n4,40,4,gold\n9,1000,20,batch\n")  # fmt: skip


def words_of(ridgeline, verb):
    if verb == "plan":
        return PLAN
    if verb == "validate":
        assert ridgeline("run", *SERVER, *LOAD, "--client-results", "vllm-bench=r.json").returncode == 0
        return verb, "r.json", *SERVER, "--histories", 1, "--coverage"
    return verb, ridgeline.write("trace.csv", TRACE)


@pytest.mark.parametrize(("verb", "formats"), [
    ("plan", ["html"]),
    ("trace", ["table"]),
    ("validate", ["table", "markdown", "html", "csv"]),
])
def test_report_of_a_saved_result_shows_what_the_verb_shows(ridgeline, verb, formats):
    words = words_of(ridgeline, verb)
    saved = ridgeline(*words, "--format", "json")
    assert saved.returncode == 0, saved.stderr
    ridgeline.write("saved.json", saved.stdout)
    for form in formats:
        direct = ridgeline(*words, "--format", form)
        again = ridgeline("report", "saved.json", "--format", form)
        assert again.returncode == 0, again.stderr
        assert direct.stdout and again.stdout == direct.stdout, form
    usual = ridgeline("report", "saved.json").stdout
    assert usual == ridgeline("report", "saved.json", "--format", "html" if "html" in formats else formats[0]).stdout


def test_a_format_that_the_verb_lacks_is_refused(ridgeline):
    ridgeline.write("saved.json", ridgeline(*words_of(ridgeline, "trace"), "--format", "json").stdout)
    for form in ("csv", "html"):
        refused = ridgeline("report", "saved.json", "--format", form)
        assert refused.returncode == 2 and "expected one of: table" in refused.stderr, refused.stderr
    assert "is JSON already" in ridgeline("report", "saved.json", "--format", "json").stderr
