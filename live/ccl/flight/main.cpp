// cnuas-flight: lays the flight recorders of a communicator's ranks side by side and says who held it up.
#include "live/ccl/flight/diagnosis.h"
#include "live/ccl/flight/report.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>

namespace {

using namespace cnuas;
using namespace cnuas::live::flight;

constexpr int kWell = 0;
constexpr int kFound = 1;
constexpr int kUsage = 2;
constexpr int kInputOutput = 4;
constexpr int kInternal = 70;
constexpr std::size_t kMostFiles = 65'536;

// Folders stand for the .json files in them.
Result<std::vector<std::string>> files_of(const std::vector<std::string>& given) {
  std::vector<std::string> files;
  for (const std::string& each : given) {
    std::error_code error;
    if (!std::filesystem::is_directory(each, error)) {
      files.push_back(each);
      continue;
    }
    std::filesystem::directory_iterator entry(each, error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
      if (entry->path().extension() == ".json") files.push_back(entry->path().string());
    if (error) return fail(ErrorCode::io, error.message(), each);
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  if (files.empty()) return fail(ErrorCode::io, "there is no dump");
  if (files.size() > kMostFiles) return fail(ErrorCode::io, "more files than ranks can be");
  return files;
}

std::string sentence(const Error& error) {
  return error.where.empty() ? error.message : error.where + ": " + error.message;
}

int examine(const std::vector<std::string>& given, bool as_json) {
  const Result<std::vector<std::string>> files = files_of(given);
  if (!files) {
    std::fprintf(stderr, "error: %s\n", sentence(files.error()).c_str());
    return kInputOutput;
  }
  std::vector<Dump> dumps;
  std::vector<std::string> problems;
  for (const std::string& file : *files) {
    Result<Dump> dump = read_dump(file);
    if (dump) {
      dumps.push_back(std::move(*dump));
    } else {
      problems.push_back(sentence(dump.error()));
    }
  }
  bool incomplete = !problems.empty();
  const std::size_t unreadable = problems.size();
  const std::vector<Diagnosis> diagnoses = diagnose(dumps, problems);
  for (std::size_t i = 0; i < problems.size(); ++i)
    std::fprintf(stderr, "%s: %s\n", i < unreadable ? "error" : "warning", problems[i].c_str());
  std::fputs((as_json ? to_json(diagnoses, problems) : to_text(diagnoses)).c_str(), stdout);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return kInputOutput;
  if (incomplete) return kInputOutput;
  const bool well = std::all_of(diagnoses.begin(), diagnoses.end(),
                                [](const Diagnosis& each) { return each.verdict == Verdict::well; });
  return well ? kWell : kFound;
}

int run_command_line(int argc, char** argv) {
  std::vector<std::string> given;
  bool as_json = false;
  CLI::App app("Names the rank that held up or broke a collective, from the ranks' flight recorders",
               "cnuas-flight");
  app.set_version_flag("--version", std::string("cnuas-flight ") + CNUASCCL_VERSION_TEXT);
  app.add_option("dumps", given, "Files of cnuasccl_flight_dump(), or folders of them")->required();
  app.add_flag("--json", as_json, "JSON instead of text");
  app.footer(
      "Exit codes: 0 nothing went wrong, 1 something did, 2 usage, 4 a dump cannot be used, 70 internal "
      "error.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kWell : kUsage;
  }
  return examine(given, as_json);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_command_line(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "internal error: %s\n", error.what());
    return kInternal;
  }
}
