"""Words that people bring: flags of vLLM and inference-sim, pipes, completions, the manual page."""

import csv
import io
import json
import shutil
import subprocess

import pytest

from conftest import BINARY, SMALL

NETWORK = "--model llama-3.1-8b --gpu h100".split()
TRACE = """Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type
0,,,ChatGPT,100,20,120,API log
1,,,GPT-4,200,20,220,API log
2,,,GPT-4,300,20,320,Conversation log
3600,,,ChatGPT,400,20,420,Conversation log
"""


def result(ridgeline, *words, **options):
    done = ridgeline(*words, "--format", "json", **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_command_of_bench_serve_runs_as_it_is(ridgeline):
    theirs = result(
        ridgeline, "run", *NETWORK, "-tp", "2", "--num-gpu-blocks-override", "9000", "--dataset-name", "random",
        "--random-input-len", "100", "--random-output-len", "10", "--request-rate", "inf", "--max-concurrency", "4",
        "--num-prompts", "40", "--ignore-eos",
    )
    ours = result(
        ridgeline, "run", *NETWORK, "--tensor-parallel-size", "2", "--num-gpu-blocks", "9000", "--input-len", "100",
        "--output-len", "10", "--max-concurrency", "4", "--num-prompts", "40",
    )
    assert theirs["digest"] == ours["digest"]


def test_a_limit_beside_a_rate_holds_requests_back(ridgeline):
    words = ["run", *NETWORK, "--input-len", "100", "--output-len", "50", "--num-prompts", "60", "--request-rate", "50"]
    free = result(ridgeline, *words)["summary"]
    wide = result(ridgeline, *words, "--max-concurrency", "1000")
    assert wide["summary"]["duration_s"] == free["duration_s"]
    narrow = result(ridgeline, *words, "--max-concurrency", "2")
    assert narrow["summary"]["duration_s"] > 2 * free["duration_s"]
    plain = result(ridgeline, *words, "--max-concurrency", "2", "--engine-core", "reference")
    assert plain["digest"] == narrow["digest"]


def test_flags_without_a_meaning_are_answered_all_at_once(ridgeline):
    done = ridgeline("run", *NETWORK, "--swap-space", "4", "--kv-transfer-config", "{}", "--scheduler", "sjf")
    assert done.returncode == 2
    assert "--kv-transfer-config: is not modelled" in done.stderr
    assert "--scheduler: has another word here: --scheduling-policy" in done.stderr
    assert "--swap-space" not in done.stderr
    assert ridgeline("help", "coming-from").stdout.count("--swap-space") == 1


def test_flags_without_effect_warn_and_go_on(ridgeline):
    words = ["run", *NETWORK, *SMALL[4:]]
    plain = result(ridgeline, *words)
    more = result(ridgeline, *words, "--backend", "vllm", "--swap-space=4", "--percentile-metrics", "ttft,tpot",
                  "--metric-percentiles", "50,99", "--host", "0.0.0.0", "--disable-tqdm")
    assert more["digest"] == plain["digest"]
    ignored = [w["message"] for w in more["warnings"] if w["code"] == "W-ignored-flag"]
    assert ignored[0].startswith("--backend, --host: no effect on timing")
    assert {flag for text in ignored for flag in text.split(":")[0].split(", ")} == {
        "--backend", "--host", "--swap-space", "--percentile-metrics", "--metric-percentiles", "--disable-tqdm"}
    looked = ridgeline("explain", *NETWORK, "--swap-space", "4")
    assert looked.returncode == 0 and "--swap-space" in looked.stdout + looked.stderr


def test_a_pasted_bench_command_saves_its_result(ridgeline):
    done = ridgeline("run", *NETWORK, *SMALL[4:], "--save-result", "--save-detailed", "--result-filename", "r.json",
                     "--goodput", "ttft:500", "tpot:50", "--format", "json", "--log", "warn")
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)["summary"]["slo"]) == {"ttft", "tpot"}
    assert json.loads((ridgeline.folder / "r.json").read_text())["completed"] == 20


