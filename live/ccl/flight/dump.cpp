#include "live/ccl/flight/dump.h"

#include "live/posix/os_error.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <memory>

#include <nlohmann/json.hpp>

namespace cnuas::live::flight {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostFileBytes = 256 << 20;
constexpr std::uint64_t kMostRanks = 65'534;
constexpr const char* kSchema = "cnuasccl.flight/1";

// Takes fields out of an object, and keeps the first thing that is wrong with one.
class Fields {
 public:
  Fields(const Json& object, std::string place) : object_(object), place_(std::move(place)) {
    if (!object.is_object()) wrong_ = place_ + " is no object";
  }

  const std::string& wrong() const { return wrong_; }

  std::string text(const char* name) {
    const Json* value = find(name);
    if (value != nullptr && value->is_string()) return value->get<std::string>();
    return complain(name, "a text"), std::string();
  }

  std::uint64_t number(const char* name, std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
    const Json* value = find(name);
    if (value != nullptr && value->is_number_unsigned() && value->get<std::uint64_t>() <= most)
      return value->get<std::uint64_t>();
    return complain(name, "a whole number in its range"), 0;
  }

  std::int64_t time(const char* name) {
    return static_cast<std::int64_t>(number(name, std::numeric_limits<std::int64_t>::max()));
  }

  // Absent or null: none.
  std::optional<std::uint64_t> maybe_number(const char* name, std::uint64_t most) {
    const Json* value = find(name);
    if (value == nullptr || value->is_null()) return std::nullopt;
    return number(name, most);
  }

  std::string maybe_text(const char* name) {
    const Json* value = find(name);
    if (value == nullptr || value->is_null()) return {};
    return text(name);
  }

  const Json& list(const char* name) {
    static const Json kNone = Json::array();
    const Json* value = find(name);
    if (value != nullptr && value->is_array()) return *value;
    return complain(name, "a list"), kNone;
  }

 private:
  const Json* find(const char* name) const {
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }

  void complain(const char* name, const char* expected) {
    if (wrong_.empty()) wrong_ = place_ + ": '" + name + "' is not " + expected;
  }

  const Json& object_;
  std::string place_;
  std::string wrong_;
};

std::string call_of(Fields& fields) {
  std::string call =
      fields.text("collective") + " of " + std::to_string(fields.number("count")) + " " + fields.text("type");
  if (const std::string op = fields.maybe_text("operator"); !op.empty()) call += ", " + op;
  if (const auto root = fields.maybe_number("root", kMostRanks)) call += ", root " + std::to_string(*root);
  return call + ", " + fields.text("algorithm");
}

std::optional<Entry::State> state_of(const std::string& text) {
  if (text == "running") return Entry::State::running;
  if (text == "done") return Entry::State::done;
  if (text == "failed") return Entry::State::failed;
  return std::nullopt;
}

std::string take_entry(const Json& json, std::size_t number, std::size_t ranks, Entry& out) {
  const std::string place = "entries[" + std::to_string(number) + "]";
  Fields fields(json, place);
  out.sequence = fields.number("sequence", std::numeric_limits<std::uint32_t>::max());
  out.call = call_of(fields);
  out.began_unix_ns = fields.time("began_unix_ns");
  if (const auto took = fields.maybe_number("took_ns", std::numeric_limits<std::int64_t>::max()))
    out.took_ns = static_cast<std::int64_t>(*took);
  const std::optional<Entry::State> state = state_of(fields.text("state"));
  out.status = fields.text("status");
  if (const auto culprit = fields.maybe_number("culprit", ranks - 1)) out.culprit = *culprit;
  out.error = fields.maybe_text("error");
  if (!fields.wrong().empty()) return fields.wrong();
  if (!state) return place + ": 'state' is none of running, done, failed";
  out.state = *state;
  return {};
}

std::string take_dump(const Json& json, Dump& out) {
  Fields fields(json, "the file");
  if (fields.text("schema") != kSchema)
    return fields.wrong().empty() ? std::string("'schema' is not ") + kSchema : fields.wrong();
  out.communicator = fields.number("comm_id", std::numeric_limits<std::uint32_t>::max());
  const std::uint64_t ranks = fields.number("n_ranks", kMostRanks);
  out.rank = fields.number("rank", kMostRanks);
  out.dumped_unix_ns = fields.time("dumped_unix_ns");
  out.begun = fields.number("collectives");
  for (const Json& gpu : fields.list("gpus")) {
    if (!gpu.is_string()) return "'gpus' is no list of texts";
    out.gpus.push_back(gpu.get<std::string>());
  }
  const Json& entries = fields.list("entries");
  if (!fields.wrong().empty()) return fields.wrong();
  if (out.rank >= ranks) return "'rank' is not below 'n_ranks'";
  if (out.gpus.size() != ranks) return "'gpus' does not have one for each rank";
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Entry entry;
    if (std::string wrong = take_entry(entries[i], i, ranks, entry); !wrong.empty()) return wrong;
    // Sequence numbers have 32 bits; here they go on beyond that.
    if (entry.sequence < out.begun) entry.sequence += (out.begun - 1 - entry.sequence) >> 32 << 32;
    if (!out.entries.empty() && entry.sequence <= out.entries.back().sequence)
      return "entries[" + std::to_string(i) + "]: 'sequence' does not ascend";
    out.entries.push_back(std::move(entry));
  }
  return {};
}

}  // namespace

const Entry* Dump::entry(std::uint64_t sequence) const {
  const auto found =
      std::lower_bound(entries.begin(), entries.end(), sequence,
                       [](const Entry& entry, std::uint64_t wanted) { return entry.sequence < wanted; });
  return found == entries.end() || found->sequence != sequence ? nullptr : &*found;
}

Result<Dump> parse_dump(const std::string& text, const std::string& file) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return fail(ErrorCode::invalid_argument, "is no JSON", file);
  Dump dump;
  dump.file = file;
  if (std::string wrong = take_dump(json, dump); !wrong.empty())
    return fail(ErrorCode::invalid_argument, std::move(wrong), file);
  return dump;
}

Result<Dump> read_dump(const std::string& file) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> opened(std::fopen(file.c_str(), "re"), &std::fclose);
  if (!opened) return os_error(errno, "cannot be read", file);
  std::string text;
  char piece[65'536];
  while (const std::size_t got = std::fread(piece, 1, sizeof piece, opened.get())) {
    text.append(piece, got);
    if (text.size() > kMostFileBytes)
      return fail(ErrorCode::invalid_argument, "is larger than any dump", file);
  }
  if (std::ferror(opened.get()) != 0) return os_error(errno, "cannot be read", file);
  return parse_dump(text, file);
}

}  // namespace cnuas::live::flight
