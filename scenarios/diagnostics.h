// Collects what is wrong with a scenario, each with its line.
#pragma once

#include "scenarios/loader.h"
#include "scenarios/source_text.h"

#include <string>
#include <vector>

namespace cnuas::scenarios {

class Diagnostics {
 public:
  // Both must outlive it.
  Diagnostics(const SourceText& source, const std::string& file) : source_(source), file_(file) {}

  void error(const Place& place, std::string message, std::string help = {});
  void warning(const Place& place, std::string message, std::string help = {});

  bool has_errors() const { return errors_ > 0; }
  std::size_t errors() const { return errors_; }

  // In file order; what is said twice of one place (by way of an alias) is said once. At most kMost, and then
  // one that says how many are left out.
  std::vector<Diagnostic> take();

  static constexpr std::size_t kMost = 1000;
  static constexpr std::size_t kLongestLine = 1000;  // characters of a source line that are shown

 private:
  struct Pending {
    Severity severity;
    Place place;
    std::string message;
    std::string help;
  };
  Diagnostic finished(Severity severity, const Position& at, std::string message, std::string help) const;
  void add(Severity severity, const Place& place, std::string message, std::string help);

  const SourceText& source_;
  const std::string& file_;
  std::vector<Pending> list_;
  std::size_t errors_ = 0;
  std::size_t left_out_ = 0;
};

}  // namespace cnuas::scenarios
