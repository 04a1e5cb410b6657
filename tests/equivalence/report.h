// What the command prints.
#pragma once

#include "tests/equivalence/equivalence.h"

#include <string>
#include <vector>

namespace cnuas::equivalence {

struct Row {
  const Script* script = nullptr;
  Verdict verdict;
  std::string failure;  // why it did not get to its end; empty when it did
  std::string repeat;   // the command that does it again
};

std::string table(const std::vector<Row>& rows);
std::string json(const std::vector<Row>& rows);  // schema cnuas.equivalence/1

}  // namespace cnuas::equivalence
