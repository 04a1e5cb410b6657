// Why a link failed, as libcnuaslink reports it.
#pragma once

#include "live/endpoint/cnuaslink.h"

#include <string>

namespace cnuas::live::endpoint {

struct Failure {
  cnuaslink_result result = CNUASLINK_OK;
  int system_error = 0;  // errno; 0: none
  std::string text;      // empty when there is nothing to add
};

// What to report for an errno of connecting, sending or receiving.
cnuaslink_result result_of_errno(int error);

// Cuts the text to what fits, at a whole UTF-8 character.
void write(const Failure& failure, cnuaslink_error& out);
void write_text(const std::string& text, char* out, std::size_t capacity);

}  // namespace cnuas::live::endpoint
