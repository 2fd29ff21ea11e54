// Waiting for the GPU, as cudaDeviceSynchronize does, from a thread that may have no CUDA context of its own.
#pragma once

namespace prof {

// Returns when the work that was put on any device's primary context (the CUDA runtime's) and on the calling thread's
// current one is done. Returns at once without a driver, before cuInit, and for a context that has failed. Disturbs no
// stream capture. Any thread but one in a callback of CUPTI's; as long as the GPU takes.
void wait_for_gpu() noexcept;

}  // namespace prof
