#include "tests/equivalence/script_reader.h"

#include "scenarios/check.h"
#include "scenarios/diagnostics.h"
#include "scenarios/document.h"
#include "scenarios/participants.h"
#include "tests/equivalence/script_grammar.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>

namespace cnuas::equivalence {

namespace {

using scenarios::Diagnostics;
using scenarios::Node;

std::uint32_t usual_payload(wire::FrameType type) {
  switch (type) {
    case wire::FrameType::data:
      return 64;
    case wire::FrameType::doorbell:
      return 8;
    case wire::FrameType::atomic:
      return 24;
    case wire::FrameType::collective_reduce:
      return 32;
    case wire::FrameType::collective_gather:
      return 24;
    case wire::FrameType::discovery:
    case wire::FrameType::keepalive:
      break;
  }
  return 0;
}

std::uint32_t usual_bytes(wire::FrameError wrong) {
  switch (wrong) {
    case wire::FrameError::short_header:
      return 5;
    case wire::FrameError::oversize:
      return wire::kMaxFrameBytes + 1;
    case wire::FrameError::length_mismatch:
      return 7;
    default:
      return 0;
  }
}

template <class Names>
std::size_t position(const Names& names, std::string_view name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

// Reads the steps one after the other, and follows what each changes.
class StepReader {
 public:
  StepReader(const scenarios::SourceText& source, const Fabric& fabric, Diagnostics& diagnostics)
      : source_(source),
        fabric_(fabric),
        diagnostics_(diagnostics),
        connected_(fabric.gpus.size(), false),
        stopped_(fabric.gpus.size(), false),
        admin_up_(fabric.gpus.size(), true),
        speaks_little_(fabric.gpus.size(), false) {}

  std::optional<Step> read(const Node& node) {
    Step step;
    step.line = source_.line_number(node.place.offset);
    const std::size_t before = diagnostics_.errors();
    if (node.has("connect")) {
      step.what = connect(node);
    } else if (node.has("disconnect")) {
      step.what = disconnect(node);
    } else if (node.has("reader")) {
      step.what = set_reader(node);
    } else if (node.has("set")) {
      step.what = set_port(node);
    } else if (node.has("create_group")) {
      step.what = create_group(node);
    } else if (node.has("delete_group")) {
      step.what = DeleteGroup{rack_of(*node.get("rack")), group_name(*node.get("delete_group"))};
    } else if (node.has("clear_telemetry_of")) {
      step.what = ClearTelemetry{rack_of(*node.get("clear_telemetry_of"))};
    } else {
      step.what = sends(node);
    }
    if (diagnostics_.errors() > before) return std::nullopt;
    return step;
  }

 private:
  GpuIndex gpu_of(const Node& node) {
    const std::optional<GpuId> id = scenarios::read_gpu(node, fabric_, diagnostics_);
    return id ? *find_gpu(fabric_, *id) : 0;
  }
  GpuIndex connected(const Node& node) {
    const std::size_t before = diagnostics_.errors();
    const GpuIndex gpu = gpu_of(node);
    if (diagnostics_.errors() == before && !connected_[gpu])
      diagnostics_.error(node.place, "GPU " + node.text + " is not connected here",
                         "add a step {connect: " + node.text + "} before");
    return gpu;
  }
  SwitchIndex rack_of(const Node& node) {
    for (const Gpu& gpu : fabric_.gpus) {
      if (gpu.id.rack() == static_cast<unsigned>(node.number)) return gpu.attached;
    }
    diagnostics_.error(node.place, "the fabric has no rack " + node.text);
    return 0;
  }

  Connect connect(const Node& node) {
    const GpuIndex gpu = gpu_of(*node.get("connect"));
    if (connected_[gpu])
      diagnostics_.error(node.key_place("connect"),
                         "GPU " + node.get("connect")->text + " is connected already");
    connected_[gpu] = true;
    speaks_little_[gpu] = false;
    const Node* announce = node.get("announce");
    return {gpu, announce == nullptr || announce->number != 0};
  }

  Disconnect disconnect(const Node& node) {
    const GpuIndex gpu = connected(*node.get("disconnect"));
    connected_[gpu] = stopped_[gpu] = false;
    return {gpu};
  }

  SetReader set_reader(const Node& node) {
    const GpuIndex gpu = connected(*node.get("gpu"));
    const bool go = node.get("reader")->text == "go";
    if (stopped_[gpu] != go)
      diagnostics_.error(node.key_place("reader"),
                         go ? "its reader has not stopped" : "its reader has stopped already");
    const Picoseconds timeout = fabric_.switches[fabric_.gpus[gpu].attached].stall_timeout_ps;
    if (!holds_queues(fabric_) && (timeout == 0 || timeout > kLongestWatch))
      diagnostics_.error(node.key_place("reader"),
                         "a reader can only stop where every switch's stall_timeout is either at most 2 s or "
                         "at least 30 s",
                         "a short one is waited for; with a long one, queues stay from step to step");
    stopped_[gpu] = !go;
    return {gpu, go};
  }

  SetPort set_port(const Node& node) {
    SetPort port;
    port.up = node.get("set")->text == "up";
    if (const Node* gpu = node.get("port")) {
      port.gpu = gpu_of(*gpu);
      port.target = fabric_.gpus[*port.gpu].attached;
      admin_up_[*port.gpu] = port.up;
      if (!port.up) speaks_little_[*port.gpu] = false;
      return port;
    }
    port.target = rack_of(*node.get("uplink_of"));
    if (fabric_.cables.empty())
      diagnostics_.error(node.key_place("uplink_of"),
                         "the fabric has one switch, and no link between switches");
    return port;
  }

  // What both sides take for a name, so that a refusal is about something else.
  std::string group_name(const Node& node) {
    const auto plain = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
             c == '_';
    };
    const bool digit = !node.text.empty() && node.text[0] >= '0' && node.text[0] <= '9';
    if (digit || !std::all_of(node.text.begin(), node.text.end(), plain))
      diagnostics_.error(node.place,
                         "a group's name is made of letters, digits, '-' and '_', and begins with no digit");
    return node.text;
  }

  CreateGroup create_group(const Node& node) {
    CreateGroup group{rack_of(*node.get("rack")), group_name(*node.get("create_group")), {}};
    for (const Node& each : node.get("gpus")->items)
      group.members.push_back(GpuId{static_cast<std::uint16_t>(each.number)});
    return group;
  }

  Sends sends(const Node& node) {
    Sends sends;
    const Node* list = node.get("together");
    std::set<GpuIndex> senders;
    std::uint64_t bytes = 0;
    const std::span<const Node> messages = list ? std::span(list->items) : std::span(&node, 1);
    for (const Node& each : messages) {
      const std::size_t before = diagnostics_.errors();
      sends.sends.push_back(send(each));
      if (diagnostics_.errors() > before) continue;
      const Send& made = sends.sends.back();
      check_order(made, each, messages.size() > 1);
      if (!senders.insert(made.from).second)
        diagnostics_.error(each.place,
                           "GPU " + to_string(fabric_.gpus[made.from].id) + " sends twice at the same time",
                           "what one GPU sends comes one after the other: make steps of it");
      bytes += made.repeat * std::uint64_t{message_bytes(made, 0).size()};
    }
    if (senders.size() > 1 && std::find(stopped_.begin(), stopped_.end(), true) != stopped_.end())
      diagnostics_.error(node.place, "a reader has stopped, and several GPUs send at the same time",
                         "which of their frames it still takes would be chance: make steps of it");
    if (bytes > kMostBytesAStep) diagnostics_.error(node.place, "this sends more than 256 MiB in one step");
    return sends;
  }

  // Frames for a GPU are in the order that it spoke last: which that is would be chance.
  void check_order(const Send& made, const Node& node, bool together) {
    const auto* frame = std::get_if<WellFormed>(&made.what);
    if (frame == nullptr || frame->source != fabric_.gpus[made.from].id || !admin_up_[made.from]) return;
    const bool little = frame->order == wire::ByteOrder::little;
    if (together && little != speaks_little_[made.from])
      diagnostics_.error(
          node.place, "a GPU changes its byte order while others send",
          "what it gets meanwhile could be in either: let it send a frame in this order before");
    speaks_little_[made.from] = little;
  }

  Send send(const Node& node) {
    Send made;
    made.from = connected(*node.get("from"));
    if (const Node* repeat = node.get("repeat")) made.repeat = static_cast<std::uint32_t>(repeat->number);
    if (node.has("send")) {
      made.what = well_formed(node, fabric_.gpus[made.from].id);
    } else if (node.has("malformed")) {
      made.what = malformed(node);
    } else {
      made.what = raw(*node.get("raw"));
    }
    return made;
  }

  WellFormed well_formed(const Node& node, GpuId sender) {
    WellFormed frame;
    frame.type = static_cast<wire::FrameType>(position(kTypeNames, node.get("send")->text) + 1);
    frame.source = node.get("as") ? GpuId{static_cast<std::uint16_t>(node.get("as")->number)} : sender;
    const bool for_switch =
        frame.type == wire::FrameType::discovery || frame.type == wire::FrameType::keepalive;
    if (const Node* to = node.get("to")) {
      frame.destination = to->text == "all" ? kBroadcast : GpuId{static_cast<std::uint16_t>(to->number)};
    } else if (for_switch) {
      frame.destination = kBroadcast;
    } else {
      diagnostics_.error(node.place, "missing key 'to' in send",
                         "only DISCOVERY and LINK_KEEPALIVE go without");
    }
    frame.payload_bytes = usual_payload(frame.type);
    if (const Node* bytes = node.get("bytes")) {
      if (bytes->number > static_cast<std::int64_t>(wire::kMaxPayloadBytes))
        diagnostics_.error(bytes->place, "a frame has at most 65524 bytes of payload",
                           "write {malformed: oversize, bytes: ...}");
      frame.payload_bytes = static_cast<std::uint32_t>(bytes->number);
    }
    if (const Node* order = node.get("order"))
      frame.order = order->text == "little" ? wire::ByteOrder::little : wire::ByteOrder::big;
    return frame;
  }

  Malformed malformed(const Node& node) {
    Malformed message;
    message.wrong = static_cast<wire::FrameError>(position(kErrorNames, node.get("malformed")->text));
    message.bytes = usual_bytes(message.wrong);
    const Node* bytes = node.get("bytes");
    if (bytes == nullptr) return message;
    message.bytes = static_cast<std::uint32_t>(bytes->number);
    const bool fits = message.wrong == wire::FrameError::short_header
                          ? message.bytes >= 1 && message.bytes < wire::kHeaderBytes
                      : message.wrong == wire::FrameError::oversize ? message.bytes > wire::kMaxFrameBytes
                      : message.wrong == wire::FrameError::length_mismatch ? message.bytes != 16
                                                                           : false;
    if (!fits)
      diagnostics_.error(
          bytes->place, "this is no size of such a message",
          "short_header takes 1 B to 11 B, oversize 65537 B to 131072 B, length_mismatch any but "
          "16 B, and the others none");
    return message;
  }

  RawBytes raw(const Node& node) {
    RawBytes message;
    int high = -1;
    for (const char c : node.text) {
      if (c == ' ') continue;
      const auto digit =
          std::string_view("0123456789abcdef").find(static_cast<char>(c >= 'A' && c <= 'F' ? c + 32 : c));
      if (digit == std::string_view::npos) {
        diagnostics_.error(node.place, "'raw' takes hexadecimal digits",
                           "two a byte, with blanks where you like");
        return message;
      }
      if (high < 0) {
        high = static_cast<int>(digit);
        continue;
      }
      message.bytes.push_back(static_cast<std::byte>(high << 4 | static_cast<int>(digit)));
      high = -1;
    }
    if (high >= 0) diagnostics_.error(node.place, "'raw' has half a byte at its end");
    return message;
  }

  const scenarios::SourceText& source_;
  const Fabric& fabric_;
  Diagnostics& diagnostics_;
  std::vector<bool> connected_;
  std::vector<bool> stopped_;
  std::vector<bool> admin_up_;
  std::vector<bool> speaks_little_;  // by GPU: in the last frame that the switch took from it
};

// The fabric of a script; its errors are reported at the script's line, and its file's own beside them.
bool read_fabric(const Node& node, const std::string& path, Script& script, Diagnostics& diagnostics,
                 std::vector<scenarios::Diagnostic>& of_fabric) {
  const std::filesystem::path beside = std::filesystem::path(path).parent_path() / node.text;
  script.fabric_path = std::filesystem::absolute(beside).lexically_normal().string();
  scenarios::FileResult file = scenarios::load_file(script.fabric_path);
  for (scenarios::Diagnostic& each : file.load.diagnostics) {
    if (each.severity == scenarios::Severity::error) of_fabric.push_back(std::move(each));
  }
  if (!file.io_error.empty()) {
    diagnostics.error(node.place, file.io_error);
  } else if (!file.load.scenario) {
    diagnostics.error(node.place, "the fabric's file has errors");
  } else if (const std::string reason = why_not(file.load.scenario->fabric); !reason.empty()) {
    diagnostics.error(node.place, reason);
  } else {
    script.fabric = std::move(file.load.scenario->fabric);
    return true;
  }
  return false;
}

}  // namespace

std::string why_not(const Fabric& fabric) {
  if (fabric.switches.size() > 2 || fabric.cables.size() + 1 != fabric.switches.size())
    return "two switches with one link between them is the most that is compared";
  for (SwitchIndex index = 0; index < fabric.switches.size(); ++index) {
    const std::vector<GpuIndex> gpus = gpus_of(fabric, index);
    if (gpus.empty() || gpus.size() > kInterSwitchPort)
      return "every switch needs one to eight GPUs, and " + fabric.switches[index].name + " has " +
             std::to_string(gpus.size());
    for (const GpuIndex gpu : gpus) {
      if (fabric.gpus[gpu].id.rack() != fabric.gpus[gpus.front()].id.rack())
        return "the GPUs of a switch must be of one rack, and those of " + fabric.switches[index].name +
               " are not";
    }
  }
  if (fabric.switches.size() == 2 && fabric.gpus.front().id.rack() == fabric.gpus.back().id.rack())
    return "two switches of one rack cannot be told apart by --rack";
  return {};
}

ReadScript read_script(std::string_view yaml, const std::string& path) {
  const scenarios::SourceText source(yaml);
  Diagnostics diagnostics(source, path);
  ReadScript result;
  std::vector<scenarios::Diagnostic> of_fabric;
  Script script;
  script.path = path;
  if (std::optional<Node> root = scenarios::read_document(source, diagnostics)) {
    scenarios::check(*root, kScript, diagnostics);
    if (const Node* name = root->get("equivalence")) script.name = name->text;
    if (const Node* buffer = root->get("send_buffer"))
      script.send_buffer = static_cast<std::uint64_t>(buffer->number);
    const Node* fabric = root->get("fabric");
    const Node* steps = root->get("steps");
    if (fabric && read_fabric(*fabric, path, script, diagnostics, of_fabric) && steps) {
      StepReader reader(source, script.fabric, diagnostics);
      for (const Node& node : steps->items) {
        std::optional<Step> step = reader.read(node);
        if (!step) break;  // what the others say now would mislead
        script.steps.push_back(std::move(*step));
      }
    }
  }
  if (!diagnostics.has_errors()) result.script = std::move(script);
  result.diagnostics = diagnostics.take();
  result.diagnostics.insert(result.diagnostics.end(), of_fabric.begin(), of_fabric.end());
  return result;
}

ReadScript read_script_file(const std::string& path) {
  constexpr std::size_t kLargestFile = 16 << 20;
  ReadScript failed;
  std::ifstream in(path, std::ios::binary);
  std::string text(kLargestFile + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, in.gcount())));
  if (in.bad() || (text.empty() && !in.eof())) {
    failed.io_error = "cannot read '" + path + "': " + std::strerror(errno);
  } else if (text.size() > kLargestFile) {
    failed.io_error = "'" + path + "' is larger than 16 MiB";
  } else {
    return read_script(text, path);
  }
  return failed;
}

}  // namespace cnuas::equivalence
