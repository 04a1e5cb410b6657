// The directory with a switch's sockets, which one daemon at a time has.
#pragma once

#include "core/engine/error.h"
#include "live/posix/unique_fd.h"

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace cnuas::live {

inline constexpr mode_t kDirectoryMode = 0750;
inline constexpr mode_t kSocketMode = 0660;

class RunDirectory {
 public:
  // Makes the directory (its parents must be there) or takes one over, with kDirectoryMode or less, and locks
  // it for as long as the object lives. With `group`, the directory and its sockets are that group's.
  // Errors: a name that is no directory, that others may write to, or that another daemon has (with its
  // process ID).
  static Result<RunDirectory> take(const std::string& path, std::optional<gid_t> group);

  const std::string& path() const { return path_; }
  std::string socket(const std::string& name) const { return path_ + "/" + name + ".sock"; }

  // Listens at socket(name). Stale sockets are replaced. Errors: those of listen_at().
  Result<UniqueFd> listen(const std::string& name, bool stream);
  // Removes the sockets that listen() made, and nothing else.
  void remove_sockets();

 private:
  RunDirectory(std::string path, UniqueFd lock, std::optional<gid_t> group)
      : path_(std::move(path)), lock_(std::move(lock)), group_(group) {}

  std::string path_;
  UniqueFd lock_;
  std::optional<gid_t> group_;
  std::vector<std::string> made_;
};

}  // namespace cnuas::live
