// Which names a capture has. A name is written when a record that has it comes for the first time, just before that;
// after a key frame all are new again. So each part of a capture that begins with a key frame has the names that it
// needs, and no others.
//
// Belongs to the drain thread. Memory: a bit for each place where a name may stand.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "capture/writer.hpp"
#include "record/record.hpp"
#include "ring/region.hpp"

namespace prof {

// Whether the field `name` of a record is one.
constexpr bool has_name(const record& r) noexcept { return r.name != 0 && r.kind != record_kind::graph_clone; }

class name_writer {
public:
    // `held` finds the texts of names that are freed already; empty if it has none.
    using finder = std::function<std::string_view(std::uint32_t id)>;
    name_writer(region& where, finder held);

    void begin_anew();  // the capture has none
    // What is written next has this name. One that nobody knows is counted as names_full.
    void use(std::uint32_t id);
    void use(std::span<const record> records);
    // Those that the capture does not have yet.
    void write(capture_writer& out);
    // Other names will stand at these positions.
    void forget(std::uint64_t from, std::uint64_t to) noexcept;

private:
    void add(std::uint32_t id, std::string_view text);

    region& region_;
    finder held_;
    std::vector<bool> kept_;     // written, by id
    std::vector<bool> passing_;  // written, by the place in the arena
    std::unordered_set<std::uint32_t> freed_;
    std::vector<capture_writer::name_entry> new_;  // to be written
};

}  // namespace prof