def test_outputs_without_a_name_have_the_format_of_standard_output(ridgeline):
    words = ["run", *NETWORK, *SMALL[4:]]
    assert ridgeline(*words, "-o", "/dev/null").returncode == 0
    assert ridgeline(*words, "--requests-out", "/dev/null").returncode == 0
    full = ridgeline(*words, "-o", "/dev/full")
    assert full.returncode == 2 and "cannot write '/dev/full'" in full.stderr
    line = f'"{BINARY}" {" ".join(words)} --format json -o /dev/fd/3 3>r.json >/dev/null'
    assert subprocess.run(["bash", "-c", line], cwd=ridgeline.folder, env=ridgeline.env, check=False).returncode == 0
    assert json.loads((ridgeline.folder / "r.json").read_text())["summary"]["completed"] == 20


def test_a_loop_appends_rows(ridgeline):
    words = ["run", *NETWORK, *SMALL[4:], "--format", "csv"]
    plain = ridgeline(*words).stdout.splitlines()
    assert ridgeline(*words, "--no-header").stdout.splitlines()[0].split(",")[:3] == plain[1].split(",")[:3]
    assert len(ridgeline(*words, "--no-header").stdout.splitlines()) == 1


def test_a_result_is_not_a_scenario(ridgeline):
    ridgeline("run", *NETWORK, *SMALL[4:], "-o", "r.json")
    done = ridgeline("run", "r.json")
    assert done.returncode == 2 and done.stderr.count("error:") == 1
    assert "found the result of a run, expected a scenario" in done.stderr


def test_what_a_table_of_requests_cannot_say(ridgeline):
    words = ["run", *NETWORK, *SMALL[4:], "--prefix-len", "64"]
    lost = result(ridgeline, *words, "--requests-out", "r.csv")["warnings"]
    assert "20 of 20 prompts" in next(w["message"] for w in lost if w["code"] == "W-lost-prompts")
    for more in (["--requests-out", "r.jsonl"], []):
        assert "W-lost-prompts" not in {w["code"] for w in result(ridgeline, *words, *more)["warnings"]}
    plain = result(ridgeline, "run", *NETWORK, *SMALL[4:], "--requests-out", "r.csv")["warnings"]
    assert "W-lost-prompts" not in {w["code"] for w in plain}


def test_answered_sessions_need_sessions(ridgeline):
    trace = ridgeline.write("t.csv", TRACE)
    warned = result(ridgeline, "replay", trace, *NETWORK, "--trace-sessions", "answered")["warnings"]
    assert "burstgpt-csv does not say" in next(w["message"] for w in warned if w["code"] == "W-ignored-sessions")
    plain = result(ridgeline, "replay", trace, *NETWORK)["warnings"]
    assert "W-ignored-sessions" not in {w["code"] for w in plain}


def test_columns_that_a_conversion_makes_up(ridgeline):
    ridgeline.write("t.jsonl", '{"arrival_s":0,"input_tokens":9,"output_tokens":3,"session":7}\n' * 3)
    done = ridgeline("convert", "t.jsonl", "--to", "burstgpt-csv")
    assert "W-made-up-columns" in done.stderr and "3 requests without a model" in done.stderr
    assert "W-renumbered-sessions" in done.stderr
    ridgeline.write("r.jsonl", '{"arrival_s":0,"input_tokens":9,"output_tokens":4,"reasoning_tokens":2}\n')
    done = ridgeline("convert", "r.jsonl", "--to", "trace-v2")
    assert "lost" not in done.stderr
    assert "0.5" in done.stdout.splitlines()[1].split(",")


def test_requests_of_aiperf_are_a_trace(ridgeline):
    words = ["run", *NETWORK, "--input-len", "50", "--output-len", "9", "--num-prompts", "30", "--request-rate", "4"]
    assert ridgeline(*words, "--client-results", "aiperf=a.json").returncode == 0
    again = result(ridgeline, "replay", "a.jsonl", *NETWORK)["summary"]
    assert again["completed"] == 30
    assert again["total_input_tokens"] == 30 * 50 and again["total_output_tokens"] == 30 * 9
    assert ridgeline("trace", "a.jsonl").stdout.startswith("aiperf: 30 requests")


