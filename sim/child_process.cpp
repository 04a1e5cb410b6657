#include "sim/child_process.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <sys/wait.h>
#include <unistd.h>

namespace cnuas::sim {

namespace {

bool write_all(int descriptor, const std::string& bytes) {
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t n = write(descriptor, bytes.data() + written, bytes.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    written += static_cast<std::size_t>(n);
  }
  return true;
}

std::string read_all(int descriptor) {
  std::string bytes;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = read(descriptor, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return bytes;
    bytes.append(buffer, static_cast<std::size_t>(n));
  }
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status))
    return "the child process was killed by signal " + std::to_string(WTERMSIG(status));
  return "the child process ended with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Result<std::string> in_child_process(const std::function<std::string()>& work) {
  int ends[2];
  if (pipe(ends) != 0)
    return fail(ErrorCode::mismatch, std::string("cannot make a pipe: ") + std::strerror(errno));
  std::fflush(nullptr);  // or the child would print it a second time
  const pid_t child = fork();
  if (child < 0) {
    close(ends[0]);
    close(ends[1]);
    return fail(ErrorCode::mismatch, std::string("cannot fork: ") + std::strerror(errno));
  }
  if (child == 0) {
    close(ends[0]);
    const bool complete = write_all(ends[1], work());
    _exit(complete ? 0 : 1);  // no destructors of the parent's objects
  }
  close(ends[1]);
  std::string bytes = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) return fail(ErrorCode::mismatch, how_it_ended(status));
  return bytes;
}

}  // namespace cnuas::sim
