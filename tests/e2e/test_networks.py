"""Networks from outside: hostile configurations, folders of them, and how one is cut and drafted for."""

import json

import pytest

from conftest import SHARED

CONFIG = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
}
MIB = 1024 * 1024


def with_value(**changes):
    return json.dumps({**CONFIG, **changes})


def without(key):
    return json.dumps({name: value for name, value in CONFIG.items() if name != key})


@pytest.mark.parametrize(
    "text, message",
    [
        (with_value(num_attention_heads=0), "model.num_attention_heads: 0 is out of range"),
        (with_value(num_hidden_layers=10**9), "model.num_hidden_layers: 1000000000 is out of range"),
        (with_value(hidden_size=2**62), "model.hidden_size: 4611686018427387904 is out of range"),
        (with_value(hidden_size=-1), "model.hidden_size: -1 is out of range"),
        (with_value(hidden_size=4096.5), "model.hidden_size: expected an integer, found 4096.5"),
        (with_value(num_hidden_layers="32"), 'model.num_hidden_layers: expected an integer, found "32"'),
        (with_value(num_key_value_heads=5), "5 does not divide num_attention_heads 32"),
        (with_value(hidden_size=4097), "num_attention_heads 32 does not divide hidden_size 4097"),
        (with_value(model_type="lama"), "model.model_type"),
        (with_value(num_local_experts=8), "model.num_local_experts: a mixture of experts (num_local_experts)"),
        (with_value(layer_types=["sliding_attention"] * 32), "model.layer_types"),
        (with_value(model_type="qwen3_moe", num_experts=4, num_experts_per_tok=8, moe_intermediate_size=768),
         "8 is more than num_experts 4"),
        (without("hidden_size"), "model.hidden_size: is missing"),
        (without("model_type"), "model.model_type: is missing"),
        ("", "is empty"),
        ("[1, 2]", "a list is not a network's configuration"),
        (with_value()[:50], "a string is never closed"),
        ("[" * 100_000 + "]" * 100_000, "nests deeper than 64 levels"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "nests deeper than 64 levels"),
        ('{"a":"' + "x" * 50 * MIB + '"}', "is larger than the limit of 16777216 bytes"),
    ],
    ids=lambda value: None if len(value) > 100 or "{" in value or "[" in value else value[:40],
)
def test_hostile_configurations_are_refused_in_a_line(ridgeline, text, message):
    ridgeline.write("config.json", text)
    done = ridgeline("explain", "--model", "config.json", "--gpu", "h100")
    assert done.returncode == 2
    assert done.stdout == ""
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1 and message in errors[0]
    assert len(done.stderr) < 2000


def test_a_folder_of_networks(ridgeline):
    ridgeline.write("org--good_config.json", with_value())
    ridgeline.write("org--good_hf_quant_config.json", '{"quantization": {"quant_algo": "FP8"}}')
    ridgeline.write("org--bad_config.json", without("hidden_size"))
    (ridgeline.folder / "inner").mkdir()
    ridgeline.write("inner/config.json", with_value(num_hidden_layers=1))
    rows = {row["name"]: row for row in json.loads(ridgeline("list", "models", "--path", ".", "--format", "json").stdout)}
    assert set(rows) == {"org--good", "org--bad", "inner"}
    assert rows["org--good"]["refused"] is None
    # Llama-3.1-8B's sizes: 8.03 thousand million, 2 * 32 * 8 * 128 cached values a token.
    assert rows["org--good"]["parameters_total"] == 8_030_261_248
    assert "hidden_size" in rows["org--bad"]["refused"]
    table = ridgeline("list", "models", "--path", ".").stdout
    assert "2 read, 1 refused" in table
    assert ridgeline("list", "models", "--path", ".", "--format", "markdown").stdout.startswith("| network |")
    for words, message in [
        (["models", "--path", "nowhere"], "nowhere"),
        (["gpus", "--path", "."], "--path"),
        (["models", "--format", "markdown"], "--format markdown"),
    ]:
        done = ridgeline("list", *words)
        assert done.returncode == 2 and message in done.stderr


