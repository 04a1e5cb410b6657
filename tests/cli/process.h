// Runs a program as a user would, from the project's root, and keeps what it says.
#pragma once

#include <string>

namespace cnuas::test {

struct Outcome {
  int status = -1;
  std::string out;
  std::string err;
};

// `arguments` is shell text. %s in it is nothing special.
Outcome cnuas_sim(const std::string& arguments);
Outcome shell(const std::string& command);

// A file in a directory of its own, removed with the object.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& content);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string directory_;
  std::string path_;
};

std::string read_file(const std::string& path);

}  // namespace cnuas::test
