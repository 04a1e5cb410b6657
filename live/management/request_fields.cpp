#include "live/management/request_fields.h"

#include <algorithm>

namespace cnuas::live {

namespace {

constexpr std::size_t kLongestQuote = 64;
constexpr const char* kGpuForms = "a GPU is \"1/3\", \"0x0103\" or a number from 1 to 65534";

// Cut between characters: what is quoted stays UTF-8.
std::string in_quotes(std::string_view text) {
  if (text.size() <= kLongestQuote) return "'" + std::string(text) + "'";
  std::size_t end = kLongestQuote;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;
  return "'" + std::string(text.substr(0, end)) + "...'";
}

Outcome<GpuId> gpu_of(const RequestJson& value, const std::string& field) {
  if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    if (text.size() > kLongestQuote) return refuse(RefusalCode::bad_field, kGpuForms, field);
    Result<GpuId> id = parse_gpu_id(text);
    if (!id) return refuse(RefusalCode::bad_field, id.error().message, field);
    return *id;
  }
  if (!value.is_number_integer()) return refuse(RefusalCode::bad_field, kGpuForms, field);
  constexpr std::uint64_t kLast = kBroadcast.value - 1;
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() == 0 || value.get<std::uint64_t>() > kLast)
    return refuse(RefusalCode::out_of_range, kGpuForms, field);
  return GpuId{value.get<std::uint16_t>()};
}

}  // namespace

const RequestJson* RequestFields::find(std::string_view field) const {
  const auto found = request_.find(field);
  return found == request_.end() ? nullptr : &*found;
}

Outcome<const RequestJson*> RequestFields::require(std::string_view field) const {
  const RequestJson* value = find(field);
  if (value == nullptr) {
    return refuse(RefusalCode::missing_field, "the field '" + std::string(field) + "' is missing",
                  std::string(field));
  }
  return value;
}

bool RequestFields::is_text(std::string_view field) const {
  const RequestJson* value = find(field);
  return value != nullptr && value->is_string();
}

Outcome<std::uint64_t> RequestFields::integer(std::string_view field, std::uint64_t least,
                                              std::uint64_t most) const {
  const Outcome<const RequestJson*> value = require(field);
  if (!value) return tl::unexpected(value.error());
  const std::string name(field);
  if (!(*value)->is_number_integer())
    return refuse(RefusalCode::bad_field, "'" + name + "' is not an integer", name);
  // The parser stores integers from 0 up as unsigned, so what is not is negative.
  const bool negative = !(*value)->is_number_unsigned() && (*value)->get<std::int64_t>() < 0;
  const std::uint64_t number = negative ? 0 : (*value)->get<std::uint64_t>();
  if (negative || number < least || number > most) {
    return refuse(
        RefusalCode::out_of_range,
        "'" + name + "' is not in the range " + std::to_string(least) + " to " + std::to_string(most), name);
  }
  return number;
}

Outcome<std::string> RequestFields::text(std::string_view field) const {
  const Outcome<const RequestJson*> value = require(field);
  if (!value) return tl::unexpected(value.error());
  if (!(*value)->is_string())
    return refuse(RefusalCode::bad_field, "'" + std::string(field) + "' is not a text", std::string(field));
  return (*value)->get_ref<const std::string&>();
}

Outcome<GpuId> RequestFields::gpu(std::string_view field) const {
  const Outcome<const RequestJson*> value = require(field);
  if (!value) return tl::unexpected(value.error());
  return gpu_of(**value, std::string(field));
}

Outcome<std::vector<GpuId>> RequestFields::gpus(std::string_view field, std::size_t most) const {
  const Outcome<const RequestJson*> value = require(field);
  if (!value) return tl::unexpected(value.error());
  const std::string name(field);
  if (!(*value)->is_array())
    return refuse(RefusalCode::bad_field, "'" + name + "' is not a list of GPUs", name);
  if ((*value)->empty() || (*value)->size() > most) {
    return refuse(RefusalCode::out_of_range,
                  "'" + name + "' has " + std::to_string((*value)->size()) + " GPUs, and must have 1 to " +
                      std::to_string(most),
                  name);
  }
  std::vector<GpuId> gpus;
  for (const RequestJson& each : **value) {
    const Outcome<GpuId> id = gpu_of(each, name);
    if (!id) {
      return refuse(id.error().code, "element " + std::to_string(gpus.size()) + ": " + id.error().message,
                    name);
    }
    gpus.push_back(*id);
  }
  return gpus;
}

Outcome<void> RequestFields::only(const std::vector<std::string_view>& known) const {
  for (const auto& [field, value] : request_.items()) {
    if (field == "command" || field == "id") continue;
    if (std::find(known.begin(), known.end(), field) != known.end()) continue;
    std::string message = "this command has no field " + in_quotes(field);
    if (!known.empty()) message += "; it has ";
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (i > 0) message += ", ";
      message += "'" + std::string(known[i]) + "'";
    }
    return refuse(RefusalCode::unknown_field, message, field.size() <= kLongestQuote ? field : std::string());
  }
  return {};
}

}  // namespace cnuas::live
