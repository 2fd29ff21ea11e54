// SPDX-License-Identifier: Apache-2.0
// The indices of a timeline's tables, by the nouns that the code has for their rows.
#pragma once

#include "timeline/row_index.hpp"

namespace prof {

struct timeline_thread;
struct timeline_range;
struct timeline_mark;
struct work_parent;
struct timeline_api_call;
struct timeline_graph_node;
struct gpu_place;
struct gpu_op;
struct code_stack;
struct memory_event;
struct cuda_memory_event;
struct timeline_communicator;
struct named_text;
template <typename TStack>
struct basic_open_node;

using thread_id = row_index<timeline_thread>;
using range_id = row_index<timeline_range>;
using mark_id = row_index<timeline_mark>;
using work_parent_id = row_index<work_parent>;
using call_id = row_index<timeline_api_call>;
using graph_node_id = row_index<timeline_graph_node>;
using place_id = row_index<gpu_place>;
using op_id = row_index<gpu_op>;
using stack_id = row_index<code_stack>;
using memory_event_id = row_index<memory_event>;
using cuda_memory_id = row_index<cuda_memory_event>;
using communicator_id = row_index<timeline_communicator>;

// The ranges that are open on a thread: the program's own (timeline::open_nodes), and what PyTorch's observer pushed
// (timeline::torch_nodes). They are two tables.
using open_node = basic_open_node<struct stack_of_ranges>;
using torch_node = basic_open_node<struct stack_of_torch>;
using open_node_id = row_index<open_node>;
using torch_node_id = row_index<torch_node>;

// The number of a name in timeline::name(). 0: none.
using name_id = row_index<named_text, 0>;

}  // namespace prof
