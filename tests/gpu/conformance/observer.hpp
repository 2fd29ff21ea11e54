// SPDX-License-Identifier: Apache-2.0
// A small CUPTI client that writes down what it sees, with what differs from run to run left out: identifiers become
// c1, c2 … in order of appearance, times become relations. One per process; its C callbacks may come from any thread.
#pragma once

#include <cuda_runtime_api.h>
#include <cupti.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

class observer {
public:
    static observer& instance();

    // Bytes and records of each buffer handed to CUPTI; no buffers at all while `gives_buffers` is false.
    std::size_t buffer_bytes = 1U << 20U;
    bool gives_buffers = true;

    // Subscribes to launches, copies and sets (and node creation), registers the buffers, enables the four kinds.
    void start();
    // All of it in one: disable, flush, unsubscribe, finalize.
    void stop();

    void print(const std::string& line);
    // "name: CUPTI_SUCCESS"
    void print_result(const std::string& name, CUptiResult result);
    // The same, of a failure alone.
    void expect(const std::string& name, CUptiResult result);

    // Makes `stream` appear by this name in records. Call it after the first launch, whose callback gives the context.
    void name_stream(const std::string& name, cudaStream_t stream);

    void flush(std::uint32_t flag);

    // Forgets what was seen, and numbers from 1 again.
    void forget();

    // Writes down what was seen since forget(): callbacks in order, then records in the order they came.
    void report_callbacks();
    void report_records();
    // Which threads buffers were asked for on, and returned on.
    void report_buffers();

    std::size_t records_seen();
    std::size_t buffers_outstanding();

    CUpti_SubscriberHandle subscriber = nullptr;

private:
    static void on_callback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data);
    static void on_request(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records);
    static void on_complete(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                            std::size_t valid);

    void api_called(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const CUpti_CallbackData& call);
    void node_announced(CUpti_CallbackId cbid, const CUpti_ResourceData& resource);
    std::string describe(const CUpti_Activity& record);
    std::string times(std::uint64_t start, std::uint64_t end, std::uint32_t correlation) const;
    std::string stream_name(std::uint32_t id) const;
    std::string node_name(std::uint64_t id);
    std::string thread_name(std::thread::id thread) const;

    // c1, c2 … in order of appearance.
    std::string alias(char letter, std::uint64_t id);

    std::mutex mutex_;
    std::thread::id main_thread_ = std::this_thread::get_id();
    std::vector<std::string> callbacks_;
    std::vector<std::string> records_;
    std::vector<std::string> buffers_;
    std::map<std::pair<char, std::uint64_t>, std::string> aliases_;
    std::map<char, int> last_alias_;
    std::map<std::uint32_t, std::string> streams_;
    std::map<std::uint32_t, std::uint64_t> entered_ns_;  // by correlation id
    CUcontext context_ = nullptr;
    std::size_t outstanding_ = 0;
};
