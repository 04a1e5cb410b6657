// A script: a fabric, and what is done to it step by step, on both sides alike.
#pragma once

#include "core/topology/fabric.h"
#include "core/wire/frame.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cnuas::equivalence {

// --- messages ---

struct WellFormed {
  wire::FrameType type = wire::FrameType::data;
  GpuId source;
  GpuId destination;
  std::uint32_t payload_bytes = 0;
  wire::ByteOrder order = wire::ByteOrder::big;
};

// A DATA frame to all with one thing wrong. `bytes` counts for those that are about length: of the whole
// message for short_header and oversize, and what the header says of the payload for length_mismatch.
struct Malformed {
  wire::FrameError wrong = wire::FrameError::bad_magic;
  std::uint32_t bytes = 0;
};

struct RawBytes {
  std::vector<std::byte> bytes;
};

struct Send {
  GpuIndex from = 0;
  std::variant<WellFormed, Malformed, RawBytes> what;
  std::uint32_t repeat = 1;
};

// The bytes of a message. `number` makes payloads differ from each other.
std::vector<std::byte> message_bytes(const Send& send, std::uint64_t number);

// --- steps ---

struct Connect {
  GpuIndex gpu = 0;
  bool announce = true;  // with an empty DISCOVERY to all, big-endian
};
struct Disconnect {
  GpuIndex gpu = 0;
};
// All at the same time; each from another GPU.
struct Sends {
  std::vector<Send> sends;
};
// The GPU's reader stops, or goes on.
struct SetReader {
  GpuIndex gpu = 0;
  bool reads = true;
};
struct SetPort {
  SwitchIndex target = 0;
  std::optional<GpuIndex> gpu;  // whose port; nullopt: the one to the other switch
  bool up = true;
};
struct CreateGroup {
  SwitchIndex target = 0;
  std::string name;
  std::vector<GpuId> members;
};
struct DeleteGroup {
  SwitchIndex target = 0;
  std::string name;
};
struct ClearTelemetry {
  SwitchIndex target = 0;
};

struct Step {
  int line = 0;  // of the script; 0: it has no file
  std::variant<Connect, Disconnect, Sends, SetReader, SetPort, CreateGroup, DeleteGroup, ClearTelemetry> what;
};

struct Script {
  std::string name;
  std::string path;         // of its file; empty: it was made otherwise
  std::string fabric_path;  // absolute
  Fabric fabric;
  std::optional<std::uint64_t> send_buffer;  // of the daemons' sockets; nullopt: theirs
  std::vector<Step> steps;
};

// What the switch at a place is called and where its ports are in the daemon: GPUs in the order of their
// slots from 0 on, the link to the other switch at kInterSwitchPort.
inline constexpr std::uint16_t kDaemonPorts = 9;
inline constexpr std::uint16_t kInterSwitchPort = 8;
std::vector<GpuIndex> gpus_of(const Fabric& fabric, SwitchIndex index);
std::uint16_t daemon_port(const Fabric& fabric, GpuIndex gpu);

// A queue that a stopped reader leaves is waited for, until the watchdog empties it; or, with a long stall
// timeout, it stays from step to step.
inline constexpr Picoseconds kLongestWatch = 2 * kSecond;
inline constexpr Picoseconds kShortestHold = 30 * kSecond;
bool holds_queues(const Fabric& fabric);

// "send DATA, 1/0 to 1/3", for people.
std::string describe(const Step& step, const Fabric& fabric);

// The script as a file of its own: reading it gives the same script.
std::string to_yaml(const Script& script);

// In the order of wire::FrameType, and of wire::FrameError.
inline constexpr std::array<std::string_view, wire::kFrameTypes> kTypeNames = {
    "DATA", "DOORBELL", "ATOMIC", "COLLECTIVE_REDUCE", "COLLECTIVE_GATHER", "DISCOVERY", "LINK_KEEPALIVE"};
inline constexpr std::array<std::string_view, wire::kFrameErrors> kErrorNames = {
    "empty",        "short_header",    "oversize",   "bad_magic",      "bad_version",
    "unknown_type", "length_mismatch", "bad_source", "bad_destination"};

}  // namespace cnuas::equivalence
