// What does not work, and why.
#include "live/management/commands.h"
#include "live/management/health.h"
#include "live/management/peer_route.h"

namespace cnuas::live {

namespace {

AnswerJson place_json(const PeerPlace& place) {
  AnswerJson json{{"gpu", gpu_json(place.gpu)}};
  if (place.port) {
    json["port"] = *place.port;
    json["place"] = place.remote ? "remote" : "local";
  }
  return json;
}

AnswerJson finding_json(const Finding& finding) {
  AnswerJson json;
  json["severity"] = name(finding.severity);
  json["code"] = finding.code;
  if (finding.port) json["port"] = *finding.port;
  if (finding.gpu != kNoGpu) json["gpu"] = gpu_json(finding.gpu);
  if (!finding.reason.empty()) {
    json["reason"] = finding.reason;
    json["frames"] = finding.frames;
  }
  json["message"] = finding.message;
  return json;
}

}  // namespace

CommandOutcome peer_query(const CommandContext& context, const RequestFields& fields) {
  const Outcome<GpuId> a = fields.gpu("a");
  if (!a) return tl::unexpected(a.error());
  const Outcome<GpuId> b = fields.gpu("b");
  if (!b) return tl::unexpected(b.error());
  const PeerRoute route = route_between(context.managed.fabric_switch(), *a, *b);
  AnswerJson result;
  result["a"] = place_json(route.a);
  result["b"] = place_json(route.b);
  result["transport"] = route.fault ? "none" : "switch";
  result["reason"] = route.reason;
  if (route.fault) result["reason_code"] = name(*route.fault);
  return result;
}

CommandOutcome health(const CommandContext& context, const RequestFields&) {
  const std::vector<Finding> findings = find_faults(context.managed);
  AnswerJson list = AnswerJson::array();
  for (const Finding& finding : findings)
    list.push_back(finding_json(finding));
  return AnswerJson{{"status", overall(findings)}, {"findings", std::move(list)}};
}

}  // namespace cnuas::live
