#include "live/switchd/run_directory.h"

#include "live/posix/os_error.h"
#include "live/posix/unix_socket.h"

#include <array>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

namespace cnuas::live {

namespace {

std::string read_pid(int fd) {
  std::array<char, 32> text{};
  const ssize_t got = ::pread(fd, text.data(), text.size() - 1, 0);
  std::string pid;
  for (ssize_t i = 0;
       i < got && text[static_cast<std::size_t>(i)] >= '0' && text[static_cast<std::size_t>(i)] <= '9'; ++i)
    pid += text[static_cast<std::size_t>(i)];
  return pid;
}

void write_pid(int fd) {
  const std::string text = std::to_string(::getpid()) + "\n";
  // Only for people and messages; the lock is what counts.
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, text.data(), text.size(), 0) < 0) return;
}

Result<void> prepare(const std::string& path, std::optional<gid_t> group) {
  if (::mkdir(path.c_str(), kDirectoryMode) != 0 && errno != EEXIST)
    return os_error(errno, "cannot make the run directory", path);
  UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return os_error(errno, "cannot open the run directory", path);
  struct stat status {};
  if (::fstat(directory.get(), &status) != 0)
    return os_error(errno, "cannot look at the run directory", path);
  if (status.st_uid != ::geteuid() && (status.st_mode & S_IWOTH) != 0)
    return fail(ErrorCode::io, "the run directory is another user's and everybody may write to it", path);
  if (group && ::fchown(directory.get(), static_cast<uid_t>(-1), *group) != 0)
    return os_error(errno, "cannot give the run directory to group " + std::to_string(*group), path);
  // mkdir() went by the umask; a directory that was there may be open too wide, or tighter than we would.
  if (status.st_uid == ::geteuid()) {
    const mode_t mode = status.st_mode & 07777;
    const mode_t wanted = group ? kDirectoryMode : (mode & kDirectoryMode);
    if (mode != wanted && ::fchmod(directory.get(), wanted) != 0)
      return os_error(errno, "cannot set the run directory's mode", path);
  }
  return {};
}

}  // namespace

Result<RunDirectory> RunDirectory::take(const std::string& path, std::optional<gid_t> group) {
  if (Result<void> well = prepare(path, group); !well) return tl::unexpected(well.error());
  const std::string lock_path = path + "/switchd.pid";
  UniqueFd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640));
  if (!lock) return os_error(errno, "cannot open the lock file", lock_path);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return os_error(errno, "cannot lock", lock_path);
    const std::string pid = read_pid(lock.get());
    return fail(ErrorCode::io, "another switch runs here" + (pid.empty() ? "" : ", process " + pid), path);
  }
  write_pid(lock.get());
  return RunDirectory(path, std::move(lock), group);
}

Result<UniqueFd> RunDirectory::listen(const std::string& name, bool stream) {
  const std::string at = socket(name);
  Result<UniqueFd> fd = listen_at(at, stream ? SocketKind::stream : SocketKind::seqpacket, kSocketMode);
  if (!fd) return fd;
  made_.push_back(at);
  if (group_ && ::lchown(at.c_str(), static_cast<uid_t>(-1), *group_) != 0)
    return os_error(errno, "cannot give the socket to group " + std::to_string(*group_), at);
  return fd;
}

void RunDirectory::remove_sockets() {
  for (const std::string& path : made_)
    ::unlink(path.c_str());
  made_.clear();
}

}  // namespace cnuas::live
