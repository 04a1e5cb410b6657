#include "live/management/management_api.h"

#include "live/management/commands.h"
#include "live/management/json_text.h"
#include "live/management/request_fields.h"

#include <exception>
#include <utility>

namespace cnuas::live {

namespace {

constexpr std::size_t kLongestId = 128;

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

// Null when the request has no `id`.
Outcome<AnswerJson> id_of(const RequestJson& request) {
  const auto found = request.find("id");
  if (found == request.end()) return AnswerJson();
  if (found->is_string()) {
    const std::string& text = found->get_ref<const std::string&>();
    if (text.size() <= kLongestId) return AnswerJson(text);
    return refuse(
        RefusalCode::out_of_range,
        "'id' has " + std::to_string(text.size()) + " bytes, and may have " + std::to_string(kLongestId),
        "id");
  }
  if (!found->is_number_integer())
    return refuse(RefusalCode::bad_field, "'id' is neither a text nor an integer", "id");
  if (found->is_number_unsigned() && found->get<std::uint64_t>() > INT64_MAX)
    return refuse(RefusalCode::out_of_range, "'id' does not fit into 64 bits with a sign", "id");
  return AnswerJson(found->get<std::int64_t>());
}

Outcome<const Command*> command_of(const RequestFields& fields) {
  const Outcome<std::string> name = fields.text("command");
  if (!name) return tl::unexpected(name.error());
  if (const Command* command = find_command(*name)) return command;
  std::string message = "there is no such command; there are ";
  for (const Command& each : commands()) {
    if (&each != &commands().front()) message += ", ";
    message += each.name;
  }
  return refuse(RefusalCode::unknown_command, std::move(message), "command");
}

CommandOutcome run(const RequestJson& request, const CommandContext& context) {
  const RequestFields fields(request);
  const Outcome<const Command*> command = command_of(fields);
  if (!command) return tl::unexpected(command.error());
  if (const Outcome<void> well = fields.only((*command)->fields); !well) return tl::unexpected(well.error());
  return (*command)->run(context, fields);
}

AnswerJson answer_to(const AnswerJson& id, bool ok) {
  AnswerJson answer = AnswerJson::object();
  if (!id.is_null()) answer["id"] = id;
  answer["ok"] = ok;
  return answer;
}

std::string refusal_text(const AnswerJson& id, const Refusal& refusal) {
  AnswerJson answer = answer_to(id, false);
  AnswerJson& error = answer["error"] = AnswerJson::object();
  error["code"] = name(refusal.code);
  if (!refusal.field.empty()) error["field"] = refusal.field;
  error["message"] = refusal.message;
  return to_text(answer) + "\n";
}

std::string answer_text(std::string_view line, const CommandContext& context) {
  const Outcome<RequestJson> request = read_request(line);
  if (!request) return refusal_line(request.error());
  const Outcome<AnswerJson> id = id_of(*request);
  if (!id) return refusal_line(id.error());
  CommandOutcome result = run(*request, context);
  if (!result) return refusal_text(*id, result.error());
  AnswerJson answer = answer_to(*id, true);
  answer["result"] = std::move(*result);
  std::string text = to_text(answer) + "\n";
  if (text.size() <= kLongestAnswer) return text;
  return refusal_text(*id, {RefusalCode::too_large,
                            "the answer has " + std::to_string(text.size()) + " bytes, more than " +
                                std::to_string(kLongestAnswer) + "; ask for less",
                            {}});
}

}  // namespace

ManagementApi::ManagementApi(ManagedSwitch& managed)
    : managed_(managed), counting_since_(managed.daemon_facts().started_ps) {}

std::string ManagementApi::answer(std::string_view line, Picoseconds now) {
  if (line.size() > kLongestRequest) return too_long_line();
  if (is_blank(line)) return {};
  try {
    return answer_text(line, {managed_, counting_since_, now});
  } catch (const std::exception& error) {  // out of memory, at the most
    return refusal_line({RefusalCode::internal, error.what(), {}});
  }
}

std::string refusal_line(const Refusal& refusal) {
  return refusal_text(AnswerJson(), refusal);
}

std::string too_long_line() {
  return refusal_line(
      {RefusalCode::too_long, "the line has more than " + std::to_string(kLongestRequest) + " bytes", {}});
}

}  // namespace cnuas::live
