#include "live/management/json_text.h"

#include <algorithm>
#include <set>
#include <vector>

namespace cnuas::live {

namespace {

constexpr std::size_t kLongestDetail = 160;  // the parser's messages quote what they have read

std::string shortened(const std::string& text) {
  return text.size() <= kLongestDetail ? text : text.substr(0, kLongestDetail) + "...";
}

// Looks at a text before anything is made of it.
class RequestCheck : public nlohmann::json_sax<RequestJson> {
 public:
  Refusal refusal;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }

  bool start_object(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (keys_.back().insert(name).second) return true;
    refusal = {RefusalCode::bad_json, "the field '" + shortened(name) + "' stands twice", {}};
    return false;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    std::string detail = error.what();
    const std::size_t colon = detail.find(": ");  // behind the parser's own name and place
    if (colon != std::string::npos) detail.erase(0, colon + 2);
    refusal = {RefusalCode::bad_json,
               "the line is not JSON, at byte " + std::to_string(position) + ": " + shortened(detail),
               {}};
    return false;
  }

 private:
  bool open() {
    keys_.emplace_back();
    if (keys_.size() <= kDeepestRequest) return true;
    refusal = {RefusalCode::too_deep,
               "more than " + std::to_string(kDeepestRequest) + " levels of objects and arrays",
               {}};
    return false;
  }
  bool close() {
    keys_.pop_back();
    return true;
  }

  std::vector<std::set<std::string>> keys_;  // of the objects that are open, outermost first
};

}  // namespace

Outcome<RequestJson> read_request(std::string_view line) {
  // The parser takes a NUL for the end of the text and would pass over what follows.
  const auto nul = std::find(line.begin(), line.end(), '\0');
  if (nul != line.end()) {
    return refuse(RefusalCode::bad_json,
                  "the line is not JSON, at byte " + std::to_string(nul - line.begin() + 1) + ": a NUL");
  }
  RequestCheck check;
  if (!RequestJson::sax_parse(line, &check)) return tl::unexpected(check.refusal);
  RequestJson request = RequestJson::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!request.is_object())
    return refuse(RefusalCode::bad_json, "a request is an object: {\"command\": ...}");
  return request;
}

std::string to_text(const AnswerJson& json) {
  return json.dump(-1, ' ', false, AnswerJson::error_handler_t::replace);
}

}  // namespace cnuas::live
