"""Time from one tiny kernel to the next: replayed in a CUDA graph, and launched one by one."""

from ridgeline_profiler.backends.numpy_env import NumpyEnv
from ridgeline_profiler.backends.torch_env import TorchEnv
from ridgeline_profiler.cases import Case
from ridgeline_profiler.devices import Target
from ridgeline_profiler.points import Cost, Point, point

# In a row; the end of the row is a small part of the time.
KERNELS = 500
# Each adds one to this many elements: less than a program of any kernel.
ELEMENTS = 32


class LaunchGap:
    name = "launch_gap"
    columns = ("mode",)

    def points(self, target: Target) -> list[Point]:
        return [point(self.name, "fp32", 0, mode=mode) for mode in ("graph", "eager")]

    def cost(self, point: Point) -> Cost:
        return Cost(float(ELEMENTS), 8.0 * ELEMENTS)

    def resident_bytes(self, point: Point) -> float:
        return 4.0 * ELEMENTS

    def torch_case(self, point: Point, env: TorchEnv) -> Case:
        x = env.normal(ELEMENTS, dtype="fp32")

        def row() -> None:
            for _ in range(KERNELS):
                x.add_(1.0)

        return Case("torch.Tensor.add_", [row], calls_inside=KERNELS, graph=point.text("mode") == "graph")

    def numpy_case(self, point: Point, env: NumpyEnv) -> Case:
        x = env.normal(ELEMENTS)

        def row() -> None:
            for _ in range(KERNELS):
                env.np.add(x, 1.0, out=x)

        return Case("numpy.add", [row], calls_inside=KERNELS, graph=False)
