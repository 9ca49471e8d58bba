"""Every operator, by name."""

from ridgeline_profiler.operators.activation import Activation
from ridgeline_profiler.operators.base import Operator
from ridgeline_profiler.operators.collective import Collective
from ridgeline_profiler.operators.copy_bandwidth import CopyBandwidth
from ridgeline_profiler.operators.decode_attention import DecodeAttention
from ridgeline_profiler.operators.decoder_layer import DecoderLayer
from ridgeline_profiler.operators.embedding import Embedding
from ridgeline_profiler.operators.forward_pass import ForwardPass
from ridgeline_profiler.operators.gemm import Gemm
from ridgeline_profiler.operators.grouped_gemm import GroupedGemm
from ridgeline_profiler.operators.launch_gap import LaunchGap
from ridgeline_profiler.operators.lm_head import LmHead
from ridgeline_profiler.operators.mla_decode import MlaDecode
from ridgeline_profiler.operators.mla_prefill import MlaPrefill
from ridgeline_profiler.operators.prefill_attention import PrefillAttention
from ridgeline_profiler.operators.rms_norm import RmsNorm
from ridgeline_profiler.operators.rotary import Rotary
from ridgeline_profiler.operators.sampling import Sampling

ALL: tuple[Operator, ...] = (
    CopyBandwidth(),
    LaunchGap(),
    Gemm(),
    PrefillAttention(),
    DecodeAttention(),
    MlaPrefill(),
    MlaDecode(),
    GroupedGemm(),
    RmsNorm(),
    Rotary(),
    Activation(),
    Embedding(),
    LmHead(),
    Sampling(),
    Collective(),
    DecoderLayer(),
    ForwardPass(),
)

BY_NAME: dict[str, Operator] = {operator.name: operator for operator in ALL}