def test_a_command_of_inference_sim_runs(ridgeline):
    done = ridgeline(
        *"run --model llama-3.1-8b --hardware h100 --tp 1 --rate 4 --num-requests 20 --prompt-tokens 64".split(),
        *"--output-tokens 8 --total-kv-blocks 9000 --block-size-in-tokens 16 --max-num-running-reqs 64".split(),
        *"--max-num-scheduled-tokens 2048 --results-path r.json".split(),
    )
    assert done.returncode == 0, done.stderr
    config = json.loads((ridgeline.folder / "r.json").read_text())["config"]
    assert config["workload"]["request_rate"] == 4
    assert config["engine"]["num_gpu_blocks"] == 9000


def test_parts_of_a_trace(ridgeline):
    trace = ridgeline.write("t.csv", TRACE)

    def sent(*words):
        return result(ridgeline, "replay", trace, *NETWORK, *words)["summary"]["completed"]

    assert sent() == 4
    assert sent("--trace-model", "GPT-4") == 2
    assert sent("--trace-tenant", "API log,Conversation log", "--trace-end", "1h") == 3
    assert sent("--trace-start", "1s", "--duration", "1m") == 2
    described = json.loads(ridgeline("trace", trace, "--trace-tenant", "API log", "--format", "json").stdout)
    assert described["requests"] == 2
    converted = ridgeline("convert", trace, "--to", "burstgpt-csv", "--trace-model", "GPT-4", "--trace-start", "2s")
    assert converted.stdout.splitlines()[1:] == ["0,,,GPT-4,300,20,320,Conversation log"]
    done = ridgeline("trace", trace, "--trace-model", "o3")
    assert done.returncode == 2
    assert 'no request of "o3"' in done.stderr and "it has: ChatGPT, GPT-4" in done.stderr
    done = ridgeline("replay", trace, *NETWORK, "--trace-start", "1week")
    assert done.returncode == 2
    assert "ps, ns, us, ms, s, min, m, h, d" in done.stderr


def test_a_trace_at_another_rate(ridgeline):
    trace = ridgeline.write("t.csv", TRACE)
    words = ["replay", "--trace", trace, *NETWORK]
    assert result(ridgeline, *words)["summary"]["duration_s"] > 3600
    assert result(ridgeline, *words, "--request-rate", "2")["summary"]["duration_s"] < 60
    assert result(ridgeline, *words, "--arrivals", "at-once")["summary"]["duration_s"] < 2
    one = result(ridgeline, *words, "--request-rate", "inf", "--max-concurrency", "1")
    assert one["summary"]["queue_time_ms"]["max"] < 10


def test_a_scenario_is_not_taken_for_a_trace(ridgeline):
    ridgeline.write("s.yaml", "engine: {version: vllm@0.15, max_num_seqs: 9}\nmodel: llama-3.1-8b\ngpu: h100\n")
    ridgeline.write("s.json", '{"model": "llama-3.1-8b", "gpu": "h100"}')
    more = ["--request-rate", "8", "--num-prompts", "5", "--input-len", "9", "--output-len", "3"]
    assert result(ridgeline, "run", "s.yaml", *more)["config"]["engine"]["max_num_seqs"] == 9
    assert result(ridgeline, "run", "s.json", *more)["summary"]["completed"] == 5
    broken = ridgeline.write("b.yaml", "engine: {version: vllm@0.15, max_num_seqs: 9\n")
    assert "b.yaml:" in ridgeline("run", broken, *NETWORK, *more).stderr


def test_traces_and_scenarios_from_pipes(ridgeline):
    trace = ridgeline.write("t.csv", TRACE)
    scenario = "model: llama-3.1-8b\ngpu: h100\nworkload: {request_rate: 8, input_len: 9, output_len: 3, num_prompts: 5}\n"
    whole = result(ridgeline, "replay", "--trace", trace, *NETWORK)
    piped = result(ridgeline, "replay", "--trace", "-", *NETWORK, input=TRACE)
    assert piped["digest"] == whole["digest"]
    assert piped["config"]["workload"]["trace"] == "-"
    assert result(ridgeline, "replay", "-", *NETWORK, input=TRACE)["digest"] == whole["digest"]
    assert result(ridgeline, "run", "-", input=scenario)["summary"]["completed"] == 5
    assert ridgeline("trace", "-", input=TRACE).stdout.startswith("burstgpt-csv: 4 requests")
    done = ridgeline("trace", "-", input=TRACE.replace("300", "many"))
    assert done.returncode == 2
    assert "-:4:" in done.stderr
    shell = subprocess.run(
        ["bash", "-c", f'"{BINARY}" replay --trace <(cat {trace}) {" ".join(NETWORK)} --format json'],
        capture_output=True, text=True, check=False, env=ridgeline.env,
    )
    assert shell.returncode == 0, shell.stderr
    assert json.loads(shell.stdout)["digest"] == whole["digest"]


