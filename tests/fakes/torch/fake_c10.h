/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for the libraries of PyTorch's caching allocator: libfake_c10.so has the two functions by which the
 * allocator reports, under PyTorch's names, and libc10_fake.so the allocator, which calls them through its import
 * table. Its arithmetic is simple and known: sizes are rounded up to 512 bytes; a request takes the first free piece
 * that is large enough, and without one a segment of a multiple of 2 MiB is reserved; pieces join again within their
 * segment. Nothing is behind the addresses. Any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 0: out of memory, after a retry without what is cached. */
uint64_t fake_c10_allocate(size_t bytes, int device);
void fake_c10_free(uint64_t address, int device);
/* Segments in which nothing is in use are given back, without a report: as PyTorch does it. */
void fake_c10_empty_cache(int device);
/* Of segments together; 0: none. */
void fake_c10_set_limit(size_t bytes, int device);

size_t fake_c10_allocated(int device);
size_t fake_c10_reserved(int device);
size_t fake_c10_peak(int device); /* the most that was allocated since the last call of this function */

/* How often PyTorch's own functions were called, by whatever way. */
size_t fake_c10_reports(void);
size_t fake_c10_failures(void);

#ifdef __cplusplus
}
#endif
