// SPDX-License-Identifier: Apache-2.0
#include "timeline/kineto/trace_collectives.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

namespace prof {
namespace {

template <typename TValue>
using named = std::pair<std::string_view, TValue>;

template <typename TValue, std::size_t count>
TValue value_of(std::string_view text, const std::array<named<TValue>, count>& words) {
    const auto found =
        std::find_if(words.begin(), words.end(), [&](const named<TValue>& each) { return each.first == text; });
    return found == words.end() ? TValue{} : found->second;
}

// PyTorch has several functions for one operation: `_allgather_base`, `allgather_into_tensor_coalesced`.
collective_function function_of(std::string_view name) {
    using enum collective_function;
    constexpr auto beginnings = std::to_array<named<collective_function>>({{"allreduce", all_reduce},
                                                                           {"all_reduce", all_reduce},
                                                                           {"barrier", all_reduce},
                                                                           {"allgather", all_gather},
                                                                           {"all_gather", all_gather},
                                                                           {"reduce_scatter", reduce_scatter},
                                                                           {"reducescatter", reduce_scatter},
                                                                           {"broadcast", broadcast},
                                                                           {"reduce", reduce},
                                                                           {"alltoall", all_to_all},
                                                                           {"all_to_all", all_to_all},
                                                                           {"gather", gather},
                                                                           {"scatter", scatter},
                                                                           {"send", send},
                                                                           {"recv", recv}});
    while (name.starts_with('_')) name.remove_prefix(1);
    for (const auto& [beginning, function] : beginnings) {
        if (name.starts_with(beginning)) return function;
    }
    return other;
}

collective_type type_of(std::string_view text) {
    using enum collective_type;
    constexpr auto words = std::to_array<named<collective_type>>({{"Float", f32},
                                                                  {"BFloat16", bf16},
                                                                  {"Half", f16},
                                                                  {"Double", f64},
                                                                  {"Int", i32},
                                                                  {"Long", i64},
                                                                  {"Byte", u8},
                                                                  {"Bool", u8},
                                                                  {"Char", i8},
                                                                  {"UInt32", u32},
                                                                  {"UInt64", u64},
                                                                  {"Float8_e4m3fn", f8_e4m3},
                                                                  {"Float8_e5m2", f8_e5m2}});
    return value_of(text, words);
}

collective_algorithm algorithm_of(std::string_view text) {
    using enum collective_algorithm;
    constexpr auto words = std::to_array<named<collective_algorithm>>({{"tree", tree},
                                                                       {"ring", ring},
                                                                       {"collnet_direct", collnet_direct},
                                                                       {"collnet_chain", collnet_chain},
                                                                       {"nvls", nvls},
                                                                       {"nvls_tree", nvls_tree},
                                                                       {"pat", pat}});
    return value_of(text, words);
}

collective_protocol protocol_of(std::string_view text) {
    using enum collective_protocol;
    constexpr auto words =
        std::to_array<named<collective_protocol>>({{"LL", ll}, {"LL128", ll128}, {"simple", simple}});
    return value_of(text, words);
}

std::int32_t rank_of(std::int64_t given) {
    return given < 0 || given > INT32_MAX ? -1 : static_cast<std::int32_t>(given);
}

}  // namespace

traced_collective read_collective(const collective_arguments& given) {
    traced_collective out;
    collective_call& call = out.call;
    call.source = collective_source::kineto;
    call.function = function_of(given.name);
    call.type = type_of(given.type);
    const std::int64_t count = call.function == collective_function::reduce_scatter ? given.out_count : given.in_count;
    if (count > 0) call.count = static_cast<std::uint64_t>(count);
    call.bytes = call.count * size_of(call.type);
    if (given.sequence >= 0) call.sequence = static_cast<std::uint64_t>(given.sequence);
    call.root = rank_of(given.root);
    if (call.function == collective_function::send) call.peer = rank_of(given.destination);
    if (call.function == collective_function::recv) call.peer = rank_of(given.source);
    call.algorithm = algorithm_of(given.algorithm);
    call.protocol = protocol_of(given.protocol);
    if (given.channels > 0 && given.channels <= UINT8_MAX) call.channels = static_cast<std::uint8_t>(given.channels);
    timeline_communicator& of = out.communicator;
    of.source = collective_source::kineto;
    of.name = given.group;
    if (rank_of(given.ranks) > 0) of.ranks = static_cast<std::uint32_t>(given.ranks);
    if (rank_of(given.rank) >= 0) of.rank = static_cast<std::uint32_t>(given.rank);
    if (!given.communicator.empty()) {
        const char* const end = given.communicator.data() + given.communicator.size();
        const auto [after, problem] = std::from_chars(given.communicator.data(), end, of.id, 16);
        if (problem != std::errc() || after != end) of.id = 0;
        if (of.id != 0) call.source = of.source = collective_source::plugin;  // as libprof recorded it
    }
    return out;
}

}  // namespace prof
