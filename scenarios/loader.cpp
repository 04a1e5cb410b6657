#include "scenarios/loader.h"

#include "scenarios/check.h"
#include "scenarios/diagnostics.h"
#include "scenarios/document.h"
#include "scenarios/fabric_section.h"
#include "scenarios/fidelity_section.h"
#include "scenarios/live_section.h"
#include "scenarios/sha256.h"
#include "scenarios/workload_section.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <utility>

namespace cnuas::scenarios {
namespace {

constexpr std::size_t kLargestFile = 16 * 1024 * 1024;

// The scenario as far as it can be made out; whole when no error is reported.
Scenario read_scenario(Node& root, Diagnostics& diagnostics) {
  check(root, scenario_form(), diagnostics);
  Scenario scenario;
  if (const Node* name = root.get("scenario")) scenario.name = name->text;
  if (const Node* seed = root.get("seed")) scenario.seed = static_cast<std::uint64_t>(seed->number);
  scenario.fidelity = read_fidelity(root);
  check_fidelity(root, diagnostics);
  scenario.live = read_live(root);
  const Node* fabric = root.find("fabric");
  if (!fabric || fabric->kind != Node::Kind::mapping) return scenario;
  if (std::optional<Fabric> built = read_fabric(*fabric, diagnostics)) {
    scenario.fabric = std::move(*built);
    scenario.workload = read_workload(root, scenario.fabric, diagnostics);
    if (runs_frames(root)) check_for_frames(root, scenario.fabric, diagnostics);
  } else {
    check_algorithms(root, diagnostics);
  }
  return scenario;
}

LoadResult too_large(const std::string& path) {
  Diagnostic diagnostic;
  diagnostic.file = path;
  diagnostic.message = "the file is larger than 16 MiB";
  return LoadResult{std::nullopt, {diagnostic}};
}

LoadResult load(std::string_view yaml, const std::string& path) {
  const SourceText source(yaml);
  Diagnostics diagnostics(source, path);
  std::optional<Scenario> scenario;
  if (std::optional<Node> root = read_document(source, diagnostics)) {
    scenario = read_scenario(*root, diagnostics);
    scenario->path = path;
    scenario->sha256 = sha256_hex(yaml);
  }
  if (diagnostics.has_errors()) scenario.reset();
  return LoadResult{std::move(scenario), diagnostics.take()};
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

LoadResult load_text(std::string_view yaml, const std::string& path) {
  if (yaml.size() > kLargestFile) return too_large(path);
  try {
    return load(yaml, path);
  } catch (const std::exception& exception) {
    // Memory, in practice: everything else has been turned into diagnostics where it happened.
    Diagnostic diagnostic;
    diagnostic.file = path;
    diagnostic.message = std::string("cannot be loaded: ") + exception.what();
    return LoadResult{std::nullopt, {diagnostic}};
  }
}

FileResult load_file(const std::string& path) {
  const auto failed = [&](const char* verb) {
    return FileResult{{}, std::string("cannot ") + verb + " '" + path + "': " + std::strerror(errno)};
  };
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (!file) return failed("open");
  std::string text;
  char block[65536];
  while (text.size() <= kLargestFile) {
    const std::size_t got = std::fread(block, 1, sizeof block, file.get());
    if (got == 0) break;
    text.append(block, got);
  }
  if (std::ferror(file.get())) return failed("read");
  return FileResult{load_text(text, path), {}};
}

}  // namespace cnuas::scenarios
