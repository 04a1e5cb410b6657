// The two ways to talk to a daemon: an endpoint's socket and the management socket.
#pragma once

#include "core/engine/error.h"
#include "live/posix/unique_fd.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace cnuas::equivalence {

// One GPU's end of its link.
class EndpointClient {
 public:
  // Errors: io.
  static Result<EndpointClient> connect(const std::string& path);

  void send(std::vector<std::byte> message) { outgoing_.push_back(std::move(message)); }
  // Sends and reads what goes without waiting, and hands over each message that was read. Errors: io, when
  // the daemon has closed the connection.
  Result<void> pump(const std::function<void(std::span<const std::byte>)>& read);
  void set_reading(bool reads) { reading_ = reads; }
  bool reading() const { return reading_; }

  int fd() const { return fd_.get(); }
  bool wants_to_send() const { return !outgoing_.empty(); }
  std::uint64_t messages_read() const { return read_; }

 private:
  explicit EndpointClient(live::UniqueFd fd) : fd_(std::move(fd)) {}
  Result<void> push();

  live::UniqueFd fd_;
  std::deque<std::vector<std::byte>> outgoing_;
  bool reading_ = true;
  std::uint64_t read_ = 0;
};

class ManagementClient {
 public:
  // Errors: io.
  static Result<ManagementClient> connect(const std::string& path);

  // Waits for the answer. Errors: io; mismatch when the answer is none.
  Result<nlohmann::json> call(const nlohmann::json& request);
  // The result of a request that the daemon must carry out. Errors: those of call(); invalid_argument with
  // the daemon's words.
  Result<nlohmann::json> result(const nlohmann::json& request);

 private:
  explicit ManagementClient(live::UniqueFd fd) : fd_(std::move(fd)) {}

  live::UniqueFd fd_;
  std::string received_;
};

}  // namespace cnuas::equivalence
