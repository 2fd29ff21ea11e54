// SPDX-License-Identifier: Apache-2.0
// Indices that know their table, and the tables and values that take no other table's index.
//
// Everything here is as fast and as small as a std::uint32_t and a std::vector. An index turns into a number by itself,
// since numbers are printed, written to files and compared with sizes; a number becomes an index only where the code
// says so, and an index never becomes one of another table. `npos` is the "none" of every table.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

namespace prof {

// No row, of whichever table; as a number 2^32 - 1.
struct no_row {
    constexpr operator std::uint32_t() const noexcept { return UINT32_MAX; }
};
inline constexpr no_row npos{};

// The index of a row in the table of TRow. TNone: the number that means "none", which a new index has.
template <typename TRow, std::uint32_t TNone = UINT32_MAX>
class row_index {
public:
    using row = TRow;

    constexpr row_index() noexcept = default;
    constexpr row_index(no_row) noexcept
        requires(TNone == UINT32_MAX)
    {}
    // A table has less than 2^32 - 1 rows: its size fits as well.
    template <std::integral TNumber>
    constexpr explicit row_index(TNumber number) noexcept : number_(static_cast<std::uint32_t>(number)) {}
    template <typename TOther, std::uint32_t TOtherNone>
    row_index(row_index<TOther, TOtherNone>) = delete;

    constexpr operator std::uint32_t() const noexcept { return number_; }

    constexpr row_index& operator++() noexcept {
        ++number_;
        return *this;
    }
    constexpr row_index operator++(int) noexcept { return std::exchange(*this, row_index(number_ + 1)); }

    friend constexpr bool operator==(row_index a, row_index b) noexcept { return a.number_ == b.number_; }
    friend constexpr auto operator<=>(row_index a, row_index b) noexcept { return a.number_ <=> b.number_; }

private:
    std::uint32_t number_ = TNone;
};

template <typename TA, std::uint32_t TNoneA, typename TB, std::uint32_t TNoneB>
    requires(!std::same_as<row_index<TA, TNoneA>, row_index<TB, TNoneB>>)
bool operator==(row_index<TA, TNoneA>, row_index<TB, TNoneB>) = delete;
template <typename TA, std::uint32_t TNoneA, typename TB, std::uint32_t TNoneB>
    requires(!std::same_as<row_index<TA, TNoneA>, row_index<TB, TNoneB>>)
std::strong_ordering operator<=>(row_index<TA, TNoneA>, row_index<TB, TNoneB>) = delete;

// One number for a pair of them, to be a key.
template <typename TA, std::uint32_t TNoneA, typename TB, std::uint32_t TNoneB>
constexpr std::uint64_t pair_key(row_index<TA, TNoneA> a, row_index<TB, TNoneB> b) noexcept {
    return std::uint64_t{std::uint32_t{a}} << 32 | std::uint32_t{b};
}

// The indices from `first` on that come before `last`, to be gone through by `for`.
template <typename TIndex>
class index_span {
public:
    class iterator {
    public:
        using value_type = TIndex;
        using difference_type = std::ptrdiff_t;

        constexpr iterator() noexcept = default;
        constexpr explicit iterator(TIndex index) noexcept : index_(index) {}
        constexpr TIndex operator*() const noexcept { return index_; }
        constexpr iterator& operator++() noexcept {
            ++index_;
            return *this;
        }
        constexpr iterator operator++(int) noexcept { return iterator(index_++); }
        friend constexpr bool operator==(iterator, iterator) noexcept = default;

    private:
        TIndex index_{};
    };

    constexpr index_span(TIndex first, TIndex last) noexcept : first_(first), last_(last) {}
    constexpr iterator begin() const noexcept { return iterator(first_); }
    constexpr iterator end() const noexcept { return iterator(last_); }

private:
    TIndex first_;
    TIndex last_;
};

template <typename TIndex>
inline constexpr bool is_row_index = false;
template <typename TRow, std::uint32_t TNone>
inline constexpr bool is_row_index<row_index<TRow, TNone>> = true;

// The rows of a table. Takes its own index, and numbers, but no other table's index.
template <typename TRow, typename TIndex = row_index<TRow>>
class row_table : public std::vector<TRow> {
public:
    using index = TIndex;
    using std::vector<TRow>::vector;
    row_table() = default;
    row_table(std::vector<TRow> rows) noexcept : std::vector<TRow>(std::move(rows)) {}

    TRow& operator[](TIndex at) noexcept { return std::vector<TRow>::operator[](std::uint32_t{at}); }
    const TRow& operator[](TIndex at) const noexcept { return std::vector<TRow>::operator[](std::uint32_t{at}); }
    TRow& operator[](std::size_t at) noexcept { return std::vector<TRow>::operator[](at); }
    const TRow& operator[](std::size_t at) const noexcept { return std::vector<TRow>::operator[](at); }
    template <typename TOther>
        requires is_row_index<TOther>
    TRow& operator[](TOther) const = delete;
    TRow& operator[](no_row) const = delete;

    // Of all rows; and of the row that is added next.
    index_span<TIndex> ids() const noexcept { return {TIndex(0U), end_id()}; }
    TIndex end_id() const noexcept { return TIndex(this->size()); }
    TIndex last_id() const noexcept { return TIndex(this->size() - 1); }
};

// One value for each row of a table. Takes the table's index only.
template <typename TIndex, typename TValue>
class row_values : public std::vector<TValue> {
    using base = std::vector<TValue>;

public:
    using index = TIndex;
    using base::base;
    row_values() = default;

    typename base::reference operator[](TIndex at) noexcept { return base::operator[](std::uint32_t{at}); }
    typename base::const_reference operator[](TIndex at) const noexcept { return base::operator[](std::uint32_t{at}); }
    template <typename TOther>
    typename base::reference operator[](TOther) const = delete;

    index_span<TIndex> ids() const noexcept { return {TIndex(0U), TIndex(this->size())}; }
};

}  // namespace prof

template <typename TRow, std::uint32_t TNone>
struct std::hash<prof::row_index<TRow, TNone>> {
    std::size_t operator()(prof::row_index<TRow, TNone> index) const noexcept {
        return std::hash<std::uint32_t>()(index);
    }
};
