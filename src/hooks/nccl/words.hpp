// SPDX-License-Identifier: Apache-2.0
// NCCL's words for functions, types, algorithms and protocols, as numbers. Pure; a few comparisons.
#pragma once

#include <array>
#include <string_view>

#include "record/collective.hpp"

namespace prof::nccl {

template <typename TValue>
struct nccl_word {
    std::string_view text;
    TValue value;
};

template <typename TValue, std::size_t count>
constexpr TValue value_of(const char* text, const std::array<nccl_word<TValue>, count>& words) noexcept {
    if (text == nullptr) return TValue{};
    const std::string_view given = text;
    for (const nccl_word<TValue>& known : words) {
        if (known.text == given) return known.value;
    }
    return TValue{};
}

constexpr collective_function function_of(const char* text) noexcept {
    using enum collective_function;
    constexpr std::array words = std::to_array<nccl_word<collective_function>>({{"AllReduce", all_reduce},
                                                                                {"AllGather", all_gather},
                                                                                {"ReduceScatter", reduce_scatter},
                                                                                {"Send", send},
                                                                                {"Recv", recv},
                                                                                {"Broadcast", broadcast},
                                                                                {"Reduce", reduce},
                                                                                {"AlltoAll", all_to_all},
                                                                                {"AllToAll", all_to_all},
                                                                                {"Gather", gather},
                                                                                {"Scatter", scatter}});
    return value_of(text, words);
}

constexpr collective_type type_of(const char* text) noexcept {
    using enum collective_type;
    constexpr std::array words = std::to_array<nccl_word<collective_type>>({{"ncclFloat32", f32},
                                                                            {"ncclBfloat16", bf16},
                                                                            {"ncclFloat16", f16},
                                                                            {"ncclInt8", i8},
                                                                            {"ncclUint8", u8},
                                                                            {"ncclInt32", i32},
                                                                            {"ncclUint32", u32},
                                                                            {"ncclInt64", i64},
                                                                            {"ncclUint64", u64},
                                                                            {"ncclFloat64", f64},
                                                                            {"ncclFloat8e4m3", f8_e4m3},
                                                                            {"ncclFloat8e5m2", f8_e5m2}});
    return value_of(text, words);
}

constexpr collective_algorithm algorithm_of(const char* text) noexcept {
    using enum collective_algorithm;
    constexpr std::array words = std::to_array<nccl_word<collective_algorithm>>({{"RING", ring},
                                                                                 {"TREE", tree},
                                                                                 {"NVLS", nvls},
                                                                                 {"NVLS_TREE", nvls_tree},
                                                                                 {"COLLNET_DIRECT", collnet_direct},
                                                                                 {"COLLNET_CHAIN", collnet_chain},
                                                                                 {"PAT", pat}});
    return value_of(text, words);
}

constexpr collective_protocol protocol_of(const char* text) noexcept {
    using enum collective_protocol;
    constexpr std::array words =
        std::to_array<nccl_word<collective_protocol>>({{"SIMPLE", simple}, {"LL", ll}, {"LL128", ll128}});
    return value_of(text, words);
}

}  // namespace prof::nccl
