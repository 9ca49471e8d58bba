"""Kernels of our own, in Triton, where PyTorch has none. Each file has the kernel, its launch and a plain form that
it is checked against. They are imported only on a GPU; tests run them through a small interpreter."""