def test_published_configurations_are_read(ridgeline):
    if not (SHARED / "models").is_dir():
        pytest.skip(f"no {SHARED / 'models'}")
    rows = json.loads(ridgeline("list", "models", "--path", SHARED / "models", "--format", "json").stdout)
    refused = [row["name"] for row in rows if row["refused"]]
    assert len(rows) > 80
    assert len(refused) <= len(rows) // 10, refused


def run(ridgeline, *words):
    done = ridgeline("run", "--gpu", "h200", "--request-rate", "2", "--num-prompts", "40", "--input-len", "256",
                     "--output-len", "64", "--request-path", "off", "--format", "json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "words",
    [
        ["--model", "llama-3.1-70b", "--tp", "2", "--pipeline-parallel-size", "2"],
        ["--model", "qwen3-30b-a3b", "--data-parallel-size", "4", "--enable-expert-parallel"],
        ["--model", "qwen3-30b-a3b", "--data-parallel-size", "4", "--enable-expert-parallel",
         "--all2all-backend", "deepep_low_latency"],
        ["--model", "llama-3.1-8b", "--prefill-context-parallel-size", "2"],
        ["--model", "llama-3.1-70b", "--tp", "4", "--speculative-config",
         '{"method": "draft_model", "model": "llama-3.2-1b", "num_speculative_tokens": 3, "acceptance": [0.8, 0.7]}'],
    ],
)
def test_every_cut_runs_and_its_result_runs_again(ridgeline, words):
    result = run(ridgeline, *words)
    # Each data-parallel rank gets its part of 40 requests.
    ranks = int(words[words.index("--data-parallel-size") + 1]) if "--data-parallel-size" in words else 1
    assert result["summary"]["completed"] == 40 // ranks
    ridgeline.write("again.yaml", json.dumps(result["config"]))
    again = ridgeline("run", "again.yaml", "--format", "json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["digest"] == result["digest"]


def test_data_parallel_ranks_share_the_deployments_workload(ridgeline):
    words = ["run", "--model", "qwen3-30b-a3b", "--gpu", "h200", "--data-parallel-size", "8", "--enable-expert-parallel",
             "--input-len", "256", "--output-len", "64", "--num-prompts", "100"]
    result = json.loads(ridgeline(*words, "--request-rate", "8", "--format", "json").stdout)
    whole = result["deployment"]
    # 8 req/s and 100 requests over 8 ranks: 1 req/s, and 12 or 13 requests.
    assert (whole["request_rate"], whole["rank_request_rate"]) == (8, 1)
    assert (whole["requests"], whole["rank_requests"]) == (100, 13)
    assert result["summary"]["completed"] == 13
    # All 100 requests in the time of the rank that has 13 of them.
    assert whole["output_throughput"] == pytest.approx(100 / 13 * result["summary"]["output_throughput"])
    assert result["config"]["workload"]["request_rate"] == 8
    table = ridgeline(*words, "--request-rate", "8").stdout
    assert "8 req/s (Poisson)" in table and "100 requests" in table
    text = " ".join(table.split())
    assert "simulated: 1 of 8 ranks, 1 req/s, 13 requests" in text
    assert "\n8 ranks " in table
    assert "one of 8 data-parallel ranks is simulated, with 1 of 8 requests/s, 13 of 100 requests" in text
    closed = json.loads(ridgeline(*words, "--max-concurrency", "20", "--format", "json").stdout)
    # This rank has one client more than some others, and with 3 of 20 clients 15 of 100 requests.
    assert any("3 of 20 clients, 15 of 100 requests" in warning["message"] for warning in closed["warnings"])
    assert closed["deployment"]["request_rate"] is None


def test_ranks_without_a_client_or_request_do_not_count(ridgeline):
    words = ["run", "--model", "qwen3-30b-a3b", "--gpu", "h200", "--data-parallel-size", "8", "--enable-expert-parallel",
             "--input-len", "256", "--output-len", "64"]
    for load, times in ((["--max-concurrency", "4", "--num-prompts", "100"], 4),
                        (["--arrivals", "at-once", "--num-prompts", "4"], 4),
                        (["--max-concurrency", "9", "--num-prompts", "90"], 4.5)):
        result = json.loads(ridgeline(*words, *load, "--format", "json").stdout)
        rank, whole = result["summary"], result["deployment"]
        assert whole["output_throughput"] == pytest.approx(times * rank["output_throughput"]), load
        assert whole["loaded_ranks"] == (8 if times == 4.5 else 4)
    message = json.loads(ridgeline(*words, "--max-concurrency", "4", "--format", "json").stdout)["warnings"][0]["message"]
    assert "1 of 4 clients, 250 of 1000 requests" in message and "but for 4 that get no request" in message


def test_a_replay_shows_the_whole_deployment(ridgeline):
    ridgeline.write("t.csv", "arrived_at,num_prefill_tokens,num_decode_tokens\n"
                    + "".join(f"{i / 4},200,20\n" for i in range(42)))
    words = ["--model", "qwen3-30b-a3b", "--gpu", "h200", "--data-parallel-size", "8", "--enable-expert-parallel"]
    ran = ridgeline("replay", "t.csv", *words, "-o", "r.json", "-o", "r.csv", "-o", "r.md")
    assert ran.returncode == 0, ran.stderr
    assert "42 requests" in ran.stdout and "simulated: 1 of 8 ranks, 6 requests" in " ".join(ran.stdout.split())
    result = json.loads((ridgeline.folder / "r.json").read_text())
    whole = result["deployment"]
    assert (whole["requests"], whole["rank_requests"]) == (42, 6)
    assert whole["request_throughput"] == pytest.approx(7 * result["summary"]["request_throughput"])
    names, values = (ridgeline.folder / "r.csv").read_text().splitlines()[:2]
    row = dict(zip(names.split(","), values.split(",")))
    assert float(row["deployment.request_throughput"]) == pytest.approx(whole["request_throughput"])
    assert "8 ranks: " in (ridgeline.folder / "r.md").read_text()


def test_another_familys_reader_is_named_and_works(ridgeline):
    ridgeline.write("config.json", with_value(model_type="newllama", hyper_layers=3))
    refused = ridgeline("explain", "--model", "config.json", "--gpu", "h100")
    assert refused.returncode == 2
    assert "--set model.model_type=llama" in refused.stderr
    read = ridgeline("explain", "--model", "config.json", "--gpu", "h100", "--set", "model.model_type=llama")
    assert read.returncode == 0, read.stderr
    assert "W-config-keys" in read.stdout and '"hyper_layers"' in read.stdout


def test_what_does_not_fit_says_what_does(ridgeline):
    done = ridgeline("explain", "--model", "llama-3.1-70b-fp8", "--gpu", "h100")
    assert done.returncode == 4
    hint = " ".join(done.stderr.split())
    words = hint[hint.index("it fits with ") + len("it fits with "):].split(";")[0].split()
    assert ridgeline("explain", "--model", "llama-3.1-70b-fp8", "--gpu", "h100", *words).returncode == 0, words


def test_explain_counts_requests_of_the_workloads_length(ridgeline):
    words = ["--model", "llama-3.1-8b", "--gpu", "h100", "--input-len", "8192", "--output-len", "256"]
    table = ridgeline("explain", *words).stdout
    assert "requests of 8 448 tokens" in table
    memory = json.loads(ridgeline("explain", *words, "--format", "json").stdout)["memory"]
    # 8448 tokens are 528 blocks of 16; the null block holds nothing.
    assert memory["requests_of_workload_length"] == (memory["num_gpu_blocks"] - 1) / 528


def test_vllms_words_for_formats(ridgeline):
    base = ["explain", "--model", "llama-3.3-70b", "--gpu", "h100", "--tp", "2", "--format", "json"]
    by_flag = json.loads(ridgeline(*base, "--quantization", "fp8").stdout)
    by_map = json.loads(ridgeline(*base, "--set", "model.quantization_config={quant_method: fp8}").stdout)
    assert by_flag["memory"] == by_map["memory"]
    refused = ridgeline(*base, "--quantization", "awq")
    assert refused.returncode == 2 and "engine.quantization: awq" in refused.stderr


def test_drafts_shorten_the_gaps_by_what_is_accepted(ridgeline):
    deepseek = ["--model", "deepseek-v3", "--tp", "8"]
    plain = run(ridgeline, *deepseek)
    none = run(ridgeline, *deepseek, "--speculative-config", '{"method": "mtp", "num_speculative_tokens": 1, "acceptance": 0}')
    every = run(ridgeline, *deepseek, "--speculative-config", '{"method": "mtp", "num_speculative_tokens": 1, "acceptance": 1}')
    # A draft that is never accepted only costs; one that always is halves the number of steps of a request.
    assert none["summary"]["tpot_ms"]["mean"] > plain["summary"]["tpot_ms"]["mean"]
    assert every["summary"]["tpot_ms"]["mean"] < 0.8 * plain["summary"]["tpot_ms"]["mean"]


@pytest.mark.parametrize(
    "words, field",
    [
        (["--model", "llama-3.1-8b", "--decode-context-parallel-size", "2"], "engine.decode_context_parallel_size"),
        (["--model", "llama-3.1-8b", "--enable-expert-parallel"], "engine.enable_expert_parallel"),
        (["--model", "qwen3-30b-a3b", "--data-parallel-size", "64", "--tp", "8", "--enable-expert-parallel"],
         "engine.enable_expert_parallel"),
        (["--model", "llama-3.1-8b", "--pipeline-parallel-size", "33"], "engine.pipeline_parallel_size"),
        (["--model", "llama-3.1-8b", "--pipeline-parallel-size", "2", "--async-scheduling"], "engine.async_scheduling"),
        (["--model", "gpt-oss-20b", "--prefill-context-parallel-size", "2"], "engine.prefill_context_parallel_size"),
        (["--model", "llama-3.1-8b", "--pipeline-parallel-size", "2", "--latency", "v0"], "latency.name"),
        (["--model", "llama-3.1-8b", "--pipeline-parallel-size", "2", "--speculative-config",
          "{method: ngram, num_speculative_tokens: 2, acceptance: 0.5}"], "engine.speculative_config.method"),
        # Its draft model reads a token for each request of a step: none would be left.
        (["--model", "llama-3.1-8b", "--engine-version", "vllm@0.28", "--max-num-seqs", "1",
          "--max-num-batched-tokens", "1", "--speculative-config",
          "{method: draft_model, model: llama-3.2-1b, num_speculative_tokens: 2, acceptance: 0.5}"],
         "engine.max_num_batched_tokens"),
    ],
)
def test_what_is_not_priced_is_refused_by_name(ridgeline, words, field):
    done = ridgeline("explain", "--gpu", "h100", *words)
    assert done.returncode == 2
    assert f"error: {field}: " in done.stderr


@pytest.mark.parametrize(
    "deployment, requests",
    [
        ("--model gpt-oss-120b --gpu h100 --tp 2", 150),
        ("--model gemma-3-27b --gpu h200 --tp 4", 250),
        ("--model mimo-v2-flash --gpu h200 --tp 8", 250),
        ("--model llama-3.1-8b --gpu h100", 40),
    ],
)
def test_explain_counts_the_requests_that_the_simulator_holds(ridgeline, deployment, requests):
    """All requests decode in step to 8,000 tokens: at the end they hold requests / requests held of the cache."""
    lengths = ["--input-len", "64", "--output-len", "7936"]
    plan = ridgeline("explain", *deployment.split(), *lengths, "--format", "json")
    held = json.loads(plan.stdout)["memory"]["requests_of_workload_length"]
    run = ridgeline("run", *deployment.split(), *lengths, "--arrivals", "at-once", "--num-prompts", str(requests),
                    "--format", "json")
    peak = json.loads(run.stdout)["summary"]["kv_cache"]["peak"]
    assert requests / held == pytest.approx(peak, rel=0.01)
    assert held > requests
