// Reads and writes the JSON of the management socket. No exception leaves these functions for what the text
// holds.
#pragma once

#include "live/management/refusal.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace cnuas::live {

using RequestJson = nlohmann::json;
using AnswerJson = nlohmann::ordered_json;  // fields stay in the order in which they are documented

inline constexpr std::size_t kDeepestRequest = 8;  // levels of objects and arrays

// An object. Refuses, as bad_json, what is not JSON, not UTF-8, no object or has a field twice; as too_deep,
// what goes deeper than kDeepestRequest.
Outcome<RequestJson> read_request(std::string_view line);

// Without a newline, always UTF-8: bytes that are not become U+FFFD.
std::string to_text(const AnswerJson& json);

}  // namespace cnuas::live
