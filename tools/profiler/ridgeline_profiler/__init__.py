"""Measures the kernels of one's own GPU, and writes them as tables that Ridgeline predicts with.

`python3 -m ridgeline_profiler --help` says how; docs/guide/profile-your-gpu.md is the guide. Nothing here needs
PyTorch to be imported: only the CUDA backend does, and only when it starts.
"""

VERSION = "1.0"
