// SPDX-License-Identifier: Apache-2.0
// Text that consists of parts. Pure functions; no allocation.
#pragma once

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>

namespace prof {

// The parts of a text, for a loop. Each is a view into the text, which must outlive it.
class text_parts {
public:
    class iterator {
    public:
        using value_type = std::string_view;
        using difference_type = std::ptrdiff_t;

        iterator(std::string_view rest, char separator, char escape) noexcept
            : rest_(rest), separator_(separator), escape_(escape), length_(length_of_first()) {}

        std::string_view operator*() const noexcept { return rest_.substr(0, length_); }
        iterator& operator++() noexcept {
            is_over_ = length_ == rest_.size();
            if (is_over_) return *this;
            rest_.remove_prefix(length_ + 1);
            length_ = length_of_first();
            return *this;
        }
        bool operator==(std::default_sentinel_t) const noexcept { return is_over_; }

    private:
        std::size_t length_of_first() const noexcept {
            for (std::size_t index = 0; index < rest_.size(); ++index) {
                if (rest_[index] == separator_) return index;
                if (escape_ != '\0' && rest_[index] == escape_) ++index;
            }
            return rest_.size();
        }

        std::string_view rest_;
        char separator_;
        char escape_;
        std::size_t length_;
        bool is_over_ = false;
    };

    text_parts(std::string_view text, char separator, char escape) noexcept : begin_(text, separator, escape) {}

    iterator begin() const noexcept { return begin_; }
    static std::default_sentinel_t end() noexcept { return {}; }

private:
    iterator begin_;
};

// "a,,b" has three parts, the second of them empty; "" has one, which is empty. A separator after `escape` is part of
// the text around it, and the escape stays there too.
inline text_parts split(std::string_view text, char separator, char escape = '\0') noexcept {
    return {text, separator, escape};
}
// A temporary ends before a loop over its parts begins.
template <typename TText>
    requires std::is_same_v<TText, std::string>
text_parts split(TText&& text, char separator, char escape = '\0') = delete;

}  // namespace prof
