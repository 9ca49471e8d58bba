"""KV outside the GPUs, as `run` shows it."""

import json

import pytest

# Prompts of 2,000 tokens that share their first 1,920 with one in forty, and a KV cache for four of them.
RUN = ("run", "--model", "llama-3.1-8b", "--gpu", "h100", "--input-len", 80, "--prefix-len", 1920, "--num-prefixes", 40,
       "--output-len", 40, "--seed", 3, "--request-rate", 4, "--num-prompts", 200, "--num-gpu-blocks", 700)
TIERS = (*RUN, "--cpu-bytes-to-use", "20GiB")


def result_of(ridgeline, *words):
    done = ridgeline(*words, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def tier_of(result, name):
    return next(tier for tier in result["summary"]["cluster"]["kv_offload"]["tiers"] if tier["tier"] == name)


def test_a_host_tier_saves_prefill(ridgeline):
    without = result_of(ridgeline, *RUN)["summary"]
    result = result_of(ridgeline, *TIERS)
    offload = result["summary"]["cluster"]["kv_offload"]
    host = tier_of(result, "host")
    assert result["summary"]["completed"] == 200
    assert result["summary"]["ttft_ms"]["mean"] < without["ttft_ms"]["mean"]
    assert offload["hit_rate"] > 0.5
    # 131 072 bytes a token, 16 tokens a block: 10 240 blocks.
    assert host["capacity_blocks"] == 10240
    assert host["bytes_read"] == host["hit_tokens"] * 131072
    assert host["hit_tokens"] == offload["hit_tokens"]
    assert host["blocks_refused"] == host["blocks_evicted"] == 0
    # At 50 GB/s alone, less than what waits for others.
    assert host["read_ms"] >= host["bytes_read"] / host["loads"] / 50e9 * 1e3 * 0.999
    assert offload["load_ms"] >= host["read_ms"]


def test_both_engines_and_no_jump_give_one_digest(ridgeline):
    host = ("--cpu-bytes-to-use", "20GiB")
    for extra in (host, ("--offload-block-size", 64, "--eviction-policy", "arc", "--cpu-bytes-to-use", "4GiB"),
                  ("--disk-bytes-to-use", "40GiB", "--write-policy", "write_back", "--cpu-bytes-to-use", "2GiB"),
                  (*host, "--instances", 3, "--shared-bytes-to-use", "40GiB", "--instances-per-host", 2, "--load-policy", "faster"),
                  (*host, "--no-offload-prompt-only", "--max-concurrency", 8, "--store-threshold", 2)):
        words = (*RUN, *extra)
        digest = result_of(ridgeline, *words)["digest"]
        assert result_of(ridgeline, *words, "--engine-core", "reference")["digest"] == digest, extra
        assert result_of(ridgeline, *words, "--no-jump")["digest"] == digest, extra


def test_one_instance_needs_no_cluster(ridgeline):
    assert result_of(ridgeline, *TIERS)["digest"] == result_of(ridgeline, *TIERS, "--instances", 1)["digest"]


def agree(ridgeline, *words):
    """One result of both engines, with jumps and without."""
    result = result_of(ridgeline, *words)
    for other in (("--engine-core", "reference"), ("--no-jump",)):
        again = result_of(ridgeline, *words, *other)
        assert again["digest"] == result["digest"]
        assert again["summary"]["cluster"]["kv_offload"] == result["summary"]["cluster"]["kv_offload"]
    return result


def test_ranks_in_lock_step_have_tiers(ridgeline):
    words = ("run", "--model", "qwen3-30b-a3b", "--gpu", "h100", "--enable-expert-parallel", "--data-parallel-size", 2, "--num-gpu-blocks", 700,
             "--request-rate", 8, "--num-prompts", 120, "--input-len", 80, "--prefix-len", 1920, "--num-prefixes", 12, "--output-len", 20)
    result = agree(ridgeline, *words, "--cpu-bytes-to-use", "20GiB")
    cluster = result["summary"]["cluster"]
    assert cluster["lock_step"]["ranks"] == len(cluster["per_instance"]) == 2  # --instances is not needed.
    assert cluster["kv_offload"]["hit_tokens"] > 0
    without = result_of(ridgeline, *words, "--instances", 2)["summary"]
    assert result["summary"]["ttft_ms"]["mean"] < without["ttft_ms"]["mean"]
    apart = agree(ridgeline, *words, "--instances", 4, "--prefill-instances", 2, "--shared-bytes-to-use", "20GiB")
    assert apart["summary"]["cluster"]["kv_offload"]["hit_tokens"] > 0


def test_pools_of_one_network_share_the_store(ridgeline):
    words = (*RUN, "--shared-bytes-to-use", "40GiB", "--pool", "{name: a, instances: 1, gpu: h100}", "--router", "round-robin")
    alike = tier_of(agree(ridgeline, *words, "--pool", "{name: b, instances: 1, gpu: h200}"), "shared")
    # Cut over two GPUs, or in FP8: of no use for the other pool.
    cut = tier_of(agree(ridgeline, *words, "--pool", "{name: b, instances: 1, tensor_parallel_size: 2}"), "shared")
    small = tier_of(agree(ridgeline, *words, "--pool", "{name: b, instances: 1, kv_cache_dtype: fp8}"), "shared")
    assert cut["hit_tokens"] < alike["hit_tokens"] and small["hit_tokens"] < alike["hit_tokens"]
    assert cut["blocks_written"] > alike["blocks_written"]
    assert small["bytes_written"] < cut["bytes_written"]
    assert small["capacity_blocks"] == 2 * cut["capacity_blocks"]


def test_pools_of_several_networks_have_tiers_of_their_own_blocks(ridgeline):
    result = agree(ridgeline, *RUN, "--cpu-bytes-to-use", "20GiB", "--pool", "{name: a, instances: 1, models: [llama-3.1-8b]}",
                   "--pool", "{name: b, instances: 1, model: qwen3-8b, block_size: 32, models: [llama-3.1-8b]}")
    assert result["summary"]["cluster"]["kv_offload"]["block_tokens"] is None
    # 131 072 and 147 456 bytes a token.
    assert tier_of(result, "host")["capacity_blocks"] == (20 << 30) // (16 * 131072) + (20 << 30) // (32 * 147456)


def test_tiers_go_with_their_instances_and_the_store_stays(ridgeline):
    crash = (*RUN, "--instances", 2, "--fault", "crash@20s+1s:0", "--fault", "crash@30s+1s:1", "--max-retries", 3)
    host = tier_of(result_of(ridgeline, *crash, "--cpu-bytes-to-use", "20GiB"), "host")
    shared = tier_of(result_of(ridgeline, *crash, "--shared-bytes-to-use", "40GiB"), "shared")
    kept = tier_of(result_of(ridgeline, *RUN, "--instances", 2, "--cpu-bytes-to-use", "20GiB"), "host")
    assert host["hit_tokens"] < kept["hit_tokens"]
    assert host["blocks_written"] > kept["blocks_written"]
    assert shared["hit_tokens"] > host["hit_tokens"]


@pytest.mark.parametrize("words", [
    ("--instances", 3, "--prefill-instances", 1),
    ("--instances", 3, "--prefill-instances", 1, "--transfer-mode", "layer-wise", "--shared-bytes-to-use", "9GiB"),
    ("--instances", 3, "--fault", "crash~15s/2s", "--max-retries", 5, "--disk-bytes-to-use", "30GiB"),
    ("--instances", 2, "--autoscaling", "hpa", "--target", 2, "--max-replicas", 4, "--scaling-interval", "3s", "--stabilization-window", "5s",
     "--cold-start", "load=1s", "--cold-start", "compile=0s", "--cold-start", "capture=0s", "--shared-bytes-to-use", "9GiB"),
    ("--instances", 3, "--prefill-instances", 1, "--fault", "node-loss~20s/2s", "--max-retries", 5, "--update-at", "10s"),
])
def test_both_engines_agree_on_tiers_of_instances_that_change(ridgeline, words):
    assert agree(ridgeline, *TIERS, *words)["summary"]["cluster"]["kv_offload"]["hit_tokens"] > 0


def test_the_store_is_shared_and_slower(ridgeline):
    words = (*RUN, "--instances", 4, "--shared-bytes-to-use", "100GiB")
    result = result_of(ridgeline, *words)
    shared = tier_of(result, "shared")
    assert shared["hit_tokens"] > 0
    assert shared["read_ms"] > shared["bytes_read"] / shared["loads"] / 6e9 * 1e3 * 0.999
    slow = tier_of(result_of(ridgeline, *words, "--store-bandwidth", "1GB/s"), "shared")
    assert slow["read_ms"] > 2 * shared["read_ms"]


def test_a_section_says_what_flags_say(ridgeline, tmp_path):
    scenario = tmp_path / "tiers.yaml"
    scenario.write_text(
        "model: llama-3.1-8b\ngpu: h100\nseed: 3\n"
        "engine: {num_gpu_blocks: 700}\n"
        "workload: {input_len: 80, prefix_len: 1920, num_prefixes: 40, output_len: 40, request_rate: 4,"
        " num_prompts: 200}\n"
        "cluster:\n"
        "  kv_offload: {cpu_bytes_to_use: 20GiB, eviction_policy: lru, read_bandwidth: 50GB/s, write_bandwidth: 50GB/s}\n"
    )
    assert result_of(ridgeline, "run", scenario)["digest"] == result_of(ridgeline, *TIERS)["digest"]


@pytest.mark.parametrize(("words", "expected"), [
    (("--cpu-bytes-to-use", "0GB"), "cluster.kv_offload.cpu_bytes_to_use: found 0GB, expected 1B to 1000TB"),
    (("--cpu-bytes-to-use", 100), "expected a number of bytes with its unit"),
    (("--cpu-bytes-to-use", "1MB"), "expected room for a block of 16 tokens: 2097152 bytes"),
    (("--cpu-bytes-to-use", "1GB", "--read-bandwidth", 50), "expected a rate with its unit"),
    (("--cpu-bytes-to-use", "1GB", "--write-bandwidth", "1kB/s"), "expected 1MB/s to 1000TB/s"),
    (("--cpu-bytes-to-use", "1GB", "--no-enable-prefix-caching"), "found by the hashes of the prefix cache, which is off"),
    (("--cpu-bytes-to-use", "1GB", "--offload-block-size", 24), "expected a multiple of the engine's 16 tokens"),
    (("--cpu-bytes-to-use", "1GB", "--eviction-policy", "lro"), "did you mean 'lru'?"),
    (("--cpu-bytes-to-use", "1GB", "--disk-latency", "1ms"), "there is no disk without cluster.kv_offload.disk_bytes_to_use"),
    (("--cpu-bytes-to-use", "1GB", "--store-bandwidth", "1GB/s"), "there is no store without"),
    (("--cpu-bytes-to-use", "1GB", "--write-policy", "write_back"), "there is one tier"),
    (("--cpu-bytes-to-use", "2MB", "--pool", "{name: a, instances: 1}", "--pool", "{name: b, instances: 1, block_size: 32}"),
     "pool 'b': found 2000000 bytes, expected room for a block of 32 tokens: 4194304 bytes"),
    (("--disk-bytes-to-use", "1GB", "--read-latency", "1ms"), "no host memory is used without"),
    (("--instances", 2, "--min-hit-blocks", 2), "no KV is kept outside the GPUs without"),
])
def test_what_contradicts_itself_is_refused(ridgeline, words, expected):
    done = ridgeline(*RUN, *words)
    assert done.returncode == 2
    assert expected in done.stderr
