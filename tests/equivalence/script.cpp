#include "tests/equivalence/script.h"

#include "core/wire/byte_order.h"

#include <algorithm>
#include <span>

namespace cnuas::equivalence {

namespace {

using Bytes = std::vector<std::byte>;

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

// Its number first, as far as there is room, and then bytes that depend on it.
void fill(std::span<std::byte> payload, std::uint64_t number) {
  std::uint64_t state = number;
  for (std::size_t at = 0; at < payload.size(); at += sizeof state) {
    std::byte word[sizeof state];
    wire::store(word, state);
    std::copy_n(word, std::min(sizeof state, payload.size() - at), &payload[at]);
    state = (state ^ (state >> 29)) * 0x9E3779B97F4A7C15u + 1;
  }
}

Bytes frame(const WellFormed& what, std::uint64_t number) {
  Bytes bytes(wire::kHeaderBytes + what.payload_bytes);
  wire::encode({what.type, what.order, what.source, what.destination, what.payload_bytes},
               std::span(bytes).first<wire::kHeaderBytes>());
  fill(std::span(bytes).subspan(wire::kHeaderBytes), number);
  return bytes;
}

constexpr std::size_t kVersionAt = 2;
constexpr std::size_t kTypeAt = 3;
constexpr std::size_t kSourceAt = 4;
constexpr std::size_t kDestinationAt = 6;
constexpr std::size_t kLengthAt = 8;
constexpr std::uint32_t kMalformedPayload = 16;

// Of a GPU that need not be the sender: what is wrong is found before its source is looked at.
Bytes malformed(const Malformed& what, std::uint64_t number) {
  const GpuId source{0x0101};
  Bytes bytes = frame({wire::FrameType::data, source, kBroadcast, kMalformedPayload}, number);
  switch (what.wrong) {
    case wire::FrameError::empty:
      return {};
    case wire::FrameError::short_header:
      bytes.resize(what.bytes);
      break;
    case wire::FrameError::oversize:
      bytes.resize(what.bytes);
      wire::store(&bytes[kLengthAt], static_cast<std::uint32_t>(what.bytes - wire::kHeaderBytes),
                  wire::ByteOrder::big);
      break;
    case wire::FrameError::bad_magic:
      bytes[0] = std::byte{'X'};
      break;
    case wire::FrameError::bad_version:
      bytes[kVersionAt] = std::byte{9};
      break;
    case wire::FrameError::unknown_type:
      bytes[kTypeAt] = std::byte{wire::kFrameTypes + 1};
      break;
    case wire::FrameError::length_mismatch:
      wire::store(&bytes[kLengthAt], what.bytes, wire::ByteOrder::big);
      break;
    case wire::FrameError::bad_source:
      wire::store(&bytes[kSourceAt], kNoGpu.value, wire::ByteOrder::big);
      break;
    case wire::FrameError::bad_destination:
      wire::store(&bytes[kDestinationAt], kNoGpu.value, wire::ByteOrder::big);
      break;
  }
  return bytes;
}

std::string name_of(const Fabric& fabric, GpuIndex gpu) {
  return to_string(fabric.gpus[gpu].id);
}

std::string destination_name(GpuId id) {
  return id == kBroadcast ? "all" : to_string(id);
}

std::string describe(const Send& send, const Fabric& fabric) {
  const std::string from = name_of(fabric, send.from);
  std::string text = std::visit(
      Overloaded{[&](const WellFormed& what) {
                   std::string frame = "send " + std::string(wire::name(what.type)) + ", " + from;
                   if (what.source != fabric.gpus[send.from].id) frame += " as " + to_string(what.source);
                   return frame + " to " + destination_name(what.destination);
                 },
                 [&](const Malformed& what) {
                   return "send what is malformed (" + std::string(wire::name(what.wrong)) + "), " + from;
                 },
                 [&](const RawBytes& what) {
                   return "send " + std::to_string(what.bytes.size()) + " raw bytes, " + from;
                 }},
      send.what);
  if (send.repeat > 1) text += ", " + std::to_string(send.repeat) + " times";
  return text;
}

}  // namespace

std::vector<std::byte> message_bytes(const Send& send, std::uint64_t number) {
  return std::visit(Overloaded{[&](const WellFormed& what) { return frame(what, number); },
                               [&](const Malformed& what) { return malformed(what, number); },
                               [](const RawBytes& what) { return what.bytes; }},
                    send.what);
}

std::vector<GpuIndex> gpus_of(const Fabric& fabric, SwitchIndex index) {
  std::vector<GpuIndex> gpus;
  for (GpuIndex gpu = 0; gpu < fabric.gpus.size(); ++gpu) {
    if (fabric.gpus[gpu].attached == index) gpus.push_back(gpu);
  }
  return gpus;
}

std::uint16_t daemon_port(const Fabric& fabric, GpuIndex gpu) {
  const std::vector<GpuIndex> gpus = gpus_of(fabric, fabric.gpus[gpu].attached);
  return static_cast<std::uint16_t>(std::find(gpus.begin(), gpus.end(), gpu) - gpus.begin());
}

bool holds_queues(const Fabric& fabric) {
  return std::all_of(fabric.switches.begin(), fabric.switches.end(), [](const Switch& each) {
    return each.stall_timeout_ps == 0 || each.stall_timeout_ps >= kShortestHold;
  });
}

std::string describe(const Step& step, const Fabric& fabric) {
  const auto at = [&](SwitchIndex index) { return " at " + fabric.switches[index].name; };
  return std::visit(
      Overloaded{
          [&](const Connect& what) {
            return "connect " + name_of(fabric, what.gpu) + (what.announce ? "" : " silently");
          },
          [&](const Disconnect& what) { return "disconnect " + name_of(fabric, what.gpu); },
          [&](const Sends& what) {
            std::string text;
            for (const Send& each : what.sends)
              text += (text.empty() ? "" : "; ") + describe(each, fabric);
            return text;
          },
          [&](const SetReader& what) {
            return name_of(fabric, what.gpu) + (what.reads ? " reads on" : " stops reading");
          },
          [&](const SetPort& what) {
            return "set the port " + (what.gpu ? "of " + name_of(fabric, *what.gpu) : "to the other switch") +
                   at(what.target) + (what.up ? " up" : " down");
          },
          [&](const CreateGroup& what) { return "create group '" + what.name + "'" + at(what.target); },
          [&](const DeleteGroup& what) { return "delete group '" + what.name + "'" + at(what.target); },
          [&](const ClearTelemetry& what) { return "clear the telemetry" + at(what.target); }},
      step.what);
}

}  // namespace cnuas::equivalence
