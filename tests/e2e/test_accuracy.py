"""The accuracy of predictions, pinned: twenty measured deployments, settings written out and means transcribed. Whatever
moves an error by the last digit printed is red here, on any machine."""

import json

import pytest

# Open loops of inference-perf on vLLM 0.15 and H100, measured at the client: ten groups of ten prompts, each prompt
# repeated in turn, a beginning in common within a group. Means as inference-sim publishes them
# (github.com/inference-sim/training, runs of February and March 2026).
# (network, GPUs, requests/s, requests, tokens in common, other prompt tokens, measured prompt: mean, least, most; answer
#  tokens, batched tokens, KV blocks; measured ms: end to end, first token, per output token)
OPEN = [
    ("meta-llama/Llama-2-7b-hf", 1, 5, 3000, 100, 466, (591.63, 580, 604), 247, 2048, 7463, 1810.32, 25.0366, 7.24935),
    ("meta-llama/Llama-2-7b-hf", 1, 6, 7200, 150, 600, (785.84, 770, 806), 251, 2048, 7463, 2071.12, 27.1288, 8.16743),
    ("meta-llama/Llama-2-7b-hf", 1, 8, 4800, 100, 447, (575.45, 559, 592), 248, 2048, 7463, 2057.60, 27.1091, 8.21290),
    ("Qwen/Qwen2.5-7B-Instruct", 1, 6, 7200, 150, 600, None, 251, 2048, 65352, 1771.80, 26.7162, 6.98033),
    ("mistralai/Mistral-Nemo-Instruct-2407", 2, 2.5, 1500, 100, 447, None, 248, 1024, 48009, 1497.47, 22.0036, 5.97356),
    ("mistralai/Mistral-Nemo-Instruct-2407", 1, 5, 3000, 100, 466, None, 247, 2048, 19251, 2449.78, 31.9000, 9.82878),
    ("01-ai/Yi-34B", 2, 2.5, 1500, 100, 447, None, 248, 2048, 20793, 3780.22, 46.6476, 15.1157),
    ("meta-llama/Llama-3.1-70B-Instruct", 4, 2.5, 1500, 100, 447, None, 248, 8192, 30251, 4207.90, 51.9551, 16.8257),
    ("meta-llama/Llama-3.1-70B-Instruct", 4, 5, 3000, 100, 466, None, 247, 2048, 30425, 4494.73, 54.7355, 18.0488),
    ("RedHatAI/Llama-4-Scout-17B-16E-Instruct-FP8-dynamic", 2, 2.5, 1500, 100, 447, None, 248, 2048, 8253, 4460.33,
     57.8000, 17.8240),
]
# Closed loops of InferenceX's benchmark_serving, Llama-3.1-70B in FP8, lengths uniform from 0.8 times the nominal, as
# AIConfigurator publishes them (github.com/ai-dynamo/aiconfigurator, commit 095f58a5, silicon_sample.csv).
# (GPU, GPUs, clients, prompt tokens, answer tokens, measured ms: first token, per output token)
CLOSED = [
    ("H100-SXM-80GB", 4, 4, 1024, 1024, 80.5001, 11.7761),
    ("H100-SXM-80GB", 4, 16, 1024, 1024, 121.413, 13.1922),
    ("H100-SXM-80GB", 4, 64, 1024, 1024, 256.359, 19.5146),
    ("H100-SXM-80GB", 4, 16, 8192, 1024, 731.504, 21.0641),
    ("H100-SXM-80GB", 2, 8, 1024, 1024, 150.250, 18.2208),
    ("H200-SXM-141GB", 1, 8, 1024, 1024, 255.468, 22.5567),
    ("H200-SXM-141GB", 2, 16, 1024, 8192, 197.478, 17.1798),
    ("H200-SXM-141GB", 2, 8, 8192, 1024, 959.653, 19.6730),
    ("H200-SXM-141GB", 4, 32, 1024, 1024, 179.070, 14.3840),
    ("H200-SXM-141GB", 4, 64, 1024, 8192, 256.792, 18.4641),
]
# Median and mean of the absolute errors in percent, one history each; docs/accuracy.md states them.
SCORES = {
    "open": {"e2e": (0.8, 1.1), "ttft": (0.9, 2.1), "tpot": (0.8, 1.0)},
    "closed": {"ttft": (8.6, 9.4), "tpot": (3.3, 3.6)},
}


