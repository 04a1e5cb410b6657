// Where ranks meet: a temporary directory, and the switch between them.
#pragma once

#include "core/engine/error.h"
#include "live/ccl/perf/process.h"

#include <string>
#include <utility>

namespace cnuas::live::perf {

// Moves; removes the directory with all that is in it when it goes.
class TemporaryDirectory {
 public:
  // In $TMPDIR or /tmp, for this user alone. Errors: io.
  static Result<TemporaryDirectory> make();

  TemporaryDirectory(TemporaryDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory();

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

// A cnuasgpu-link-switchd with all that it needs in a directory; ended when it goes.
class OwnSwitch {
 public:
  // The program beside this one, or else that of the search path, as the switch of one of `racks`, 1 or 2 of
  // them; the second one dials the first. Waits until it answers. Errors: io, with what it has said.
  static Result<OwnSwitch> start(const std::string& directory, unsigned rack, unsigned racks);
  // Where its sockets are.
  static std::string run_dir_in(const std::string& directory, unsigned rack);

  OwnSwitch(OwnSwitch&&) noexcept = default;
  OwnSwitch& operator=(OwnSwitch&&) = delete;
  ~OwnSwitch();

  // What became of it, and what it said; empty while it is well.
  std::string end();

 private:
  OwnSwitch(Process process, std::string log) : process_(std::move(process)), log_(std::move(log)) {}

  Process process_;
  std::string log_;  // file
};

}  // namespace cnuas::live::perf
