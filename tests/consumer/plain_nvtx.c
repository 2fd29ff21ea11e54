/* SPDX-License-Identifier: Apache-2.0 */
// A program that uses NVTX and refers to nothing in libprof.
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

int main(void) {
    for (int i = 0; i < 3; ++i) {
        nvtxRangePushA("consumer_step");
        puts("step");
        nvtxRangePop();
    }
    return 0;
}
