// SPDX-License-Identifier: Apache-2.0
// A capture for the fuzzers to start from that has something of all that a timeline is made of: adopted work, a CUDA
// graph and its replays, waits, start/end ranges, explicit parents, PyTorch's ranges, two windows, GPU work of every
// kind.
#pragma once

#include <string>
#include <vector>

#include "support/capture_builder.hpp"
#include "support/torch_records.hpp"

namespace prof::test {

inline capture_contents training_contents() {
    capture_builder capture;
    const auto key = [](std::uint32_t id, std::uint32_t epoch = 1) { return correlation_key(epoch, id); };
    const std::uint16_t data = capture.domain("data");
    thread_script& main = capture.thread("python");
    thread_script& autograd = capture.thread("pt_autograd_0");
    thread_script& loader = capture.thread("loader");

    main.push(0, "prepare").begin_capture(10, key(1)).push(20, "layer 1").node(30, 1).pop(40).copy(50, 11, 1).pop(60);
    main.push(100, "iteration 1").push(110, "load", data).push(120, "forward").launch(130, key(2)).pop(140, data);
    main.here(150, 5).add(torch_push(capture, 160, "aten::mm", 3)).launch(170, key(3), "_Z4gemmPf").pop(180).pop(190);
    main.push(200, "backward").start(210, "overlap", 77);
    autograd.push(220, "checkpoint").launch(230, key(4)).pop(240);
    loader.adopt(250, 5).launch(260, key(5)).leave(270);
    // On a stream that two threads with open ranges use, autograd's work may be either's.
    loader.push(271, "evaluate").launch(272, key(8));
    autograd.launch(274, key(9));
    loader.pop(276);
    main.pop(280).end(290, 77).mark(300, "step").launch(310, key(6), "graph").wait(320, 900, key(7)).pop(910);
    main.add({.ticks = 1000, .value = 2, .kind = record_kind::window});
    main.push(1010, "iteration 2").launch(1020, key(1, 2)).pop(1030);

    capture.kernel(key(2), 400, 450).kernel(key(3), 450, 500, {}, "_Z4gemmPf").kernel(key(4), 480, 520, {.stream = 8});
    capture.kernel(key(5), 520, 530).kernel(key(6), 600, 650, {.graph_node = 11}).kernel(key(1, 2), 1040, 1050);
    capture.kernel(key(8), 530, 540).kernel(key(9), 540, 550).kernel(key(99), 700, 710).graph(key(6), 600, 660, 4);
    transfer_record copy = transfer_between(transfer_kind::memcpy, 460, 470, key(3), 4096, {});
    copy.copy_kind = 1;
    capture.transfer(copy);
    capture.parts().properties = {{"rank", "0"}, {"command", "python train.py"}};
    capture.parts().clocks = {{0, 0, 1'000'000, 0, 0}, {2000, 2000, 1'002'000, 2000, 0}};
    capture.parts().drops[static_cast<std::uint32_t>(drop_cause::ring_full)] = 3;
    capture.parts().windows[2] = {.epoch = 2, .begin_ticks = 1000, .end_ticks = 1100, .first_step = 2, .last_step = 2};
    return capture.contents(16);
}

inline void write_training(const std::string& path) {
    capture_writer writer(path, {});
    write_contents(writer, training_contents());
    writer.end(format::end_reason::exited);
}

}  // namespace prof::test
