// What the tests of the loader share: scenarios around a single part, and their diagnostics as text.
#pragma once

#include "scenarios/loader.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace cnuas::scenarios {

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Files of one ending, sorted by name.
inline std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder,
                                                   const std::string& ending) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ending) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

inline std::string all_of(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics)
    text += format(diagnostic);
  return text;
}

inline std::string indented(const std::string& text) {
  std::string result = "  ";
  for (char c : text)
    result += c == '\n' ? std::string("\n  ") : std::string(1, c);
  return result + "\n";
}

inline constexpr const char* kSmallFabric = "gpus_per_rack: 4\nlink: nvlink4";
inline constexpr const char* kSmallWorkload = "- {collective: all_reduce, algorithm: ring, size: 1 MiB}";

inline std::string scenario_text(const std::string& fabric, const std::string& workload,
                                 const std::string& rest = "") {
  return "scenario: test\nfabric:\n" + indented(fabric) + "workload:\n" + indented(workload) + rest;
}

// Loads what must load; warnings are allowed.
inline Scenario loaded(const std::string& text) {
  LoadResult result = load_text(text);
  EXPECT_TRUE(result.scenario) << text << all_of(result.diagnostics);
  return result.scenario ? *std::move(result.scenario) : Scenario{};
}
inline Fabric fabric_of(const std::string& fabric) {
  return loaded(scenario_text(fabric, kSmallWorkload)).fabric;
}
inline Workload workload_of(const std::string& workload, const std::string& rest = "",
                            const std::string& fabric = kSmallFabric) {
  return loaded(scenario_text(fabric, workload, rest)).workload;
}
// The calls of the first item.
inline std::vector<CollectiveCall> calls_of(const std::string& workload,
                                            const std::string& fabric = kSmallFabric) {
  const Workload result = workload_of(workload, "", fabric);
  if (result.items.empty()) return {};
  return std::get<Measurement>(result.items.front()).calls;
}

// The messages of what is reported, without places and helps.
inline std::vector<std::string> messages(const std::string& text) {
  std::vector<std::string> result;
  for (const Diagnostic& diagnostic : load_text(text).diagnostics)
    result.push_back(diagnostic.message);
  return result;
}

}  // namespace cnuas::scenarios
