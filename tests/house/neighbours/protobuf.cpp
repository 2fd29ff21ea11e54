// SPDX-License-Identifier: Apache-2.0
// A host that speaks protobuf: messages, JSON, text and run-time types of libprotobuf, which registers its descriptors
// in tables of the process.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <nvtx3/nvToolsExt.h>
#include <cstdio>
#include <string>

namespace {

namespace pb = google::protobuf;

// {"step": 7, "loss": 0.125, "ranges": ["forward", "backward"]}, there and back again.
bool well_known_type() {
    pb::Struct message;
    const std::string json = R"({"step": 7, "loss": 0.125, "ranges": ["forward", "backward"]})";
    if (!pb::util::JsonStringToMessage(json, &message).ok()) return false;
    pb::Struct copy;
    if (!copy.ParseFromString(message.SerializeAsString())) return false;
    if (copy.fields().at("ranges").list_value().values(1).string_value() != "backward") return false;
    std::string text;
    pb::TextFormat::PrintToString(copy.fields().at("loss"), &text);
    std::printf("loss: %s", text.c_str());
    return copy.fields().at("step").number_value() == 7;
}

// A message type made at run time: trace.Slice {string name = 1; uint64 ticks = 2;}
bool run_time_type() {
    pb::FileDescriptorProto file;
    file.set_name("trace.proto");
    file.set_package("trace");
    pb::DescriptorProto* const type = file.add_message_type();
    type->set_name("Slice");
    const auto add_field = [&](const char* name, int number, pb::FieldDescriptorProto::Type kind) {
        pb::FieldDescriptorProto* const field = type->add_field();
        field->set_name(name);
        field->set_number(number);
        field->set_type(kind);
        field->set_label(pb::FieldDescriptorProto::LABEL_OPTIONAL);
    };
    add_field("name", 1, pb::FieldDescriptorProto::TYPE_STRING);
    add_field("ticks", 2, pb::FieldDescriptorProto::TYPE_UINT64);
    pb::DescriptorPool pool;
    const pb::FileDescriptor* const built = pool.BuildFile(file);
    if (built == nullptr) return false;
    pb::DynamicMessageFactory factory;
    pb::Message* const slice = factory.GetPrototype(built->message_type(0))->New();
    const bool parsed = pb::TextFormat::ParseFromString("name: \"forward\" ticks: 300", slice);
    const std::string bytes = slice->SerializeAsString();
    delete slice;
    // By the wire format: tag 0x0A, length 7, the text; tag 0x10, 300 = 0xAC 0x02.
    return parsed && bytes ==
                         "\x0A\x07"
                         "forward"
                         "\x10\xAC\x02";
}

}  // namespace

int main() {
    GOOGLE_PROTOBUF_VERIFY_VERSION;
    nvtxRangePushA("protobuf");
    const bool good = well_known_type() && run_time_type();
    nvtxRangePop();
    pb::ShutdownProtobufLibrary();
    std::puts(good ? "parsed" : "not parsed");
    return good ? 0 : 1;
}
