// What a run of cnuas-endpoint came to, for people and for programs.
#pragma once

#include "live/endpoint/main/session.h"

#include <string>

namespace cnuas::live::endpoint {

struct Summary {
  const Options& options;
  const Tally& tally;
  const cnuaslink_state& link;
  Picoseconds took_ps = 0;
  cnuaslink_result failure = CNUASLINK_OK;
};

std::string_view name(Mode mode);

std::string to_table(const Summary& summary);
// One object; `schema` says which version of these fields it has.
std::string to_json(const Summary& summary);

}  // namespace cnuas::live::endpoint
