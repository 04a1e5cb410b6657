// What may stand in a script.
#pragma once

#include "scenarios/value_forms.h"
#include "tests/equivalence/script.h"

namespace cnuas::equivalence {

using scenarios::Alternative;
using scenarios::Case;
using scenarios::Field;
using scenarios::Form;
using scenarios::Kind;

inline constexpr std::int64_t kMostSteps = 10'000;
inline constexpr std::int64_t kMostRepeats = 100'000;
inline constexpr std::int64_t kLargestMessage = 2 * wire::kMaxFrameBytes;
inline constexpr std::uint64_t kMostBytesAStep = std::uint64_t{256} << 20;

inline constexpr std::string_view kOrders[] = {"big", "little"};
inline constexpr Form kByteOrder = {.kind = Kind::word, .what = "a byte order", .words = kOrders};
inline constexpr Form kType = {.kind = Kind::word, .what = "a type of frame", .words = kTypeNames};
inline constexpr Form kWrong = {.kind = Kind::word, .what = "a fault of a message", .words = kErrorNames};
inline constexpr std::string_view kAllWords[] = {"all"};
inline constexpr Form kAllWord = {.kind = Kind::word, .what = "a GPU", .words = kAllWords};
inline constexpr Case kDestinationCases[] = {{&kAllWord}, {&scenarios::kGpu}};
inline constexpr Form kDestination = {
    .kind = Kind::choice, .what = "a GPU such as 1/3, or 'all'", .cases = kDestinationCases};
inline constexpr Form kMessageBytes = {
    .kind = Kind::size, .what = "a size such as 100 B", .least = 0, .most = kLargestMessage};
inline constexpr Form kRepeat = {
    .kind = Kind::integer, .what = "a whole number", .least = 1, .most = kMostRepeats};
inline constexpr Form kRack = {.kind = Kind::integer, .what = "a rack's number", .least = 0, .most = 255};

inline constexpr Field kFromField = {"from", &scenarios::kGpu, true, "The GPU that sends."};
inline constexpr Field kRepeatField = {"repeat", &kRepeat, false, "How many of them. Default: 1."};

// --- messages ---

inline constexpr Field kSendFields[] = {
    {"send", &kType, true, "A frame of this type."},
    kFromField,
    {"to", &kDestination, false, "Its destination: any GPU's ID, in the fabric or not, or all."},
    {"as", &scenarios::kGpu, false, "The source that it names. Default: the GPU that sends it."},
    {"bytes", &kMessageBytes, false, "Of its payload. Default: what its type needs."},
    {"order", &kByteOrder, false, "Of its header. Default: big."},
    kRepeatField,
};
inline constexpr Form kSend = {
    .kind = Kind::mapping, .name = "send", .what = "a mapping with 'send'", .fields = kSendFields};

inline constexpr Field kMalformedFields[] = {
    {"malformed", &kWrong, true, "A DATA frame to all with this wrong."},
    kFromField,
    {"bytes", &kMessageBytes, false,
     "short_header, oversize: of the message. length_mismatch: what the header says of the payload."},
    kRepeatField,
};
inline constexpr Form kMalformedStep = {.kind = Kind::mapping,
                                        .name = "malformed",
                                        .what = "a mapping with 'malformed'",
                                        .fields = kMalformedFields};

inline constexpr Field kRawFields[] = {
    {"raw", &scenarios::kText, true, "The message's bytes, two hexadecimal digits each."},
    kFromField,
    kRepeatField,
};
inline constexpr Form kRaw = {
    .kind = Kind::mapping, .name = "raw", .what = "a mapping with 'raw'", .fields = kRawFields};

inline constexpr Case kMessageCases[] = {{&kSend, "send"}, {&kMalformedStep, "malformed"}, {&kRaw, "raw"}};
inline constexpr Form kMessage = {
    .kind = Kind::choice, .name = "message", .what = "a message", .cases = kMessageCases};
inline constexpr Form kMessages = {
    .kind = Kind::list, .what = "a list of messages", .least = 1, .most = 16, .element = &kMessage};
inline constexpr Field kTogetherFields[] = {
    {"together", &kMessages, true, "Messages that are sent at the same time, each from another GPU."}};
inline constexpr Form kTogether = {.kind = Kind::mapping,
                                   .name = "together",
                                   .what = "a mapping with 'together'",
                                   .fields = kTogetherFields};

// --- the rest ---

inline constexpr Field kConnectFields[] = {
    {"connect", &scenarios::kGpu, true, "The GPU that connects."},
    {"announce", &scenarios::kBoolean, false, "Whether it sends a DISCOVERY at once. Default: true."},
};
inline constexpr Form kConnect = {
    .kind = Kind::mapping, .name = "connect", .what = "a mapping with 'connect'", .fields = kConnectFields};

inline constexpr Field kDisconnectFields[] = {
    {"disconnect", &scenarios::kGpu, true, "The GPU that leaves; what it has not read is lost."}};
inline constexpr Form kDisconnect = {.kind = Kind::mapping,
                                     .name = "disconnect",
                                     .what = "a mapping with 'disconnect'",
                                     .fields = kDisconnectFields};

inline constexpr std::string_view kReaderWords[] = {"stop", "go"};
inline constexpr Form kReaderState = {.kind = Kind::word, .what = "a reader's state", .words = kReaderWords};
inline constexpr Field kReaderFields[] = {
    {"reader", &kReaderState, true, "stop: it reads nothing more. go: it reads on."},
    {"gpu", &scenarios::kGpu, true, "Whose."},
};
inline constexpr Form kReader = {
    .kind = Kind::mapping, .name = "reader", .what = "a mapping with 'reader'", .fields = kReaderFields};

inline constexpr std::string_view kPortWords[] = {"up", "down"};
inline constexpr Form kPortState = {.kind = Kind::word, .what = "a port's state", .words = kPortWords};
inline constexpr Field kSetFields[] = {
    {"set", &kPortState, true, "What the operator wants of the port."},
    {"port", &scenarios::kGpu, false, "The port of this GPU."},
    {"uplink_of", &kRack, false, "The port of this rack's switch that leads to the other one."},
};
inline constexpr Alternative kSetAlternatives[] = {{"port", "uplink_of", true}};
inline constexpr Form kSet = {.kind = Kind::mapping,
                              .name = "set",
                              .what = "a mapping with 'set'",
                              .fields = kSetFields,
                              .alternatives = kSetAlternatives};

inline constexpr Field kRackField = {"rack", &kRack, true, "At the switch of this rack."};
inline constexpr Field kCreateFields[] = {
    {"create_group", &scenarios::kText, true, "The group's name."},
    kRackField,
    {"gpus", &scenarios::kGpuList, true, "Its members, in rank order."},
};
inline constexpr Form kCreate = {.kind = Kind::mapping,
                                 .name = "create_group",
                                 .what = "a mapping with 'create_group'",
                                 .fields = kCreateFields};
inline constexpr Field kDeleteFields[] = {{"delete_group", &scenarios::kText, true, "The group's name."},
                                          kRackField};
inline constexpr Form kDelete = {.kind = Kind::mapping,
                                 .name = "delete_group",
                                 .what = "a mapping with 'delete_group'",
                                 .fields = kDeleteFields};
inline constexpr Field kClearFields[] = {
    {"clear_telemetry_of", &kRack, true, "The counters of this rack's switch become zero."}};
inline constexpr Form kClear = {.kind = Kind::mapping,
                                .name = "clear_telemetry_of",
                                .what = "a mapping with 'clear_telemetry_of'",
                                .fields = kClearFields};

inline constexpr Case kStepCases[] = {{&kSend, "send"},
                                      {&kMalformedStep, "malformed"},
                                      {&kRaw, "raw"},
                                      {&kTogether, "together"},
                                      {&kConnect, "connect"},
                                      {&kDisconnect, "disconnect"},
                                      {&kReader, "reader"},
                                      {&kSet, "set"},
                                      {&kCreate, "create_group"},
                                      {&kDelete, "delete_group"},
                                      {&kClear, "clear_telemetry_of"}};
inline constexpr Form kStep = {
    .kind = Kind::choice, .name = "step", .what = "a step such as {connect: 1/0}", .cases = kStepCases};
inline constexpr Form kSteps = {
    .kind = Kind::list, .what = "a list of steps", .least = 1, .most = kMostSteps, .element = &kStep};

inline constexpr Form kSendBuffer = {
    .kind = Kind::size, .what = "a size such as 64 KiB", .least = 33'024, .most = 64 << 20};
inline constexpr Field kScriptFields[] = {
    {"equivalence", &scenarios::kText, true, "Name of the script."},
    {"description", &scenarios::kText, false, "What it is about, in words."},
    {"fabric", &scenarios::kText, true,
     "A scenario file, relative to this one: one rack, or two with a link between them, of at most eight "
     "GPUs each."},
    {"send_buffer", &kSendBuffer, false, "What the daemons let a reader leave unread in the kernel."},
    {"steps", &kSteps, true, "What is done, each once all has come to rest after the one before."},
};
inline constexpr Form kScript = {.kind = Kind::mapping,
                                 .name = "script",
                                 .what = "a mapping with 'equivalence', 'fabric' and 'steps'",
                                 .fields = kScriptFields};

}  // namespace cnuas::equivalence
