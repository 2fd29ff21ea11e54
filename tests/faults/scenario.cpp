// SPDX-License-Identifier: Apache-2.0
#include "faults/scenario.hpp"

#include <cerrno>
#include <initializer_list>
#include <random>

namespace prof::test {
namespace {

class randomness {
public:
    explicit randomness(std::uint64_t seed) : engine_(seed * 2654435761U + 17) {}
    std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(engine_() % limit); }
    bool per_cent(std::uint32_t share) { return below(100) < share; }
    template <typename TItem>
    TItem one_of(std::initializer_list<TItem> items) {
        return items.begin()[below(static_cast<std::uint32_t>(items.size()))];
    }

private:
    std::mt19937_64 engine_;
};

struct failure {
    faulty_call call;
    std::uint32_t usual_calls;  // in a run: a fault is drawn among them
    std::vector<int> errors;
};

const std::vector<failure>& failures() {
    static const std::vector<failure> all = {
        {faulty_call::accept4, 2, {EMFILE, ECONNABORTED, EINTR}},
        {faulty_call::bind, 1, {EADDRINUSE, EACCES, ENOSPC}},
        {faulty_call::chmod, 1, {EPERM, EROFS}},
        {faulty_call::connect, 1, {ECONNREFUSED, EAGAIN}},
        {faulty_call::dlopen, 6, {ENOENT}},
        {faulty_call::fallocate, 2, {EOPNOTSUPP, ENOSPC, EIO, EINTR}},
        {faulty_call::flock, 2, {ENOLCK, EWOULDBLOCK, EINTR}},
        {faulty_call::fopen, 3, {EMFILE, ENOMEM}},
        {faulty_call::ftruncate, 1, {EFBIG, EIO, EINTR, EPERM}},
        {faulty_call::getrandom, 1, {EAGAIN, ENOSYS}},
        {faulty_call::linkat, 1, {EPERM, EACCES, ENOENT, EXDEV}},
        {faulty_call::listen, 1, {EADDRINUSE}},
        {faulty_call::malloc, 4000, {ENOMEM}},
        {faulty_call::mkdir, 4, {EACCES, ENOSPC, EROFS}},
        {faulty_call::mmap, 3, {ENOMEM, ENODEV, EPERM}},
        {faulty_call::open, 8, {EMFILE, ENFILE, EACCES, ENOSPC, EROFS, EINTR, EIO, ENOMEM}},
        {faulty_call::opendir, 4, {EMFILE, ENOMEM}},
        {faulty_call::poll, 2, {EINTR, ENOMEM}},
        {faulty_call::posix_fallocate, 8, {ENOSPC, EINTR, EFBIG, EIO, EOPNOTSUPP}},
        {faulty_call::pread, 8, {EIO, EINTR}},
        {faulty_call::pthread_create, 5, {EAGAIN}},
        {faulty_call::readlink, 6, {EACCES, ENOENT, ENOMEM}},
        {faulty_call::rename, 3, {EACCES, ENOSPC, EINVAL, ENOSYS, EXDEV}},
        {faulty_call::sched_getaffinity, 3, {EINVAL}},
        {faulty_call::socket, 3, {EMFILE, ENFILE, EAFNOSUPPORT}},
        {faulty_call::statfs, 2, {EIO, ENOSYS, EINTR}},
        {faulty_call::unlink, 3, {EACCES, EIO, EBUSY}},
        {faulty_call::write, 30, {ENOSPC, EDQUOT, EIO, EINTR, EFBIG}},
        {faulty_call::write, 30, {ENOSPC, EIO, EINTR}},
        {faulty_call::writev, 2, {EPIPE, EAGAIN, EBADF}},
    };
    return all;
}

fault draw_failure(randomness& random) {
    const failure& of = failures()[random.below(static_cast<std::uint32_t>(failures().size()))];
    fault out{.call = of.call, .effect = fault_effect::fail};
    // The first calls are those that set something up.
    out.first = 1 + random.below(random.per_cent(50) ? of.usual_calls : 1 + of.usual_calls / 4);
    out.times = random.one_of({1U, 1U, 2U, 5U, 1000U});
    out.argument = of.errors[random.below(static_cast<std::uint32_t>(of.errors.size()))];
    return out;
}

fault draw_fault(randomness& random) {
    if (random.per_cent(50)) return draw_failure(random);
    fault out{.call = faulty_call::any, .first = 1 + random.below(random.per_cent(50) ? 400 : 60)};
    const auto on_disk = [&] {
        return random.one_of({faulty_call::write, faulty_call::write, faulty_call::open, faulty_call::pread,
                              faulty_call::rename, faulty_call::unlink, faulty_call::posix_fallocate});
    };
    switch (out.effect = static_cast<fault_effect>(1 + random.below(fault_effects - 1)); out.effect) {
        case fault_effect::cut_short:
            out.call = random.one_of({faulty_call::write, faulty_call::write, faulty_call::pread});
            out.first = 1 + random.below(20);
            out.times = random.one_of({1U, 5U, 1000U});
            out.argument = random.one_of({0, 1, 30, 99});
            break;
        case fault_effect::delay:
            out.call = random.per_cent(50) ? faulty_call::any : on_disk();
            out.first = out.call == faulty_call::any ? out.first : 1 + random.below(10);
            out.argument = random.one_of({1, 20, 150, 400});
            break;
        case fault_effect::block:
            out.call = on_disk();
            out.first = 1 + random.below(out.call == faulty_call::write ? 20 : 3);
            break;
        case fault_effect::kill:
            if (random.per_cent(70)) {
                out.call = faulty_call::write;
                out.first = 1 + random.below(20);
            }
            out.argument = random.below(101);
            break;
        case fault_effect::signal:
        case fault_effect::fork:
            out.times = random.one_of({1U, 3U});
            break;
        case fault_effect::clock:
            out.call = faulty_call::clock_gettime;
            out.first = 1 + random.below(300);
            out.argument = random.one_of({-3600, -2, 1, 3600, 100'000'000});
            break;
        case fault_effect::limit_files:
            out.argument = random.one_of({0, 3, 8, 12});
            break;
        case fault_effect::limit_size:
            out.argument = random.one_of({1 << 16, 1 << 18, 1 << 20});
            break;
        default:
            break;
    }
    return out;
}

std::map<std::string, std::string> draw_options(randomness& random) {
    std::map<std::string, std::string> out = {{"PROF_MEMORY", "16M"}, {"PROF_EXPORT", "none"}, {"PROF_CONTROL", "off"}};
    const auto maybe = [&](std::uint32_t share, const char* name, const char* value) {
        if (random.per_cent(share)) out[name] = value;
    };
    maybe(35, "PROF_EXPORT", "trace,summary");
    maybe(40, "PROF_CONTROL", "auto");
    maybe(10, "PROF_CONTROL", "on");
    maybe(20, "PROF_COMPRESS", "1");
    maybe(10, "PROF_KEEP", "8M");
    maybe(10, "PROF_KEEP", "1s");
    maybe(10, "PROF_SCHEDULE", "wait=1,warmup=1,active=2,repeat=0");
    maybe(10, "PROF_IDLE_GRAPH_NODES", "1");
    maybe(10, "PROF_API_CALLS", "runtime");
    maybe(10, "PROF_EXPORT_EACH", "window");
    maybe(15, "FAKE_CUPTI_VERSION", "18");
    if (out.contains("PROF_SCHEDULE")) out["FAULTS_MODE"] = "plan";
    // Else in a directory of the test's.
    maybe(10, "PROF_RINGS", "memory");
    return out;
}

}  // namespace

scenario draw(std::uint64_t seed) {
    randomness random(seed);
    scenario out;
    out.options = draw_options(random);
    for (std::uint32_t left = random.below(5); left > 0; --left) out.faults.push_back(draw_fault(random));
    out.has_small_rings = false;
    for (const fault& each : out.faults) {
        out.has_small_rings = out.has_small_rings || each.effect == fault_effect::fill_rings;
    }
    if (out.has_small_rings) out.options.erase("PROF_RINGS");
    return out;
}

}  // namespace prof::test
