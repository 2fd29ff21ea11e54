// SPDX-License-Identifier: Apache-2.0
// What the sections are written with: a thread's open ranges, real and in the journal at once, and launches that note
// themselves under them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <prof/range.hpp>
#include <string>
#include <vector>

#include "journal.hpp"

namespace truth {

// Ends the process with 1 and a line on stderr.
void must(cudaError_t result, const char* what);

// Thrown by a section for which the machine lacks something, before it has done any work.
struct unavailable {
    std::string what;
};

// The ranges open on one thread, outermost first; an adopted thread's begin with those of the thread it works for.
struct open_ranges {
    std::vector<std::uint32_t> instances;
    std::string path;
    std::size_t adopted = 0;  // of them opened by another thread
};

// An NVTX domain that is neither the default one nor libprof's.
nvtxDomainHandle_t library_domain();

class stage {
public:
    explicit stage(journal& out) : out_(out) {}

    // Device 0 or 1: streams that block on no other, and room for the stamps.
    void prepare(int devices);
    // The same in a context, current on the calling thread, or with one stream of a green context.
    void prepare_context(int place, const side_context& context);
    void prepare_green(int place, cudaStream_t stream);
    static constexpr int legacy_stream = -1;
    cudaStream_t stream(int place, int index) const {
        return index == legacy_stream ? nullptr : streams_[place][index];
    }
    const stamp_memory& memory(int place) const { return memory_[place]; }
    journal& out() { return out_; }

    void spin_on(const open_ranges& in, int place, int stream_index, kernel which, std::uint64_t ns);
    void copy(const open_ranges& in, int place, int stream_index, void* to, const void* from, std::size_t bytes,
              cudaMemcpyKind kind);
    void set(const open_ranges& in, int place, int stream_index, void* to, std::size_t bytes);
    void copy_peer(const open_ranges& in, void* to, int to_device, const void* from, int from_device,
                   std::size_t bytes);
    // Process ranges open now: every launch from now on counts for them.
    void begin_process_range(std::uint32_t instance) { process_ranges_.push_back(instance); }
    void end_process_range(std::uint32_t instance) { std::erase(process_ranges_, instance); }
    void note(operation op, const open_ranges& in);

    void wait();
    void read_stamps(const open_ranges& in);

private:
    static constexpr int most_streams = 4;
    static constexpr std::uint32_t most_stamps = 1U << 14;

    void prepare_place(int place);
    void enter_place(int place) const;

    journal& out_;
    int devices_ = 0;
    cudaStream_t streams_[most_places][most_streams] = {};
    stamp_memory memory_[most_places];
    side_context contexts_[most_places];
    std::vector<std::uint32_t> process_ranges_;
};

// Opens a range for the time of a block, in the program, in NVTX and in the journal.
class open_range {
public:
    enum class style { own, default_domain, library };
    open_range(stage& on, open_ranges& in, const std::string& name, style how = style::own);
    ~open_range();
    open_range(const open_range&) = delete;
    open_range& operator=(const open_range&) = delete;

private:
    open_ranges& in_;
    std::string path_before_;
    style how_;
};

}  // namespace truth
