// main() of a fuzz target that is not built as a fuzzer: feeds it every file of the folders and files it is
// given, whole and cut short.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kCuts = 64;  // of each file, evenly spaced

void feed(const std::string& bytes, std::size_t length) {
  // A copy of exactly this length, so that a sanitizer sees a read beyond it.
  const std::vector<std::uint8_t> exact(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

bool replay(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in.good() && !in.eof()) {
    std::fprintf(stderr, "cannot read %s\n", file.c_str());
    return false;
  }
  for (std::size_t cut = 0; cut <= kCuts; ++cut)
    feed(bytes, bytes.size() * cut / kCuts);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    if (std::filesystem::is_directory(argv[i])) {
      for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
        if (entry.is_regular_file()) files.push_back(entry.path());
      }
    } else {
      files.emplace_back(argv[i]);
    }
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    std::fprintf(stderr, "no input to replay\n");
    return 1;
  }
  const bool all_read = std::all_of(files.begin(), files.end(), replay);
  std::printf("%zu inputs replayed\n", files.size());
  return all_read ? 0 : 1;
}
