"""Operations and bytes, multiplied out by hand."""

import pytest

from ridgeline_profiler import counts
from ridgeline_profiler.networks import Moe, Network
from ridgeline_profiler.operators import BY_NAME
from ridgeline_profiler.points import point
from ridgeline_profiler.whole import pass_shape
from ridgeline_profiler.whole.pass_shape import PassShape


def test_gemm():
    # 2 * 3 * 4 * 5 = 120; weights 4*5 and inputs 3*4 in one byte, 3*5 outputs in two: 20 + 12 + 30.
    assert counts.gemm(3, 4, 5, 1) == counts.Cost(120.0, 62.0)
    # All in two bytes: 2 * (20 + 12 + 15).
    assert counts.gemm(3, 4, 5, 2).bytes == 94.0


def test_whole_prompt_has_the_causal_half():
    # 32 heads of 128, 1024 tokens: 4 * 32 * 128 * 1024^2 / 2 = 8,589,934,592. Keys and values of 8 heads:
    # 2 * 8 * 128 * 1024 elements; queries and outputs 2 * 32 * 128 * 1024: 10,485,760 elements of two bytes.
    cost = counts.prefill_attention(1, 0, 1024, 32, 8, 128, 128, 2)
    assert cost == counts.Cost(8_589_934_592.0, 20_971_520.0)


def test_published_prefill_row():
    # The H100 table of inference-sim has 32-8-128 at 4096 tokens as 217.585 us and MFU 0.638 of 989.5 TFLOP/s.
    flops = counts.prefill_attention(1, 0, 4096, 32, 8, 128, 128, 2).flops
    assert flops / 217.585e-6 / 989.5e12 == pytest.approx(0.638, abs=0.0005)


def test_chunk_sees_its_prefix_whole():
    # 2 new behind 10: pairs 2*10 + 2*2/2 = 22; one head of 4: 2 * (4 + 4) * 22 = 352.
    # Twelve keys and values of 8 elements in all, two queries and outputs: (12 * 8 + 2 * 8) * 2 bytes.
    assert counts.prefill_attention(1, 10, 2, 1, 1, 4, 4, 2) == counts.Cost(352.0, 224.0)


def test_chunks_sum_to_the_whole():
    whole = counts.prefill_attention(1, 0, 8192, 32, 8, 128, 128, 2).flops
    halves = [counts.prefill_attention(1, past, 4096, 32, 8, 128, 128, 2).flops for past in (0, 4096)]
    assert sum(halves) == whole


def test_decode_attention():
    # 2 sequences, 4 heads of 8 over 10 keys: 4 * 2 * 4 * 8 * 10 = 2560. Cache 2 * 2 heads * 8 * 10 = 320 elements,
    # query and output 2 * 4 * 8 = 64: (320 + 64) * 2 sequences * 2 bytes.
    assert counts.decode_attention(2, 10, 4, 2, 8, 2) == counts.Cost(2560.0, 1536.0)


def test_published_mla_decode_row():
    # InferSim's H800 table: 128 heads, latent 512, rope 64, one sequence of 4096: 21.653 us, MFU 0.053 of 989.
    flops = counts.mla_decode(1, 4096, 128, 512, 64, 2).flops
    # 2 * 128 * 4096 * (2 * 512 + 64)
    assert flops == 1_140_850_688.0
    assert flops / 21.653e-6 / 989e12 == pytest.approx(0.053, abs=0.0005)


def test_published_mla_prefill_row():
    # 128 heads of 128 + 64 with values of 128, 1024 tokens: 116.88 us, MFU 0.372.
    flops = counts.prefill_attention(1, 0, 1024, 128, 128, 192, 128, 2).flops
    assert flops / 116.88e-6 / 989e12 == pytest.approx(0.372, abs=0.0005)


def test_mla_cache_is_read_once_for_all_heads():
    # 5 cached vectors of 4 + 2; two heads with queries of 6 and outputs of 4: 30 + 20 elements.
    assert counts.mla_decode(1, 5, 2, 4, 2, 2).bytes == 100.0


def test_grouped_gemm_reads_active_experts_only():
    # 6 pairs on 2 experts of 3x4: 2 * 6 * 12 = 144; 2 * 12 weights + 18 inputs in one byte, 24 outputs in two.
    assert counts.grouped_gemm(6, 2, 3, 4, 1) == counts.Cost(144.0, 90.0)


