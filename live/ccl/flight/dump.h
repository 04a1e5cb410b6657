// One rank's flight recorder, as cnuasccl_flight_dump() writes it.
#pragma once

#include "core/engine/error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cnuas::live::flight {

struct Entry {
  enum class State { running, done, failed };

  std::uint64_t sequence = 0;  // counted on where the number on the wire has wrapped
  std::string call;            // all that must be the same on every rank, in words
  std::int64_t began_unix_ns = 0;
  std::optional<std::int64_t> took_ns;
  State state = State::running;
  std::string status;                  // "CNUASCCL_TIMEOUT"
  std::optional<std::size_t> culprit;  // a rank
  std::string error;
};

struct Dump {
  std::string file;
  std::uint64_t communicator = 0;
  std::size_t rank = 0;
  std::vector<std::string> gpus;  // by rank: as many as there are ranks
  std::int64_t dumped_unix_ns = 0;
  std::uint64_t begun = 0;     // collectives, the recorder's oldest may be forgotten
  std::vector<Entry> entries;  // by ascending sequence

  // Null: it has not begun it, or has forgotten it.
  const Entry* entry(std::uint64_t sequence) const;
};

// Errors: io; invalid_argument, which names the field.
Result<Dump> read_dump(const std::string& file);
// The same of a text that is in memory.
Result<Dump> parse_dump(const std::string& text, const std::string& file);

}  // namespace cnuas::live::flight
