// Asks a switch daemon over mgmt.sock, line by line; and hands out the raw socket to those who misuse it.
#pragma once

#include "core/engine/error.h"
#include "live/posix/unique_fd.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace cnuas::test {

// A stream of lines. Every wait ends with the guard of child_process.h.
class ManagementClient {
 public:
  // Errors: io.
  static Result<ManagementClient> connect(const std::string& path);

  int fd() const { return socket_.get(); }

  // All of `bytes`. False when the daemon has closed.
  bool write(std::string_view bytes);
  // A line without its end. None when the daemon has closed; the rest of an unfinished line is lost then.
  std::optional<std::string> read_line();

  // The `result` of an answer that is `ok`. Errors: io when there is no answer or no JSON, mismatch with the
  // daemon's code and message when it refuses.
  Result<nlohmann::json> request(const nlohmann::json& request);

 private:
  explicit ManagementClient(live::UniqueFd socket) : socket_(std::move(socket)) {}

  live::UniqueFd socket_;
  std::string received_;
};

}  // namespace cnuas::test
