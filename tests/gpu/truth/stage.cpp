// SPDX-License-Identifier: Apache-2.0
#include "stage.hpp"

#include <cstdio>
#include <cstdlib>

namespace truth {

void must(cudaError_t result, const char* what) {
    if (result == cudaSuccess) return;
    std::fprintf(stderr, "truth: %s: %s\n", what, cudaGetErrorString(result));
    std::exit(1);
}

nvtxDomainHandle_t library_domain() {
    static const nvtxDomainHandle_t domain = nvtxDomainCreateA("truth_library");
    return domain;
}

void stage::prepare(int devices) {
    devices_ = devices;
    for (int device = 0; device < devices; ++device) {
        must(cudaSetDevice(device), "cudaSetDevice");
        for (cudaStream_t& stream : streams_[device]) {
            must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
        }
        prepare_place(device);
    }
    must(cudaSetDevice(0), "cudaSetDevice");
}

void stage::prepare_context(int place, const side_context& context) {
    contexts_[place] = context;
    must(cudaStreamCreateWithFlags(&streams_[place][0], cudaStreamNonBlocking), "cudaStreamCreate");
    prepare_place(place);
}

void stage::prepare_green(int place, cudaStream_t stream) {
    streams_[place][0] = stream;
    prepare_place(place);
}

void stage::prepare_place(int place) {
    stamp_memory& memory = memory_[place];
    void* bytes = nullptr;
    must(cudaMalloc(&bytes, most_stamps * sizeof(stamp)), "cudaMalloc");
    memory.stamps = static_cast<stamp*>(bytes);
    must(cudaMalloc(&bytes, most_stamps * sizeof(std::uint32_t)), "cudaMalloc");
    memory.turns = static_cast<std::uint32_t*>(bytes);
    open_ranges in;
    const open_range setup(*this, in, "setup");
    set(in, place, 0, memory.turns, most_stamps * sizeof(std::uint32_t));
    // Each kernel once: the driver loads it at its first launch, which may wait for the GPU.
    for (int i = 0; i < kernel_count; ++i) spin_on(in, place, 0, static_cast<kernel>(i), 0);
    must(cudaStreamSynchronize(stream(place, 0)), "cudaStreamSynchronize");
}

void stage::enter_place(int place) const {
    must(cudaSetDevice(device_of(place)), "cudaSetDevice");
    if (contexts_[place].handle != nullptr) must(enter(contexts_[place]), "cuCtxSetCurrent");
}

void stage::note(operation op, const open_ranges& in) {
    op.open.insert(op.open.begin(), in.instances.begin(), in.instances.end());
    op.open.insert(op.open.end(), process_ranges_.begin(), process_ranges_.end());
    op.is_adopted = in.adopted != 0;
    out_.add(op);
}

void stage::spin_on(const open_ranges& in, int place, int stream_index, kernel which, std::uint64_t ns) {
    const spin what = out_.new_spin(place, which, ns);
    if (what.first >= most_stamps) must(cudaErrorMemoryAllocation, "no room for more stamps");
    must(launch(what, memory_[place], stream(place, stream_index)), name_of(which));
    operation op;
    op.kernel = name_of(which);
    op.place = place;
    op.requested_ns = ns;
    op.stamp = what.first;
    note(op, in);
}

void stage::copy(const open_ranges& in, int place, int stream_index, void* to, const void* from, std::size_t bytes,
                 cudaMemcpyKind kind) {
    must(cudaMemcpyAsync(to, from, bytes, kind, stream(place, stream_index)), "cudaMemcpyAsync");
    operation op;
    op.what = operation::kind::copy;
    op.place = place;
    op.bytes = bytes;
    note(op, in);
}

void stage::set(const open_ranges& in, int place, int stream_index, void* to, std::size_t bytes) {
    must(cudaMemsetAsync(to, 0, bytes, stream(place, stream_index)), "cudaMemsetAsync");
    operation op;
    op.what = operation::kind::set;
    op.place = place;
    op.bytes = bytes;
    note(op, in);
}

void stage::copy_peer(const open_ranges& in, void* to, int to_device, const void* from, int from_device,
                      std::size_t bytes) {
    must(cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, stream(from_device, 0)), "cudaMemcpyPeerAsync");
    operation op;
    op.what = operation::kind::peer;
    op.place = from_device;
    op.bytes = bytes;
    note(op, in);
}

void stage::wait() {
    for (int device = 0; device < devices_; ++device) {
        must(cudaSetDevice(device), "cudaSetDevice");
        must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
    must(cudaSetDevice(0), "cudaSetDevice");
}

void stage::read_stamps(const open_ranges& in) {
    for (int place = 0; place < most_places; ++place) {
        const std::uint32_t used = out_.stamps_used(place);
        if (used == 0) continue;
        enter_place(place);
        std::vector<stamp> stamps;
        must(read_back(stamps, memory_[place], used), "cudaMemcpy");
        out_.set_stamps(place, stamps);
        operation op;
        op.what = operation::kind::copy;
        op.place = place;
        op.bytes = used * sizeof(stamp);
        note(op, in);
    }
    must(cudaSetDevice(0), "cudaSetDevice");
}

open_range::open_range(stage& on, open_ranges& in, const std::string& name, style how)
    : in_(in), path_before_(in.path), how_(how) {
    in.path += (in.path.empty() ? "" : "/") + (how == style::library ? "truth_library:" + name : name);
    in.instances.push_back(on.out().open(in.path));
    nvtxEventAttributes_t event{};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = name.c_str();
    switch (how) {
        case style::own:
            nvtxDomainRangePushEx(prof::detail::tool_of<prof::detail::ranges>().domain, &event);
            break;
        case style::default_domain:
            nvtxRangePushA(name.c_str());
            break;
        case style::library:
            nvtxDomainRangePushEx(library_domain(), &event);
            break;
    }
}

open_range::~open_range() {
    switch (how_) {
        case style::own:
            nvtxDomainRangePop(prof::detail::tool_of<prof::detail::ranges>().domain);
            break;
        case style::default_domain:
            nvtxRangePop();
            break;
        case style::library:
            nvtxDomainRangePop(library_domain());
            break;
    }
    in_.path = path_before_;
    in_.instances.pop_back();
}

}  // namespace truth
