// A script as a file.
#include "tests/equivalence/script.h"

#include <string_view>

namespace cnuas::equivalence {

namespace {

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

std::string hex(const std::vector<std::byte>& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte each : bytes) {
    text += kDigits[std::to_integer<unsigned>(each) >> 4];
    text += kDigits[std::to_integer<unsigned>(each) & 15];
  }
  return text;
}

class Writer {
 public:
  explicit Writer(const Fabric& fabric) : fabric_(fabric) {}

  std::string step(const Step& step) const {
    return std::visit([this](const auto& what) { return write(what); }, step.what);
  }

 private:
  std::string gpu(GpuIndex index) const { return to_string(fabric_.gpus[index].id); }
  std::string rack(SwitchIndex index) const {
    return std::to_string(fabric_.gpus[gpus_of(fabric_, index).front()].id.rack());
  }

  std::string write(const Send& send) const {
    std::string text = std::visit(
        Overloaded{[&](const WellFormed& what) {
                     std::string frame =
                         "{send: " + std::string(wire::name(what.type)) +
                         ", to: " + (what.destination == kBroadcast ? "all" : to_string(what.destination)) +
                         ", bytes: " + std::to_string(what.payload_bytes) + " B";
                     if (what.source != fabric_.gpus[send.from].id)
                       frame += ", as: " + to_string(what.source);
                     if (what.order == wire::ByteOrder::little) frame += ", order: little";
                     return frame;
                   },
                   [&](const Malformed& what) {
                     std::string frame = "{malformed: " + std::string(wire::name(what.wrong));
                     if (what.wrong == wire::FrameError::short_header ||
                         what.wrong == wire::FrameError::oversize ||
                         what.wrong == wire::FrameError::length_mismatch)
                       frame += ", bytes: " + std::to_string(what.bytes) + " B";
                     return frame;
                   },
                   [&](const RawBytes& what) { return "{raw: " + quoted(hex(what.bytes)); }},
        send.what);
    text += ", from: " + gpu(send.from);
    if (send.repeat > 1) text += ", repeat: " + std::to_string(send.repeat);
    return text + "}";
  }

  std::string write(const Sends& what) const {
    if (what.sends.size() == 1) return write(what.sends.front());
    std::string text = "together:";
    for (const Send& each : what.sends)
      text += "\n      - " + write(each);
    return text;
  }
  std::string write(const Connect& what) const {
    return "{connect: " + gpu(what.gpu) + (what.announce ? "}" : ", announce: false}");
  }
  std::string write(const Disconnect& what) const { return "{disconnect: " + gpu(what.gpu) + "}"; }
  std::string write(const SetReader& what) const {
    return std::string("{reader: ") + (what.reads ? "go" : "stop") + ", gpu: " + gpu(what.gpu) + "}";
  }
  std::string write(const SetPort& what) const {
    return std::string("{set: ") + (what.up ? "up" : "down") +
           (what.gpu ? ", port: " + gpu(*what.gpu) : ", uplink_of: " + rack(what.target)) + "}";
  }
  std::string write(const CreateGroup& what) const {
    std::string members;
    for (const GpuId each : what.members)
      members += (members.empty() ? "" : ", ") + to_string(each);
    return "{create_group: " + quoted(what.name) + ", rack: " + rack(what.target) + ", gpus: [" + members +
           "]}";
  }
  std::string write(const DeleteGroup& what) const {
    return "{delete_group: " + quoted(what.name) + ", rack: " + rack(what.target) + "}";
  }
  std::string write(const ClearTelemetry& what) const {
    return "{clear_telemetry_of: " + rack(what.target) + "}";
  }

  const Fabric& fabric_;
};

}  // namespace

std::string to_yaml(const Script& script) {
  std::string text = "equivalence: " + quoted(script.name) + "\nfabric: " + quoted(script.fabric_path) + "\n";
  if (script.send_buffer) text += "send_buffer: " + std::to_string(*script.send_buffer) + " B\n";
  text += "steps:\n";
  const Writer writer(script.fabric);
  for (const Step& step : script.steps)
    text += "  - " + writer.step(step) + "\n";
  return text;
}

}  // namespace cnuas::equivalence
