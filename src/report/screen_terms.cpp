// SPDX-License-Identifier: Apache-2.0
#include "report/screen_terms.hpp"

namespace prof {
namespace {

constexpr screen_term terms[] = {
    {"Step",
     "One pass of the training loop. Its time is the mean of the steps that count: all but the warm-up and the "
     "last one, which the end of the recording cuts. The shortest and the longest are given, too."},
    {"GPU", "How much of a step at least one operation runs on the GPU (busy), and how much none does (idle)."},
    {"CPU", "The thread of the program that runs the steps."},
    {"Run",
     "All that was recorded, in seconds: start-up until the first step, warm-up, the steps that count, what lies "
     "between steps, and the end."},
    {"Memory",
     "The most GPU memory that PyTorch's allocator had given out in a step, and what held it: docs/guide/memory.md. It "
     "is followed by the GPU's memory, where that is known."},
    {"start-up", "The time before the first step: imports, the model, the first batch."},
    {"startup", "The same as a range, which libprof opens: tables of ranges have its row."},
    {"warm-up", "The first steps, which load libraries, compile and allocate. They count in no figure of a step."},
    {"end", "The time after the last step."},
    {"between", "Time between steps that belongs to none: an evaluation, a pause between windows."},
    {"time", "GPU busy and idle while this row's work was next. The rows add up to the step."},
    {"busy",
     "The GPU runs an operation that this row has launched. Of several at once one that computes comes first, "
     "then communication, then copies."},
    {"computing", "The GPU runs kernels other than communication."},
    {"comm", "The GPU communicates (NCCL and alike), and computes nothing meanwhile."},
    {"communication", "The same as comm."},
    {"copies", "The GPU copies or sets memory, and does nothing else meanwhile."},
    {"idle", "The GPU runs nothing. Each such time has a cause."},
    {"launches", "The CPU is launching the next operation: the call, and the short code between two launches."},
    {"CPU code", "The CPU runs code that calls nothing of CUDA, and has launched nothing that could run."},
    {"syncs", "The CPU waits for the GPU, or for a copy that returns when it is done, and has launched nothing else."},
    {"unpinned copies", "The CPU copies from or to memory that is not page-locked."},
    {"memory calls", "The CPU is in cudaMalloc, cudaFree or alike."},
    {"compilation", "The CPU compiles, or captures a CUDA graph."},
    {"short gaps", "Up to 50 us between operations that were launched in time."},
    {"other", "Idle time of causes that have no column on this screen, and of causes that were not recorded."},
    {"of it waits",
     "Part of the CPU's time: in calls that wait for the GPU or for a copy, also one from memory that is not "
     "page-locked."},
    {"GPU waits",
     "In tables of ranges, part of the CPU's time: in calls that wait for the GPU, or may, by what they are: "
     "synchronization, copies that return when they are done, cudaMalloc and alike. The screen's `of it waits` goes by "
     "what was waited for: it has other copies from unpinned memory, too, and no cudaMalloc."},
    {"data loader", "The program fetches its next batch."},
    {"rest of the step", "Time in the step that lies in no phase: loss, metrics, logging, code of the program's own."},
    {"outside ranges", "The same where no steps were found: code that runs in no range."},
    {"other fusions",
     "Kernels of XLA that fuse operations which are neither forward nor backward alone, as far as their names tell."},
    {"its own", "What a row has outside of the rows below it."},
    {"#",
     "In a name: a number that counts. iteration # is iteration 0, iteration 1 and so on, in one row (--fold, "
     "--no-fold)."},
    {"█ and ░",
     "The bar above the table is one step: filled where the GPU is busy, by phase, and hatched where it is idle, by "
     "cause. The bars at the rows' ends are their parts of it. Without UTF-8 they are # and dots."},
    {"×12", "Rows that are alike, in one: their times are added. forward ×2: it runs twice in a step."},
    {"3 more", "The sum of rows that are not shown."},
    {"Possible gains",
     "How much shorter the mean step would be at most, if the cause were gone: the recorded "
     "dependencies are replayed without it. Gains of several changes do not add up: "
     "together they may be less than the sum, or more."},
    {"whole step", "The sum of the rows: one mean step."},
    {"whole recording", "The same where no step was found: all that was recorded."},
    {"a step", "Of the mean step."},
    {"each", "What one step is, such as one call of optimizer.step()."},
    {"mean",
     "What the steps that count take, added and divided by their number. Means of parts add up to the mean of the "
     "whole."},
    {"ranks", "The processes of a job that train one model together. Rank is a process's number among them."},
    {"Ranks",
     "How the ranks differ. The one that waits least communicates least: the others wait for it in their "
     "communication."},
    {"Job",
     "Which rank, host or network holds the job up, and by how much each step would be shorter if it were as fast as "
     "its peers: all ranks are replayed together. Or that none does, and how small a one would have been seen."},
    {"processes", "Processes of one job that have no rank."},
    {"programs", "Captures of different programs: each has a row of its own, and there is no sum and no mean."},
    {"unpinned memory",
     "Memory of the program that is not page-locked. The CPU copies from it piece by piece; with pin_memory=True "
     "PyTorch's loader uses page-locked memory."},
    {"CPU time",
     "A gain that is larger than the idle time of its cause, by more than a twentieth of a step: the CPU gets on "
     "sooner although the GPU is busy meanwhile, so that the GPU has work earlier in a later part of the step."},
    {"CUDA",
     "NVIDIA's interface to the GPU. A call of CUDA launches a kernel or a copy, waits for the GPU, or manages "
     "memory."},
    {"CUDA graphs",
     "A sequence of kernels that is recorded once and launched by one call. That takes less CPU time than single "
     "launches."},
    {"kernel", "A function that runs on the GPU."},
    {"FP32", "Numbers of 32 bits. Matrix products of them are slow on GPUs with tensor cores."},
    {"TF32", "A mode in which matrix products of FP32 numbers keep fewer digits, and are several times faster."},
    {"NCCL", "NVIDIA's library for communication between GPUs."},
    {"ms", "Thousandths of a second. us: millionths of a second."},
    {"rough", "A gain of low confidence."},
    {"confidence",
     "How far a gain can be trusted. High: what was recorded decides it. Low: it rests on an assumption, which the "
     "finding names."},
    {"price", "The gain of a finding: the step is replayed without its cause."},
    {"critical path",
     "The sequence of CPU code, launches and GPU work that decides when a step ends: only what lies on it makes a step "
     "longer."},
    {"bound by", "What most of the critical path is."},
    {"exposed", "Communication, or a copy, while the GPU computes nothing."},
    {"beyond peers", "By how much a rank takes longer than the other ranks do."},
    {"adopted",
     "GPU work that a thread launches for another, such as autograd's for the backward of the thread that called it. "
     "It counts for the range that was open there."},
    {"rings",
     "Memory in which the program's threads keep what was recorded until it is written to the capture. It survives "
     "the program's end."},
    {"results change", "What is advised changes the numbers that the program computes."},
};

}  // namespace

std::span<const screen_term> screen_terms() noexcept { return terms; }

}  // namespace prof
