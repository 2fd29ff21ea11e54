from torch.autograd.profiler import profile, record_function  # noqa: F401