def open_record(number, row):
    network, gpus, rate, requests, common, rest, measured, answer, batched, blocks, e2e, ttft, tpot = row
    prompt = {"kind": "fixed-per-prompt", "nominal_tokens": common + rest, "system_prompt_len": common, "question_len": rest}
    if measured:
        prompt["measured_prompt_len"] = dict(zip(("mean", "min", "max"), measured))
    return {
        "id": f"open-{number}", "family": "open", "exp_name": f"open-{number}", "stage": "0", "model": network,
        "gpu": "H100-SXM-80GB", "tp": gpus, "ep": gpus if "Scout" in network else 1, "engine": "vllm", "engine_version": "0.15.1",
        "server": {"max_model_len": 4096, "max_num_seqs": 128, "max_num_batched_tokens": batched, "block_size": 16,
                   "total_kv_blocks": blocks, "prefix_caching": True, "chunked_prefill": True},
        "workload": {"generator": "inference-perf", "loop": "open", "arrival": "constant", "rate_rps": rate,
                     "num_requests": requests, "duration_s": requests / rate,
                     "stages": [{"rate_rps": rate, "num_requests": requests, "duration_s": requests / rate}],
                     "input": prompt, "output": {"kind": "fixed", "tokens": answer},
                     "prefix": {"num_groups": 10, "prompts_per_group": 10, "distinct_prompts": 100}},
        "measured": {"e2e_ms": {"mean": e2e}, "ttft_ms": {"mean": ttft}, "tpot_ms": {"mean": tpot}},
        "measured_side": "client",
    }


def closed_record(number, row):
    gpu, gpus, clients, prompt, answer, ttft, tpot = row
    return {
        "id": f"closed-{number}", "family": "closed", "exp_name": f"closed-{number}", "stage": "point",
        "model": "meta-llama/Llama-3.1-70B", "gpu": gpu, "tp": gpus, "precision": "fp8", "quant": {"gemm": "fp8"},
        "engine": "vllm", "measured_date": "2025-10-29", "server": {"engine": "vllm"},
        "workload": {"generator": "InferenceX benchmark_serving (random dataset, ignore_eos)", "loop": "closed",
                     "concurrency": clients, "num_requests": 10 * clients,
                     "input": {"kind": "random length, uniform 0.8x-1x", "nominal_tokens": prompt},
                     "output": {"kind": "as input", "nominal_tokens": answer}, "prefix": {"shared": 0}},
        "measured": {"ttft_ms": {"mean": ttft}, "tpot_ms": {"mean": tpot}},
        "measured_side": "client",
    }


@pytest.mark.parametrize("loop, record, rows", [("open", open_record, OPEN), ("closed", closed_record, CLOSED)])
def test_errors_of_transcribed_runs(ridgeline, loop, record, rows):
    path = ridgeline.write("runs.jsonl", "".join(json.dumps(record(*row)) + "\n" for row in enumerate(rows)))
    done = ridgeline("validate", path, "--format", "json", "--histories", "1")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["counts"]["scored"] == len(rows), result["counts"]
    scores = {score["metric"]: (round(score["median_abs_pct"], 1), round(score["mean_abs_pct"], 1))
              for score in result["scores"]
              if (score["axis"], score["value"], score["statistic"]) == ("all", "all", "mean")
              and score["metric"] in SCORES[loop]}
    assert scores == SCORES[loop]
