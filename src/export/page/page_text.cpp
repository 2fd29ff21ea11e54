// SPDX-License-Identifier: Apache-2.0
#include "export/page/page_text.hpp"

#include <array>
#include <bit>
#include <cctype>
#include <cstdint>

#include "base/json_text.hpp"

namespace prof {
namespace {

constexpr std::string_view ellipsis = "…";

// At most so many characters. REQUIRES: valid UTF-8.
std::string cut(std::string text, std::size_t most) {
    std::size_t characters = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool begins = (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
        if (begins && ++characters > most) {
            text.resize(i);
            return text.append(ellipsis);
        }
    }
    return text;
}

// So much of a text is enough to fill that many characters.
std::string_view beginning(std::string_view text, std::size_t most) { return text.substr(0, 4 * (most + 1)); }

constexpr std::array<std::uint32_t, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

class sha256 {
public:
    void add_block(const unsigned char* block) noexcept {
        std::array<std::uint32_t, 64> w{};
        for (std::size_t i = 0; i < 16; ++i) {
            for (std::size_t j = 0; j < 4; ++j) w[i] = w[i] << 8 | block[4 * i + j];
        }
        for (std::size_t i = 16; i < 64; ++i) {
            const std::uint32_t a = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
            const std::uint32_t b = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
            w[i] = w[i - 16] + a + w[i - 7] + b;
        }
        std::array<std::uint32_t, 8> v = state_;
        for (std::size_t i = 0; i < 64; ++i) {
            const std::uint32_t e = std::rotr(v[4], 6) ^ std::rotr(v[4], 11) ^ std::rotr(v[4], 25);
            const std::uint32_t t = v[7] + e + ((v[4] & v[5]) ^ (~v[4] & v[6])) + round_constants[i] + w[i];
            const std::uint32_t a = std::rotr(v[0], 2) ^ std::rotr(v[0], 13) ^ std::rotr(v[0], 22);
            const std::uint32_t m = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
            v = {t + a + m, v[0], v[1], v[2], v[3] + t, v[4], v[5], v[6]};
        }
        for (std::size_t i = 0; i < 8; ++i) state_[i] += v[i];
    }

    std::string digest() const {
        std::string out;
        for (const std::uint32_t word : state_) {
            for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(word >> shift & 0xFF);
        }
        return out;
    }

private:
    std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
};

}  // namespace

std::string page_name(std::string_view name) {
    const std::string_view kept = beginning(name, longest_page_name);
    std::string out = cut(terminal_safe(kept), longest_page_name);
    if (kept.size() < name.size() && !out.ends_with(ellipsis)) out += ellipsis;
    return out;
}

std::string page_sentence(std::string_view text) {
    return cut(message_safe(beginning(text, longest_page_sentence)), longest_page_sentence);
}

std::string page_label(std::string_view text) {
    return cut(message_safe(beginning(text, longest_page_label)), longest_page_label);
}

std::string capitalized(std::string text) {
    if (!text.empty()) text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
    return text;
}

std::string script_json(std::string_view json) {
    std::string out;
    out.reserve(json.size());
    for (std::size_t i = 0; i < json.size(); ++i) {
        const std::string_view here = json.substr(i, 3);
        if (json[i] == '<') {
            out += "\\u003c";
        } else if (json[i] == '>') {
            out += "\\u003e";
        } else if (json[i] == '&') {
            out += "\\u0026";
        } else if (here == "\xE2\x80\xA8" || here == "\xE2\x80\xA9") {
            out += here.back() == '\xA8' ? "\\u2028" : "\\u2029";
            i += 2;
        } else {
            out += json[i];
        }
    }
    return out;
}

std::string base64(std::string_view bytes) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t word = 0;
        for (std::size_t j = 0; j < 3; ++j) {
            word = word << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
        }
        for (std::size_t j = 0; j < 4; ++j) {
            out += i + j > bytes.size() ? '=' : digits[word >> (18 - 6 * j) & 63];
        }
    }
    return out;
}

std::string sha256_base64(std::string_view bytes) {
    constexpr std::size_t block = 64;
    std::string text(bytes);
    text += '\x80';
    while (text.size() % block != block - 8) text += '\0';
    const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
    for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>(bits >> shift & 0xFF);
    sha256 hash;
    for (std::size_t i = 0; i < text.size(); i += block) {
        hash.add_block(reinterpret_cast<const unsigned char*>(text.data()) + i);
    }
    return base64(hash.digest());
}

}  // namespace prof