def test_elementwise():
    # 2 tokens of 3: five operations each; four tensors of six and a scale of three, in two bytes.
    assert counts.rms_norm(2, 3, 2) == counts.Cost(30.0, 54.0)
    # 2 tokens, 3 heads of 4 = 24 elements: 72; read and written in two bytes, and 2 * 4 values of four bytes.
    assert counts.rotary(2, 3, 4, 2) == counts.Cost(72.0, 128.0)
    assert counts.gated_activation(2, 3, 2) == counts.Cost(30.0, 36.0)
    # 2 rows of 3 read and written in two bytes; two ids of four.
    assert counts.embedding(2, 3, 2) == counts.Cost(0.0, 32.0)
    assert counts.copy(1000) == counts.Cost(0.0, 2000.0)


@pytest.mark.parametrize("method, passes", [("argmax", 1), ("top_k_top_p", 4), ("penalties", 5)])
def test_sampling(method, passes):
    assert counts.sampling(2, 10, method) == counts.Cost(20.0 * passes, 80.0 * passes)


def test_collectives():
    # Four ranks, 800 bytes of two: three quarters of 400 sums; 2 * 3/4 * 800 sent. All-to-all sends 3/4 * 800.
    assert counts.collective("all_reduce", 800, 4, 2) == counts.Cost(300.0, 1200.0)
    assert counts.collective("all_to_all", 800, 4, 2) == counts.Cost(0.0, 600.0)
    with pytest.raises(ValueError, match="no collective"):
        counts.collective("broadcast", 8, 2, 2)


def test_expert_parallel_rank_counts_its_own_pairs():
    # Balanced: token t takes experts 2t and 2t+1 of 8. Of four tokens' eight pairs a rank with the first four
    # experts has four, one each. Up: 4 pairs * 2 * 32 * (2*16); down: 4 * 2 * 16 * 32.
    shape = dict(hidden=32, width=16, experts=8, local_experts=4, top_k=2, tokens=4, routing="balanced")
    operator = BY_NAME["grouped_gemm"]
    assert operator.cost(point("grouped_gemm", "bf16", 0, part="up", **shape)).flops == 8192.0
    assert operator.cost(point("grouped_gemm", "bf16", 0, part="down", **shape)).flops == 4096.0


def test_dense_layer_is_the_sum_of_its_operators():
    # hidden 8, 2 heads and 1 KV head of 4, width 6, one decode over 3 cached tokens (4 with its own), per operator:
    # norms 2 * 5*8; QKV 2*8*16; rotary 3 * 3*4; attention 4*2*4*4; output 2*8*8; gate-up 2*8*12; activation 5*6;
    # down 2*6*8.
    network = Network("n", 8, 2, 1, 4, 6, 10, 1)
    shape = PassShape(network, 1, 1, 0, 0, 0, 1, 3)
    assert pass_shape.layer_cost(shape, 2).flops == 80 + 256 + 36 + 128 + 128 + 192 + 30 + 96
    # The whole pass adds the last norm 5*8, logits 2*8*10 and one operation per logit.
    assert pass_shape.pass_cost(shape, 2).flops == 946 + 40 + 160 + 10


def test_whole_pass_streams_the_weights_once():
    # Llama-3.1-8B at batch 1: 6.98e9 weights of the layers (32 * (4096*6144 + 4096^2 + 3*4096*14336)) and 0.525e9 of
    # lm_head (4096*128256), two bytes each = 15.0e9; caches and activations are below a percent.
    step = dict(network="llama-3.1-8b", tp=1, layers=32, prefills=0, past=0, new=0, decodes=1, context=100)
    cost = BY_NAME["forward_pass"].cost(point("forward_pass", "bf16", 0, **step))
    weights = 2 * (32 * (4096 * 6144 + 4096**2 + 3 * 4096 * 14336) + 4096 * 128256)
    assert weights < cost.bytes < 1.01 * weights


def test_moe_layer_reads_no_more_experts_than_it_has():
    network = Network("m", 8, 2, 1, 4, 0, 10, 1, moe=Moe(4, 2, 6))
    few = pass_shape.feed_forward_cost(PassShape(network, 1, 1, 0, 0, 0, 1, 3), 2)
    many = pass_shape.feed_forward_cost(PassShape(network, 1, 1, 0, 0, 0, 512, 3), 2)
    # One token: two experts of 3*8*6 weights. Router 2*8*4, up 2*2*8*12, act 5*2*6, down 2*2*6*8, sum 2*2*8.
    assert few.flops == 64 + 384 + 60 + 192 + 32
    # 512 tokens have 512 times the operations, but experts are read once: four of them.
    assert many.flops == 512 * few.flops
    assert many.bytes < 512 * few.bytes / 2
