"""Whole forward passes of three networks with random weights: what a sum of operators must come near to.

Every layer of the network is there in time; of their weights only a few sets are (whole/pass_shape.py says why that is
enough)."""

from ridgeline_profiler import grids
from ridgeline_profiler.backends.numpy_env import NumpyEnv
from ridgeline_profiler.backends.torch_env import TorchEnv
from ridgeline_profiler.cases import Case
from ridgeline_profiler.devices import Target
from ridgeline_profiler.networks import Network, whole_pass_networks
from ridgeline_profiler.operators.base import fitting
from ridgeline_profiler.points import Cost, Point, point
from ridgeline_profiler.whole import pass_shape

# (prefills, past, new, decodes, context), the most telling first.
GPU_STEPS = (
    (1, 0, 2048, 0, 0),
    (0, 0, 0, 1, 1024),
    (0, 0, 0, 32, 1024),
    (0, 0, 0, 128, 1024),
    (1, 1024, 512, 32, 1024),
    (1, 0, 512, 0, 0),
    (0, 0, 0, 64, 4096),
    (0, 0, 0, 256, 512),
    (1, 0, 2048, 128, 1024),
    (0, 0, 0, 8, 4096),
    (1, 0, 8192, 0, 0),
    (1, 4096, 2048, 0, 0),
    (4, 0, 512, 0, 0),
    (0, 0, 0, 16, 256),
    (0, 0, 0, 8, 16384),
    (2, 2048, 256, 64, 2048),
    (0, 0, 0, 256, 2048),
    (1, 0, 128, 8, 512),
)
TINY_STEPS = ((1, 0, 16, 0, 0), (0, 0, 0, 4, 32), (1, 8, 8, 2, 16))


def step_points(name: str, target: Target, network: Network, tp: int, layers: int, base: int) -> list[Point]:
    steps = TINY_STEPS if target.is_tiny else GPU_STEPS
    return [
        point(
            name,
            target.base_dtype,
            base + grids.rank_level(rank),
            network=network.name,
            tp=tp,
            layers=layers,
            prefills=prefills,
            past=past,
            new=new,
            decodes=decodes,
            context=context,
        )
        for rank, (prefills, past, new, decodes, context) in enumerate(steps)
    ]


class ForwardPass:
    name = "forward_pass"
    columns = pass_shape.COLUMNS

    def points(self, target: Target) -> list[Point]:
        found = [
            each
            for network in whole_pass_networks(target)
            for each in step_points(self.name, target, network, 1, network.layers, 0)
        ]
        return fitting(self, found, target)

    def cost(self, point: Point) -> Cost:
        return pass_shape.pass_cost(pass_shape.pass_shape(point), point.item_bytes)

    def resident_bytes(self, point: Point) -> float:
        return pass_shape.resident_bytes(pass_shape.pass_shape(point), point.item_bytes)

    def torch_case(self, point: Point, env: TorchEnv) -> Case:
        from ridgeline_profiler.whole.torch_network import TorchStep

        step = TorchStep(env, pass_shape.pass_shape(point), point.dtype)
        return Case("whole pass", [step.run])

    def numpy_case(self, point: Point, env: NumpyEnv) -> Case:
        from ridgeline_profiler.whole.numpy_network import NumpyStep

        step = NumpyStep(env, pass_shape.pass_shape(point))
        return Case("numpy whole pass", [step.run], graph=False)
