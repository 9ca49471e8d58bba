"""One decoder layer of the whole-pass networks and of their shards, without collectives."""

from typing import Any

from ridgeline_profiler.backends.numpy_env import NumpyEnv
from ridgeline_profiler.backends.torch_env import TorchEnv
from ridgeline_profiler.cases import Case
from ridgeline_profiler.devices import Target
from ridgeline_profiler.networks import degrees, whole_pass_networks
from ridgeline_profiler.operators.base import fitting
from ridgeline_profiler.operators.forward_pass import step_points
from ridgeline_profiler.points import Cost, Point
from ridgeline_profiler.whole import pass_shape


class DecoderLayer:
    name = "decoder_layer"
    columns = pass_shape.COLUMNS

    def points(self, target: Target) -> list[Point]:
        """`layers` is the number of layers whose weights are used in turn; the time is that of one."""
        found = [
            each
            for network in whole_pass_networks(target)
            for rank, tp in enumerate(degrees(target))
            for each in step_points(self.name, target, network, tp, pass_shape.DISTINCT_LAYERS, 1 + rank)
        ]
        return fitting(self, found, target)

    def cost(self, point: Point) -> Cost:
        return pass_shape.layer_cost(pass_shape.pass_shape(point), point.item_bytes)

    def resident_bytes(self, point: Point) -> float:
        return pass_shape.resident_bytes(pass_shape.pass_shape(point), point.item_bytes)

    def torch_case(self, point: Point, env: TorchEnv) -> Case:
        from ridgeline_profiler.whole.torch_network import TorchStep

        shape = pass_shape.pass_shape(point)
        step = TorchStep(env, shape, point.dtype)
        hidden = env.normal(shape.tokens, shape.network.hidden, dtype=point.dtype)
        residual = env.normal(shape.tokens, shape.network.hidden, dtype=point.dtype)

        def layer(index: int) -> Any:
            return lambda: step.run_layer(index, hidden, residual)

        return Case("whole layer", [layer(index) for index in range(shape.distinct_layers)])

    def numpy_case(self, point: Point, env: NumpyEnv) -> Case:
        from ridgeline_profiler.whole.numpy_network import NumpyStep

        shape = pass_shape.pass_shape(point)
        step = NumpyStep(env, shape)
        hidden = env.normal(shape.tokens, shape.network.hidden)
        return Case("numpy whole layer", [lambda: step.run_layer(hidden)], graph=False)
