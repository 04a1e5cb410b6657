#include "live/management/health.h"

#include <algorithm>
#include <utility>

namespace cnuas::live {

namespace {

using fabric_switch::DropReason;
using fabric_switch::PortConfig;
using fabric_switch::PortCounters;
using fabric_switch::PortIndex;
using fabric_switch::PortRole;
using fabric_switch::Switch;

// A port with all that is known of it.
struct Port {
  PortIndex index;
  const PortConfig& config;
  Switch::PortStatus status;
  PortFacts facts;
  const PortCounters& counters;

  std::string name() const { return "port " + std::to_string(index); }
};

// Links come and go, and destinations with them; all other drops mean that somebody misbehaves.
bool is_usual(DropReason reason) {
  switch (reason) {
    case DropReason::port_down:
    case DropReason::no_route:
    case DropReason::link_down:
    case DropReason::admin_down:
    case DropReason::announcements:
      return true;
    default:
      return false;
  }
}

Finding finding(Severity severity, std::string_view code, const Port& port, std::string message) {
  Finding made;
  made.severity = severity;
  made.code = code;
  made.message = std::move(message);
  made.port = port.index;
  return made;
}

void judge_gpu_port(const Port& port, std::vector<Finding>& findings) {
  const GpuId expected = port.config.expected;
  if (expected == kNoGpu || port.status.link_up) return;
  findings.push_back(
      finding(Severity::warning, "gpu_absent", port,
              "GPU " + to_string(expected) + " is expected at " + port.name() + ", and nobody is connected"));
  findings.back().gpu = expected;
}

void judge_link_to_switch(const Port& port, std::vector<Finding>& findings) {
  if (port.status.link_up) return;
  if (port.facts.dials.empty() && port.facts.connections == 0) return;  // nobody wanted one
  std::string message = "the link to another switch, " + port.name() + ", is down";
  if (!port.facts.dials.empty()) message += "; it dials " + port.facts.dials;
  findings.push_back(finding(Severity::warning, "uplink_down", port, std::move(message)));
}

void judge_state(const Port& port, std::vector<Finding>& findings) {
  const bool wanted = port.config.expected != kNoGpu || port.status.link_up;
  if (!port.status.admin_up) {
    findings.push_back(finding(wanted ? Severity::warning : Severity::note, "port_admin_down", port,
                               port.name() + " is taken down by the operator"));
  } else if (port.status.stalled) {
    findings.push_back(
        finding(Severity::warning, "port_stalled", port,
                "the reader of " + port.name() + " stands still, and frames for it are dropped"));
  }
  if (port.facts.refused_identity > 0) {
    findings.push_back(finding(Severity::warning, "refused_identity", port,
                               port.name() + " has turned away " +
                                   std::to_string(port.facts.refused_identity) +
                                   " endpoints whose user may not connect"));
  }
}

void judge_drops(const Port& port, std::vector<Finding>& findings) {
  for (std::size_t i = 0; i < fabric_switch::kDropReasons; ++i) {
    const auto reason = static_cast<DropReason>(i);
    const std::pair<std::string_view, std::uint64_t> sides[] = {
        {"rx_drops", port.counters.rx_dropped(reason)}, {"tx_drops", port.counters.tx_dropped(reason)}};
    for (const auto& [code, frames] : sides) {
      if (frames == 0) continue;
      findings.push_back(finding(is_usual(reason) ? Severity::note : Severity::warning, code, port,
                                 port.name() + " has dropped " + std::to_string(frames) +
                                     (code == "rx_drops" ? " received frames: " : " frames to be sent: ") +
                                     std::string(name(reason))));
      findings.back().reason = name(reason);
      findings.back().frames = frames;
    }
  }
}

void judge_daemon(const DaemonFacts& facts, std::vector<Finding>& findings) {
  if (facts.draining) {
    Finding draining;
    draining.severity = Severity::error;
    draining.code = "draining";
    draining.message = "the daemon has been told to stop and is emptying its queues";
    findings.push_back(std::move(draining));
  }
  if (!facts.config_error.empty()) {
    Finding refused;
    refused.severity = Severity::warning;
    refused.code = "reload_refused";
    refused.message = "the last reload was not taken: " + facts.config_error;
    findings.push_back(std::move(refused));
  }
}

void judge_expectations(const Switch& fabric_switch, std::vector<Finding>& findings) {
  std::size_t expected = 0;
  std::size_t connected = 0;
  for (std::size_t i = 0; i < fabric_switch.ports(); ++i) {
    if (fabric_switch.config().ports[i].expected == kNoGpu) continue;
    ++expected;
    if (fabric_switch.status(static_cast<PortIndex>(i)).link_up) ++connected;
  }
  if (expected == 0 || connected > 0) return;
  Finding none;
  none.severity = Severity::error;
  none.code = "no_gpus";
  none.message = "none of the " + std::to_string(expected) + " expected GPUs is connected";
  findings.push_back(std::move(none));
}

}  // namespace

std::string_view name(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "?";
}

std::vector<Finding> find_faults(const ManagedSwitch& managed) {
  const Switch& fabric_switch = managed.fabric_switch();
  std::vector<Finding> findings;
  judge_daemon(managed.daemon_facts(), findings);
  judge_expectations(fabric_switch, findings);
  for (std::size_t i = 0; i < fabric_switch.ports(); ++i) {
    const auto index = static_cast<PortIndex>(i);
    const Port port{index, fabric_switch.config().ports[i], fabric_switch.status(index),
                    managed.port_facts(index), fabric_switch.counters(index)};
    judge_state(port, findings);
    if (port.config.role == PortRole::gpu)
      judge_gpu_port(port, findings);
    else
      judge_link_to_switch(port, findings);
    judge_drops(port, findings);
  }
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  return findings;
}

std::string_view overall(const std::vector<Finding>& findings) {
  const auto has = [&](Severity severity) {
    return std::any_of(findings.begin(), findings.end(),
                       [severity](const Finding& each) { return each.severity == severity; });
  };
  if (has(Severity::error)) return "failed";
  return has(Severity::warning) ? "degraded" : "ok";
}

}  // namespace cnuas::live