def test_rows_of_a_loop_differ(ridgeline):
    rows = []
    for rate in ("4", "8"):
        done = ridgeline("run", *NETWORK, "--request-rate", rate, *SMALL[6:], "--max-num-seqs", "9", "--format", "csv",
                         "--set", "model.num_hidden_layers=4")
        assert done.returncode == 0, done.stderr
        rows += list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["config.workload.request_rate"] for row in rows] == ["4", "8"]
    assert rows[0]["config.model"] == "llama-3.1-8b"
    assert rows[0]["config.gpu"] == "h100"
    assert rows[0]["config.engine.max_num_seqs"] == "9"
    assert rows[0]["config.set"] == "{model.num_hidden_layers: 4}"
    assert rows[0]["config.workload.trace"] == ""
    assert rows[0].keys() == rows[1].keys()


def completed(ridgeline, *words):
    """What bash offers for the last word."""
    listed = " ".join(f"'{word}'" for word in ("ridgeline", *words))
    script = (
        f'source <("{BINARY}" completions bash); COMP_WORDS=({listed}); COMP_CWORD={len(words)}; '
        '_ridgeline; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-uc", script], capture_output=True, text=True, check=False, env=ridgeline.env,
                          cwd=ridgeline.folder)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes(ridgeline):
    ridgeline.write("requests.csv", TRACE)
    assert completed(ridgeline, "rep") == ["replay", "report"]
    assert completed(ridgeline, "run", "--max-num-s") == ["--max-num-seqs", "--max-num-scheduled-tokens"]
    assert completed(ridgeline, "run", "--no-enable-pre") == ["--no-enable-prefix-caching"]
    assert completed(ridgeline, "run", "--gpu", "h20") == ["h20", "h200", "h200-nvl"]
    assert completed(ridgeline, "run", "--percentiles", "") == ["exact", "sketch"]
    assert completed(ridgeline, "run", "--percentiles", "=", "sk") == ["sketch"]
    assert completed(ridgeline, "replay", "--trace", "req") == ["requests.csv"]
    assert completed(ridgeline, "run", "--seed", "") == []
    assert completed(ridgeline, "run", "--latency", "kernel-f") == ["kernel-first"]
    assert completed(ridgeline, "run", "--engine-version", "vllm@0.15") == ["vllm@0.15"]
    assert completed(ridgeline, "run", "--trace-tenant", "req") == []
    assert "models" in completed(ridgeline, "list", "")
    assert completed(ridgeline, "run", "--client-results", "vllm") == ["vllm-bench="]
    assert completed(ridgeline, "kernels", "f") == ["fit"]
    assert "--version" in completed(ridgeline, "kernels", "fit", "--v")


@pytest.mark.parametrize("shell, check", [("bash", ["-n"]), ("zsh", ["-n"]), ("fish", ["--no-execute"])])
def test_completions_are_sound_scripts(ridgeline, shell, check):
    done = ridgeline("completions", shell)
    assert done.returncode == 0 and "max-num-seqs" in done.stdout
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    path = ridgeline.write(f"c.{shell}", done.stdout)
    checked = subprocess.run([shell, *check, path], capture_output=True, text=True, check=False)
    assert checked.returncode == 0 and checked.stderr == "", checked.stderr


