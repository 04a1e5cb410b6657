#include "tests/cli/process.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <sys/wait.h>

namespace cnuas::test {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TemporaryFile::TemporaryFile(const std::string& name, const std::string& content) {
  std::string pattern = (std::filesystem::temp_directory_path() / "cnuas-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) std::abort();
  directory_ = pattern;
  path_ = directory_ + "/" + name;
  std::ofstream(path_, std::ios::binary) << content;
}

TemporaryFile::~TemporaryFile() {
  std::filesystem::remove_all(directory_);
}

Outcome shell(const std::string& command) {
  const TemporaryFile out("out", "");
  const TemporaryFile err("err", "");
  const std::string whole = "cd '" CNUAS_SOURCE_DIR "' && { " + command + "\n} >'" + out.path() + "' 2>'" +
                            err.path() + "' </dev/null";
  const int status = std::system(whole.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(out.path()),
          read_file(err.path())};
}

Outcome cnuas_sim(const std::string& arguments) {
  return shell("'" CNUAS_BINARY_DIR "/bin/cnuas-sim' " + arguments);
}

}  // namespace cnuas::test
