"""What a deployment that states no limits gets from each release of vLLM: for 30 networks, GPUs and numbers of GPUs
the defaults of the sources of 0.27.0 to 0.33.0 (engine/arg_utils.py, config/cache.py, config/vllm.py)."""

import json

import pytest

VERSIONS = ["0.27", "0.28", "0.29", "0.30", "0.31", "0.32", "0.33"]

# max_num_batched_tokens and max_num_seqs of an API server, a release each.
LARGEST = ([8192] + [16384] * 6, [1024] * 7)  # 160 GiB or more
LARGE = ([8192] * 7, [1024] * 7)  # 70 GiB or more, no A100
SMALL = ([2048] * 7, [256] * 7)
GB10 = ([8192] * 6 + [2048], [1024] * 6 + [256])
# Prefixes of networks with recurrent states are cached by default from 0.28 on, in blocks of the state's size.
ATTENTION, STATES = [True] * 7, [False] + [True] * 6

DEPLOYMENTS = [
    ("llama-3.1-8b", "h100", 1, LARGE, ATTENTION),
    ("llama-3.1-8b", "a100-80gb", 1, SMALL, ATTENTION),
    ("llama-3.1-8b", "a100-40gb", 1, SMALL, ATTENTION),
    ("llama-3.1-8b", "l40s", 1, SMALL, ATTENTION),
    ("llama-3.1-8b", "gb10", 1, GB10, ATTENTION),
    ("llama-3.1-8b", "rtx-pro-6000", 1, LARGE, ATTENTION),
    ("llama-3.1-8b", "mi300x", 1, LARGEST, ATTENTION),
    ("llama-3.1-70b", "h100", 4, LARGE, ATTENTION),
    ("llama-3.1-70b", "h200", 2, LARGE, ATTENTION),
    ("llama-3.1-70b", "b200", 1, LARGEST, ATTENTION),
    ("llama-3.1-70b", "a100-80gb", 4, SMALL, ATTENTION),
    ("llama-3.1-405b", "h200", 8, LARGE, ATTENTION),
    ("mistral-7b", "a10g", 1, SMALL, ATTENTION),
    ("mixtral-8x7b", "h100", 2, LARGE, ATTENTION),
    ("mixtral-8x22b", "h200", 4, LARGE, ATTENTION),
    ("qwen2.5-7b", "l4", 1, SMALL, ATTENTION),
    ("qwen3-8b", "rtx-4090", 1, SMALL, ATTENTION),
    ("qwen3-32b", "h100", 2, LARGE, ATTENTION),
    ("qwen3-30b-a3b", "h100", 1, LARGE, ATTENTION),
    ("qwen3-235b-a22b", "b200", 4, LARGEST, ATTENTION),
    ("qwen3-next-80b-a3b", "h200", 2, LARGE, STATES),
    ("qwen3.5-27b", "h200", 1, LARGE, STATES),
    ("nemotron-nano-9b-v2", "h100", 1, LARGE, STATES),
    ("gpt-oss-20b", "h100", 1, LARGE, ATTENTION),
    ("gpt-oss-120b", "b200", 1, LARGEST, ATTENTION),
    ("gemma-3-27b", "h100", 1, LARGE, ATTENTION),
    ("deepseek-v3", "h200", 8, LARGE, ATTENTION),
    ("deepseek-v3", "b300", 4, LARGEST, ATTENTION),
    ("deepseek-v2-lite", "h100", 1, LARGE, ATTENTION),
    ("llama-4-scout-fp8", "gb200", 1, LARGEST, ATTENTION),
]


@pytest.mark.parametrize(("model", "gpu", "gpus", "limits", "caches"), DEPLOYMENTS,
                         ids=[f"{model}-{gpu}x{gpus}" for model, gpu, gpus, _, _ in DEPLOYMENTS])
def test_a_deployment_gets_the_releases_defaults(ridgeline, model, gpu, gpus, limits, caches):
    tokens, seqs = limits
    for i, version in enumerate(VERSIONS):
        result = ridgeline("run", "--model", model, "--gpu", gpu, "--tensor-parallel-size", str(gpus),
                           "--engine-version", f"vllm@{version}", "--request-rate", "1", "--num-prompts", "1",
                           "--input-len", "16", "--output-len", "2", "--format", "json")
        engine = json.loads(result.stdout)["config"]["engine"]
        assert (engine["max_num_batched_tokens"], engine["max_num_seqs"]) == (tokens[i], seqs[i]), version
        assert engine["enable_prefix_caching"] == caches[i], version
        assert engine["gpu_memory_utilization"] == 0.92
        assert engine["enable_chunked_prefill"]
        assert engine["async_scheduling"], version
        assert engine["scheduling_policy"] == "fcfs"
        assert engine["stream_interval"] == 1
        assert engine["long_prefill_token_threshold"] == 0
