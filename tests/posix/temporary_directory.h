// A directory that goes with the test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace cnuas::live {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    char path[] = "/tmp/cnuas-XXXXXX";
    path_ = ::mkdtemp(path);
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace cnuas::live
