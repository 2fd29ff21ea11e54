"""A stand-in for Triton: of its profiler, Proton, what takes CUPTI."""
