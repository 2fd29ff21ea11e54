// SPDX-License-Identifier: Apache-2.0
#include "analysis/mfu/operator_flops.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/number.hpp"

namespace prof {
namespace {

using shape = std::span<const std::int64_t>;

double product(shape sizes) noexcept {
    double out = 1;
    for (const std::int64_t size : sizes) out *= static_cast<double>(size);
    return out;
}

// The arguments of an operator; one that is not there has no dimensions.
class argument_list {
public:
    explicit argument_list(const operator_arguments& of) : list_(of.list) {}

    shape dims(std::size_t index) const noexcept { return index < list_.size() ? shape(list_[index].dims) : shape(); }
    std::string_view value(std::size_t index) const noexcept {
        return index < list_.size() ? std::string_view(list_[index].value) : std::string_view();
    }
    std::optional<bool> flag(std::size_t index) const noexcept { return flag_of(value(index)); }
    // "[1, 2]"; one element stands for all.
    std::optional<std::int64_t> number(std::size_t index, std::size_t element) const noexcept {
        const std::string_view text = this->element(index, element);
        return parse_number<std::int64_t>(text.empty() ? this->element(index, 0) : text);
    }
    std::optional<bool> flag(std::size_t index, std::size_t element) const noexcept {
        return flag_of(this->element(index, element));
    }
    bool has_sequences_of_several_lengths() const noexcept {
        return std::any_of(list_.begin(), list_.end(),
                           [](const operator_argument& of) { return of.type == "int" && of.dims.size() == 1; });
    }

private:
    static std::optional<bool> flag_of(std::string_view text) noexcept {
        if (text == "True") return true;
        if (text == "False") return false;
        return std::nullopt;
    }

    std::string_view element(std::size_t index, std::size_t element) const noexcept {
        std::string_view rest = value(index);
        if (!rest.starts_with('[') || !rest.ends_with(']')) return {};
        rest = rest.substr(1, rest.size() - 2);
        for (; element > 0; --element) {
            const std::size_t comma = rest.find(", ");
            if (comma == std::string_view::npos) return {};
            rest.remove_prefix(comma + 2);
        }
        return rest.substr(0, rest.find(','));
    }

