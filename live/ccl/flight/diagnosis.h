// What became of a communicator, and on whose account: the ranks' dumps side by side.
#pragma once

#include "live/ccl/flight/dump.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cnuas::live::flight {

enum class Verdict {
  well,       // nothing failed, and nobody is waited for
  mismatch,   // ranks made different calls
  straggler,  // somebody was, or is, waited for who had not entered the collective
  absent,     // somebody was waited for who has left no dump
  failed,     // somebody's frames, link or silence within the collective
  running,    // all are in the collective, and it is not over
};
const char* name(Verdict verdict);

struct Diagnosis {
  std::uint64_t communicator = 0;
  std::vector<std::string> gpus;   // by rank
  std::vector<const Dump*> dumps;  // by rank; null: none
  Verdict verdict = Verdict::well;
  std::uint64_t sequence = 0;         // of the collective that the verdict is about; unless well
  std::string call;                   // what most ranks called there
  std::vector<std::size_t> culprits;  // ranks, ascending; empty: not to be told
  std::string text;                   // why, in one sentence
};

// One for each communicator, in the order of their dumps. Of two dumps of one rank the later one counts. The
// dumps must outlive the diagnoses. Dumps that contradict each other about the communicator's ranks are left
// out, and told in `left_out`.
std::vector<Diagnosis> diagnose(const std::vector<Dump>& dumps, std::vector<std::string>& left_out);

}  // namespace cnuas::live::flight
