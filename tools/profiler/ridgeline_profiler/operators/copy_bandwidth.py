"""Device-to-device copies: the bandwidth that streaming kernels can hope for, bytes read plus bytes written."""

from ridgeline_profiler import counts, grids
from ridgeline_profiler.backends.numpy_env import NumpyEnv
from ridgeline_profiler.backends.torch_env import TorchEnv
from ridgeline_profiler.cases import Call, Case
from ridgeline_profiler.devices import Target
from ridgeline_profiler.operators.base import fitting
from ridgeline_profiler.points import Cost, Point, point

MEBIBYTE = 2**20
MEGABYTES = (1, 4, 16, 64, 256, 1024, 4096)
TINY_MEGABYTES = (1, 4)


class CopyBandwidth:
    name = "copy"
    columns = ("megabytes",)

    def points(self, target: Target) -> list[Point]:
        axis = grids.leveled(grids.pick(target, MEGABYTES, TINY_MEGABYTES))
        found = [point(self.name, target.base_dtype, level, megabytes=size) for size, level in axis]
        return fitting(self, found, target)

    def cost(self, point: Point) -> Cost:
        return counts.copy(point.number("megabytes") * MEBIBYTE)

    def resident_bytes(self, point: Point) -> float:
        return self.cost(point).bytes

    def torch_case(self, point: Point, env: TorchEnv) -> Case:
        elements = point.number("megabytes") * MEBIBYTE // point.item_bytes

        def make() -> Call:
            source = env.normal(elements, dtype=point.dtype)
            destination = env.torch.empty_like(source)
            return lambda: destination.copy_(source)

        return Case("torch.Tensor.copy_", env.cold(self.cost(point).bytes, make))

    def numpy_case(self, point: Point, env: NumpyEnv) -> Case:
        source = env.normal(point.number("megabytes") * MEBIBYTE // point.item_bytes)
        destination = env.np.empty_like(source)
        return Case("numpy.copyto", [lambda: env.np.copyto(destination, source)], graph=False)
