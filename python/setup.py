"""The wheel's tag: pure Python beside shared libraries of one platform. The rest is in pyproject.toml."""

import os

from setuptools import setup
from wheel.bdist_wheel import bdist_wheel


class Wheel(bdist_wheel):
    """Any CPython 3, and the platform that tools/wheel.py found the libraries to need."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", os.environ["RIDGELINE_WHEEL_PLATFORM"]


setup(cmdclass={"bdist_wheel": Wheel})