    std::span<const operator_argument> list_;
};

// [m, k] by [k, n].
std::optional<double> product_of_two(shape a, shape b) noexcept {
    if (a.size() != 2 || b.size() != 2 || a[1] != b[0]) return std::nullopt;
    return 2 * product(a) * static_cast<double>(b[1]);
}

std::optional<double> product_with_vector(shape a, shape b) noexcept {
    if (a.size() != 2 || b.size() != 1 || a[1] != b[0]) return std::nullopt;
    return 2 * product(a);
}

std::optional<double> product_of_batches(shape a, shape b) noexcept {
    if (a.size() != 3 || b.size() != 3 || a[0] != b[0] || a[2] != b[1]) return std::nullopt;
    return 2 * product(a) * static_cast<double>(b[2]);
}

// The number of places at which a convolution's weights are applied: those of its output, in each dimension
// floor((size + 2·padding − dilation·(filter − 1) − 1) / stride) + 1.
std::optional<double> output_places(const argument_list& of, shape input, shape weight) noexcept {
    constexpr std::size_t stride_at = 3;
    constexpr std::size_t padding_at = 4;
    constexpr std::size_t dilation_at = 5;
    constexpr std::int64_t most = INT32_MAX;
    double out = 1;
    for (std::size_t i = 2; i < input.size(); ++i) {
        const auto stride = of.number(stride_at, i - 2);
        const auto padding = of.number(padding_at, i - 2);
        const auto dilation = of.number(dilation_at, i - 2);
        if (!stride || !padding || !dilation) return std::nullopt;
        if (*stride < 1 || *stride > most || std::abs(*padding) > most || *dilation < 1 || *dilation > most ||
            input[i] > most || weight[i] < 1 || weight[i] > most) {
            return std::nullopt;
        }
        const std::int64_t room = input[i] + 2 * *padding - *dilation * (weight[i] - 1) - 1;
        if (room < 0) return std::nullopt;
        const std::int64_t places = room / *stride + 1;
        out *= static_cast<double>(places);
    }
    return out;
}

bool fit_convolution(shape input, shape weight) noexcept { return input.size() >= 3 && input.size() == weight.size(); }

// (input, weight, bias, stride, padding, dilation, transposed, …). The weight is [outputs, inputs by groups, filter…],
// of a transposed one [inputs, outputs by groups, filter…], which is applied at each place of the input.
std::optional<double> convolution_flops(const argument_list& of) noexcept {
    const shape input = of.dims(0);
    const shape weight = of.dims(1);
    const std::optional<bool> transposed = of.flag(6);
    if (!transposed || !fit_convolution(input, weight)) return std::nullopt;
    const auto places = *transposed ? product(input.subspan(2)) : output_places(of, input, weight);
    if (!places) return std::nullopt;
    return 2 * static_cast<double>(input[0]) * *places * product(weight);
}

// (gradient of the output, input, weight, bias sizes, stride, padding, dilation, transposed, output padding, groups,
// mask): as many operations for each of the gradients of input and weight as forward.
std::optional<double> convolution_backward_flops(const argument_list& of) noexcept {
    const shape gradient = of.dims(0);
    const shape input = of.dims(1);
    const shape weight = of.dims(2);
    const std::optional<bool> transposed = of.flag(7);
    const std::optional<bool> of_input = of.flag(10, 0);
    const std::optional<bool> of_weight = of.flag(10, 1);
    if (!transposed || !of_input || !of_weight || !fit_convolution(input, weight) || gradient.size() != input.size()) {
        return std::nullopt;
    }
    const double forward =
        2 * static_cast<double>(input[0]) * product((*transposed ? input : gradient).subspan(2)) * product(weight);
    return (static_cast<double>(*of_input) + static_cast<double>(*of_weight)) * forward;
}

struct attention_sizes {
    double scores = 0;  // batches · heads · places of the query · places of the key
    double query_features = 0;
    double value_features = 0;
};

// Keys and values may have fewer heads, each for several of the query's.
std::optional<attention_sizes> attention_of(const argument_list& of, std::size_t query_at, bool by_place) noexcept {
    const shape query = of.dims(query_at);
    const shape key = of.dims(query_at + 1);
    const shape value = of.dims(query_at + 2);
    if (query.size() != 4 || key.size() != 4 || value.size() != 4) return std::nullopt;
    if (by_place && of.has_sequences_of_several_lengths()) return std::nullopt;
    const std::size_t head = by_place ? 2 : 1;
    const std::size_t place = by_place ? 1 : 2;
    if (query[0] != key[0] || query[3] != key[3] || key[0] != value[0] || key[place] != value[place] ||
        key[head] == 0 || query[head] % key[head] != 0) {
        return std::nullopt;
    }
    return attention_sizes{.scores = product(query.first(3)) * static_cast<double>(key[place]),
                           .query_features = static_cast<double>(query[3]),
                           .value_features = static_cast<double>(value[3])};
}

// Scores, and scores by values.
std::optional<double> attention_flops(const argument_list& of, bool by_place) noexcept {
    const auto sizes = attention_of(of, 0, by_place);
    if (!sizes) return std::nullopt;
    return 2 * sizes->scores * (sizes->query_features + sizes->value_features);
}

// Scores again, their gradient, and those of values, queries and keys.
std::optional<double> attention_backward_flops(const argument_list& of, bool by_place) noexcept {
    const auto sizes = attention_of(of, 1, by_place);
    if (!sizes) return std::nullopt;
    return 2 * sizes->scores * (3 * sizes->query_features + 2 * sizes->value_features);
}

std::optional<double> flops_by_shape(matrix_operator op, const argument_list& of) noexcept {
    switch (op) {
        case matrix_operator::mm:
        case matrix_operator::scaled_mm:
            return product_of_two(of.dims(0), of.dims(1));
        case matrix_operator::addmm:
            return product_of_two(of.dims(1), of.dims(2));
        case matrix_operator::bmm:
            return product_of_batches(of.dims(0), of.dims(1));
        case matrix_operator::baddbmm:
            return product_of_batches(of.dims(1), of.dims(2));
        case matrix_operator::mv:
            return product_with_vector(of.dims(0), of.dims(1));
        case matrix_operator::addmv:
            return product_with_vector(of.dims(1), of.dims(2));
        case matrix_operator::convolution:
            return convolution_flops(of);
        case matrix_operator::convolution_backward:
            return convolution_backward_flops(of);
        case matrix_operator::attention:
            return attention_flops(of, false);
        case matrix_operator::attention_backward:
            return attention_backward_flops(of, false);
        case matrix_operator::attention_by_place:
            return attention_flops(of, true);
        case matrix_operator::attention_by_place_backward:
            return attention_backward_flops(of, true);
    }
    return std::nullopt;
}

// The first multiplied argument; the second is the next.
std::size_t first_operand(matrix_operator op) noexcept {
    switch (op) {
        case matrix_operator::addmm:
        case matrix_operator::baddbmm:
        case matrix_operator::addmv:
        case matrix_operator::convolution_backward:
        case matrix_operator::attention_backward:
        case matrix_operator::attention_by_place_backward:
            return 1;
        default:
            return 0;
    }
}

matrix_type type_named(std::string_view name) noexcept {
    using enum matrix_type;
    constexpr std::array<std::pair<std::string_view, matrix_type>, 7> known = {{{"float", fp32},
                                                                                {"double", fp64},
                                                                                {"c10::Half", fp16},
                                                                                {"c10::BFloat16", bf16},
                                                                                {"signed char", int8},
                                                                                {"unsigned char", int8},
                                                                                {"char", int8}}};
    if (name.starts_with("c10::Float8")) return fp8;
    if (name.starts_with("c10::Float4")) return fp4;
    const auto* const found =
        std::find_if(known.begin(), known.end(), [&](const auto& of) { return of.first == name; });
    return found == known.end() ? unknown : found->second;
}

}  // namespace

std::optional<double> flops_of(const operator_arguments& of) noexcept {
    const bool is_odd = std::any_of(of.list.begin(), of.list.end(), [](const operator_argument& argument) {
        return argument.type.starts_with("c10::complex") ||
               std::any_of(argument.dims.begin(), argument.dims.end(), [](std::int64_t size) { return size < 0; });
    });
    if (is_odd) return std::nullopt;
    return flops_by_shape(of.op, argument_list(of));
}

matrix_type type_of_operands(const operator_arguments& of) noexcept {
    const std::size_t first = first_operand(of.op);
    if (first + 1 >= of.list.size()) return matrix_type::unknown;
    const matrix_type type = type_named(of.list[first].type);
    if (type == matrix_type::fp8 || type == matrix_type::int8 || type == matrix_type::fp4) return type;
    return type_named(of.list[first + 1].type) == type ? type : matrix_type::unknown;
}

}  // namespace prof