def test_the_manual_page(ridgeline):
    page = ridgeline("man")
    assert page.returncode == 0
    path = ridgeline.write("ridgeline.1", page.stdout)
    assert "128 + n" in page.stdout
    for verb in ("run", "replay", "trace", "calibrate", "kernels fit"):
        assert f"\n.SS {verb}" in page.stdout
    assert "engine.max_num_seqs" in page.stdout
    if shutil.which("mandoc"):
        lint = subprocess.run(["mandoc", "-Tlint", "-Wwarning", path], capture_output=True, text=True, check=False)
        # A page without a date is the same on every day.
        findings = [line for line in lint.stdout.splitlines() if "missing date" not in line]
        assert findings == []
    if shutil.which("groff"):
        shown = subprocess.run(["groff", "-man", "-ww", "-Tutf8", path], capture_output=True, text=True, check=False)
        assert shown.stderr == ""
        assert "SETTINGS" in shown.stdout


def test_outputs_to_standard_output(ridgeline):
    lines = ridgeline("run", *SMALL, "--requests-out", "-").stdout.splitlines()
    assert len(lines) == 20 and all(json.loads(line)["outcome"] == "finished" for line in lines)
    assert json.loads(ridgeline("run", *SMALL, "--format", "json", "-o", "-").stdout)["summary"]["completed"] == 20
    assert ridgeline("trace", "-", "--svg", "-", input=TRACE).stdout.startswith("<svg")
    converted = ridgeline("convert", "-", "--to", "request-csv", "-o", "-", input=TRACE).stdout
    assert converted.startswith("arrival_s,")
    assert json.loads(ridgeline("run", *SMALL, "--client-results", "vllm-bench=-").stdout)["completed"] == 20
    both = ridgeline("run", *SMALL, "--requests-out", "-", "--steps-out", "-")
    assert both.returncode == 2 and both.stdout == "" and "another output" in both.stderr
    # What stands in the file stays, as with >>.
    log = ridgeline.write("log.jsonl", "first\n")
    with log.open("a") as out:
        assert ridgeline("run", *SMALL, "--requests-out", "-", stdout=out).returncode == 0
    assert len(log.read_text().splitlines()) == 21
    script = f'"{BINARY}" run {" ".join(SMALL)} --requests-out - | head -1; echo "${{PIPESTATUS[0]}}"'
    shell = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, env=ridgeline.env)
    assert shell.stdout.splitlines()[-1] == "0" and shell.stderr == ""


def in_shell(ridgeline, script: str) -> subprocess.CompletedProcess:
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False,
                          env=ridgeline.env | {"RIDGELINE": str(BINARY)}, cwd=ridgeline.folder)


def test_open_descriptors_keep_what_stands_in_their_file(ridgeline):
    trace = ridgeline.write("t.csv", "arrival_s,input_tokens,output_tokens\n0,10,10\n1,10,10\n")
    convert = f'"$RIDGELINE" convert {trace} --to request-csv'
    lines = trace.read_text().splitlines()
    for name in ("-", "/dev/stdout", "/dev/fd/1"):
        around = in_shell(ridgeline, f"{{ echo before; {convert} -o {name} 2>&1; echo after; }} > all; cat all")
        assert around.stdout.splitlines() == ["before", *lines, "2 requests written", "after"], name
        log = in_shell(ridgeline, f"echo before > log; {convert} -o {name} >> log; cat log")
        assert log.stdout.splitlines() == ["before", *lines], name


def test_a_file_that_comes_as_standard_input_is_not_replaced(ridgeline):
    trace = ridgeline.write("t.csv", "arrival_s,input_tokens,output_tokens\n0,10,10\n1,10,10\n")
    before = trace.read_text()
    done = in_shell(ridgeline, f'"$RIDGELINE" convert - --to mooncake -o {trace} < {trace}')
    assert done.returncode == 2 and "is read by this command" in done.stderr
    assert trace.read_text() == before


def test_flags_of_the_laboratory_say_how_to_build_it(ridgeline):
    alone = ridgeline.folder / "ridgeline"
    shutil.copy(BINARY, alone)
    for words in (("validate", "runs.jsonl", "--ranking"), ("study", "list")):
        ran = subprocess.run([alone, *words], capture_output=True, text=True, check=False)
        assert ran.returncode == 2 and "./dev lab" in ran.stderr, ran.stderr
