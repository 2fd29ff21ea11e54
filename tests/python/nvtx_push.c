/* SPDX-License-Identifier: Apache-2.0 */
/* nvtxRangePushA and nvtxRangePop for Python: NVTX is a header, and NVIDIA's Python package calls other functions of it
 * than PyTorch does. */
#include <nvtx3/nvToolsExt.h>

int push(const char* text) { return nvtxRangePushA(text); }
int pop(void) { return nvtxRangePop(); }
