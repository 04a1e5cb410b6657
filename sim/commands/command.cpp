#include "sim/commands/command.h"

#include "scenarios/loader.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

namespace cnuas::sim {

std::string quoted(const CommandLine& words) {
  static constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,%@";
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word)
      line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

std::optional<scenarios::Scenario> load(const std::string& path, int& status) {
  scenarios::FileResult file = scenarios::load_file(path);
  if (!file.io_error.empty()) {
    print_error(file.io_error);
    status = kInputOutput;
    return std::nullopt;
  }
  std::size_t errors = 0;
  for (const scenarios::Diagnostic& each : file.load.diagnostics) {
    fmt::print(stderr, "{}", scenarios::format(each));
    if (each.severity == scenarios::Severity::error) ++errors;
  }
  if (!file.load.scenario) {
    fmt::print(stderr, "{} error{} in {}; nothing was run\n", errors, errors == 1 ? "" : "s", path);
    status = kBadScenario;
    return std::nullopt;
  }
  return std::move(file.load.scenario);
}

int write_output(const std::string& path, const std::string& text) {
  std::FILE* file = path.empty() ? stdout : std::fopen(path.c_str(), "wb");
  const auto failed = [&] {
    print_error(fmt::format("cannot write {}: {}", path.empty() ? "standard output" : "'" + path + "'",
                            std::strerror(errno)));
    return kInputOutput;
  };
  if (file == nullptr) return failed();
  const bool written =
      std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
  const bool closed = path.empty() || std::fclose(file) == 0;
  return written && closed ? static_cast<int>(kSuccess) : failed();
}

void print_error(const std::string& what) {
  fmt::print(stderr, "error: {}\n", what);
}

}  // namespace cnuas::sim
