# SPDX-License-Identifier: Apache-2.0
"""A stand-in for Triton: of its profiler, Proton, what takes CUPTI."""
