"""`run`: determinism, twins, the result and its files."""

import csv
import json

import pytest
from conftest import ACCEPTANCE, SMALL, SOURCE


def result_of(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def without_run_info(result):
    return {key: value for key, value in result.items() if key != "run_info"}


def digest_of(done):
    return result_of(done)["digest"]


def test_two_runs_differ_in_run_info_only(ridgeline):
    first = result_of(ridgeline(*ACCEPTANCE))
    second = result_of(ridgeline(*ACCEPTANCE))
    assert without_run_info(first) == without_run_info(second)
    summary = first["summary"]
    assert summary["completed"] == 1000
    assert summary["total_input_tokens"] == 1000 * 512
    assert summary["total_output_tokens"] == 1000 * 256
    # 1000 arrivals at 8/s take 125 s give or take 4 (their standard deviation is sqrt(1000)/8).
    assert 105 < summary["duration_s"] < 145


@pytest.mark.parametrize("variant", [["--no-jump"], ["--engine-core", "reference"], ["--percentiles", "sketch"]])
def test_the_digest_does_not_depend_on_how_it_was_computed(ridgeline, variant):
    assert digest_of(ridgeline(*ACCEPTANCE, *variant)) == digest_of(ridgeline(*ACCEPTANCE))


# A step of an 8B network in bfloat16 reads 16 GB: 160 s at 100 MB/s. 9,200,000 s hold 57,500 of them: the answers to 22
# clients one after the other, or 22 rounds of those that run together, of 2560 tokens each.
PAST_THE_RANGE = {
    "an open loop": ["--request-rate", "8", "--num-prompts", "3000"],
    "at once": ["--arrivals", "at-once", "--num-prompts", "3000"],
    "a closed loop": ["--max-concurrency", "1", "--num-prompts", "30000"],
}


@pytest.mark.parametrize("arrivals", PAST_THE_RANGE.values(), ids=PAST_THE_RANGE.keys())
def test_the_range_of_simulated_time_ends_every_engine_alike(ridgeline, arrivals):
    slow = "--model llama-3.1-8b --gpu h100 --input-len 512 --output-len 2560 --set hardware.mem_bandwidth=100MB/s"
    errors = set()
    for engine in [], ["--no-jump"], ["--engine-core", "reference"]:
        done = ridgeline("run", *slow.split(), *arrivals, *engine, "--requests-out", "out.csv")
        assert done.returncode == 4
        assert done.stdout == ""
        errors.add(done.stderr)
    assert len(errors) == 1
    assert "error: workload.num_prompts: the run passes 9200000 s, the range of simulated time" in errors.pop()
    assert ridgeline.files() == set()


@pytest.mark.parametrize(
    ("flags", "setting"),
    [
        (["--network-in", "9000000s", "--delivery-time", "9000000s"], "network_in"),
        (["--delivery-time", "9000000s", "--close-time", "9000000s"], "delivery_time"),
        (["--host-step-time", "9000000s", "--no-async-scheduling"], "host_step_time"),
        (["--host-sequence-time", "9000000s"], "host_sequence_time"),
        (["--frontend-token-time", "9000000s"], "frontend_token_time"),
    ],
)
def test_a_time_of_the_server_that_leaves_no_room_is_named(ridgeline, flags, setting):
    done = ridgeline("run", *SMALL, *flags)
    assert done.returncode == 4
    assert f"error: serving.{setting}: the run passes" in done.stderr


# Where N requests arrive together and are served in rounds, answers come evenly from 0 to T: the standard deviation
# of a uniform law is T / sqrt(12), of which rounds and the time of the first leave a few percent.
def test_the_spread_of_a_long_overload(ridgeline):
    flags = "--model llama-3.1-8b --gpu l4 --arrivals at-once --input-len 100 --output-len 1000 --num-prompts 200000"
    e2e = result_of(ridgeline("run", *flags.split(), "--format", "json"))["summary"]["e2e_ms"]
    assert e2e["std"] == pytest.approx(e2e["max"] / 12**0.5, rel=0.05)


def test_a_seed_is_another_run(ridgeline):
    assert digest_of(ridgeline("run", *SMALL, "--format=json", "--seed=2")) != digest_of(
        ridgeline("run", *SMALL, "--format=json", "--seed=3")
    )


@pytest.mark.parametrize("name", ["config.json", "config.yaml"])
def test_the_config_of_a_result_is_a_scenario(ridgeline, name):
    flags = "--prefix-len 32 --num-prefixes 3 --slo-ttft 250ms --set model.num_hidden_layers=16".split()
    first = result_of(ridgeline("run", *SMALL, *flags, "--format", "json"))
    ridgeline.write(name, json.dumps(first["config"]))  # JSON is YAML too
    again = result_of(ridgeline("run", name, "--format", "json"))
    assert again["digest"] == first["digest"]
    assert again["config"] == first["config"]


def test_what_if_changes_the_run(ridgeline):
    base = result_of(ridgeline("run", *SMALL, "--format", "json"))
    faster = result_of(ridgeline("run", *SMALL, "--set", "hardware.mem_bandwidth=6.7TB/s", "--format", "json"))
    assert faster["summary"]["tpot_ms"]["mean"] < base["summary"]["tpot_ms"]["mean"]
    assert faster["config"]["set"] == {"hardware.mem_bandwidth": "6.7TB/s"}


def test_the_example_scenario_runs(ridgeline):
    result = result_of(ridgeline("run", SOURCE / "scenarios" / "llama-8b-chat.yaml", "--format", "json"))
    assert result["summary"]["completed"] == 3000
    # Four prefixes of 400 tokens: nearly every request finds its own cached.
    assert result["summary"]["kv_cache"]["prefix_hit_rate"] > 0.2


def test_a_flag_wins_over_the_file(ridgeline):
    scenario = SOURCE / "scenarios" / "llama-8b-chat.yaml"
    result = result_of(ridgeline("run", scenario, "--num-prompts", "5", "--format", "json"))
    assert result["config"]["workload"]["num_prompts"] == 5
    assert result["summary"]["completed"] == 5


def test_a_closed_loop_keeps_its_concurrency(ridgeline):
    words = (
        "run --model llama-3.1-8b --gpu h100 --max-concurrency 7 --num-prompts 60 --input-len 100"
        " --output-len 30 --format json --requests-out log.csv"
    ).split()
    digests = {digest_of(ridgeline(*words, *variant)) for variant in ([], ["--no-jump"], ["--engine-core=reference"])}
    assert len(digests) == 1
    with open(ridgeline.folder / "log.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 60
    # Each client sends again when it has its answer: at every arrival fewer than 7 others are under way.
    spans = [(float(r["arrival_s"]), float(r["arrival_s"]) + float(r["e2e_ms"]) / 1e3) for r in rows]
    for start, _ in spans:
        assert sum(1 for begin, end in spans if begin <= start < end - 1e-9) <= 7
    assert sum(1 for start, _ in spans if start == 0.0) == 7


def test_request_path_off_takes_the_client_s_time_away(ridgeline):
    words = "run --model llama-3.1-8b --gpu h100 --arrivals at-once --num-prompts 1 --input-len 100 --output-len 2"
    on = result_of(ridgeline(*words.split(), "--format", "json"))["summary"]
    off = result_of(ridgeline(*words.split(), "--format", "json", "--request-path", "off"))["summary"]
    # data/serving/serving.yaml: network 1.95 both ways, frontend 0.75 + 100 tokens x 1.5 us, hand-off 0.875,
    # close 1.5 ms.
    assert on["ttft_ms"]["mean"] - off["ttft_ms"]["mean"] == pytest.approx(1.95 + 0.75 + 0.15 + 0.875 + 1.95, abs=1e-6)
    assert on["e2e_ms"]["mean"] - off["e2e_ms"]["mean"] == pytest.approx(5.675 + 1.5, abs=1e-6)
    assert off["server"]["ttft_ms"]["mean"] == off["ttft_ms"]["mean"]


def test_requests_that_cannot_fit_are_counted(ridgeline):
    words = "run --model llama-3.1-8b --gpu h100 --request-rate 8 --num-prompts 4 --input-len 600 --output-len 8"
    done = ridgeline(*words.split(), "--max-model-len", "512", "--format", "json")
    assert done.returncode == 4 and "none of 4 requests got an answer" in done.stderr
    result = json.loads(done.stdout)
    assert result["summary"]["completed"] == 0
    assert result["summary"]["failed"]["rejected"] == 4
    assert "W-rejected" in {warning["code"] for warning in result["warnings"]}
    assert result["summary"]["ttft_ms"] is None or result["summary"]["ttft_ms"]["mean"] is None


def test_files_hold_what_their_names_say(ridgeline):
    outputs = ["r.json", "r.ndjson", "r.csv", "r.md", "r.txt"]
    words = [word for name in outputs for word in ("-o", name)]
    done = ridgeline("run", *SMALL, *words, "--requests-out", "log.jsonl", "--format", "quiet")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert ridgeline.files() == {*outputs, "log.jsonl"}
    folder = ridgeline.folder
    result = json.loads((folder / "r.json").read_text())
    assert json.loads((folder / "r.ndjson").read_text()) == result
    assert (folder / "r.ndjson").read_text().count("\n") == 1
    with open(folder / "r.csv") as file:
        (row,) = csv.DictReader(file)
    assert row["digest"] == result["digest"]
    assert int(row["completed"]) == 20
    assert result["digest"] in (folder / "r.md").read_text()
    assert result["digest"] in (folder / "r.txt").read_text()
    records = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert sorted(record["request_id"] for record in records) == list(range(20))
    assert sum(record["output_tokens"] for record in records) == result["summary"]["total_output_tokens"]


def test_an_output_is_replaced_whole(ridgeline):
    ridgeline.write("r.json", "old")
    assert ridgeline("run", *SMALL, "-o", "r.json", "--format", "quiet").returncode == 0
    assert json.loads((ridgeline.folder / "r.json").read_text())["summary"]["completed"] == 20
    assert ridgeline.files() == {"r.json"}


def test_a_pipe_gets_the_table_without_colours(ridgeline):
    done = ridgeline("run", *SMALL)
    assert done.returncode == 0
    assert "TTFT" in done.stdout and "\x1b" not in done.stdout
    assert done.stderr == ""
    coloured = ridgeline("run", *SMALL, "--color", "always", "--slo-ttft", "1us").stdout
    assert "\x1b" in coloured
    forced = ridgeline("run", *SMALL, "--slo-ttft", "1us", env={"CLICOLOR_FORCE": "1"}).stdout
    assert "\x1b" in forced
    never = ridgeline("run", *SMALL, "--slo-ttft", "1us", env={"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}).stdout
    assert "\x1b" not in never
    plain = ridgeline("run", *SMALL, "--ascii").stdout
    assert plain.isascii()


def test_verbose_says_where_settings_come_from(ridgeline):
    ridgeline.write("s.yaml", "model: llama-3.1-8b\ngpu: h100\n")
    words = "--request-rate 8 --num-prompts 2 --input-len 8 --output-len 2 --verbose --format quiet".split()
    done = ridgeline("run", "s.yaml", *words)
    assert "model = llama-3.1-8b (file, s.yaml:1:8)" in done.stderr
    assert "workload.request_rate = 8 (flag)" in done.stderr
    assert "engine.max_num_seqs = 1024 (derived)" in done.stderr


@pytest.mark.parametrize("alias", [["--hardware", "h100", "--tp", "2"], ["--gpu=h100", "--tensor-parallel-size=2"]])
def test_the_original_simulator_s_words(ridgeline, alias):
    words = "run --model llama-3.1-8b --request-rate 8 --num-prompts 2 --input-len 8 --output-len 2".split()
    result = result_of(ridgeline(*words, *alias, "--debug", "--output", "r.json", "--format", "json"))
    assert result["config"]["gpu"] == "h100"
    assert result["config"]["engine"]["tensor_parallel_size"] == 2
    assert "r.json" in ridgeline.files()


def test_results_and_configs_keep_to_their_schemas(ridgeline):
    jsonschema = pytest.importorskip("jsonschema")
    result_schema = json.loads(ridgeline("schema", "result").stdout)
    scenario_schema = json.loads(ridgeline("schema", "scenario").stdout)
    runs = (
        [],
        ["--slo-ttft", "100ms", "--percentiles", "sketch"],
        ["--max-model-len", "32"],
        ["--input-len", "{distribution: lognormal, mean: 90, std: 10}"],
    )
    for flags in runs:
        base = [word for word in SMALL]
        if "--input-len" in flags:
            at = base.index("--input-len")
            del base[at : at + 2]
        # The third run answers nothing, which is exit code 4.
        result = json.loads(ridgeline("run", *base, *flags, "--format", "json").stdout)
        jsonschema.validate(result, result_schema)
        jsonschema.validate(result["config"], scenario_schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**result["config"], "sede": 1}, scenario_schema)


def test_choices_of_kernels_change_the_steps_that_they_say(ridgeline):
    def step(*words):
        done = ridgeline("step", *words, "--format", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["step_us"]

    gpt = ("--model", "gpt-oss-120b", "--gpu", "h200", "--prefill", "0+4096")
    assert step(*gpt, "--moe-backend", "marlin") > step(*gpt)
    minimax = ("--model", "minimax-m2.5", "--gpu", "b200", "--tp", 4)
    long = (*minimax, "--prefill", "0+8000")
    assert step(*long, "--float32-matmul-precision", "high") < step(*long)
    assert step(*minimax, "--decode", "1000x8", "--fuse-allreduce-rms") < step(*minimax, "--decode", "1000x8")
    short = (*minimax, "--prefill", "0+1000")
    assert step(*short, "--max-cudagraph-capture-size", 2048) < step(*short)
    cut = (*minimax, "--prefill", "0+100")
    assert step(*cut) < step(*cut, "--cudagraph-mode", "FULL_DECODE_ONLY")
