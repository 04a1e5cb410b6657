#include "live/switchd/switch_server.h"

#include "live/posix/clock.h"
#include "live/posix/os_error.h"
#include "live/switchd/chassis.h"
#include "live/switchd/service.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cnuas::live {

namespace {

constexpr int kAcceptsARound = 16;
constexpr unsigned kDropReport =
    10;  // seconds between reports of drops: a hostile peer must not fill the disk
constexpr Picoseconds kFirstDialDelay = 100 * kMillisecond;
constexpr Picoseconds kLongestDialDelay = 5 * kSecond;

UniqueFd reserve_descriptor() {
  return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

}  // namespace

// --- Starting ---------------------------------------------------------------------------------------------

SwitchServer::SwitchServer(EventLoop& loop, RunDirectory directory, ServerConfig config,
                           ServerOptions options, fabric_switch::Switch fabric)
    : loop_(loop),
      directory_(std::move(directory)),
      access_(std::move(config.access)),
      options_(std::move(options)),
      path_(loop, std::move(fabric), options_.send_buffer,
            [this](PortIndex port, const std::string& why) { gone(port, why); }),
      ports_(path_.fabric().ports()),
      reserve_(reserve_descriptor()),
      drops_logged_(ports_.size() * fabric_switch::kDropReasons) {
  facts_.version = options_.version;
  facts_.program = options_.program;
  facts_.run_dir = directory_.path();
  facts_.config = options_.config_path;
  facts_.pid = ::getpid();
  facts_.started_ps = monotonic_now();
}

SwitchServer::~SwitchServer() {
  for (Port& port : ports_)
    loop_.unwatch(port.watch);
  loop_.cancel(dial_timer_);
  loop_.cancel(second_timer_);
  directory_.remove_sockets();
}

Result<std::unique_ptr<SwitchServer>> SwitchServer::start(EventLoop& loop, RunDirectory directory,
                                                          ServerConfig config, ServerOptions options,
                                                          std::map<std::string, UniqueFd> passed) {
  if (!options.uplink.empty() && config.fabric.uplink < 0) {
    return fail(
        ErrorCode::invalid_argument,
        "switch '" + config.fabric.name + "' has no link to another switch in the fabric, so nothing to dial",
        "--uplink");
  }
  Result<fabric_switch::Switch> fabric = fabric_switch::Switch::create(config.fabric);
  if (!fabric) return tl::unexpected(fabric.error());
  std::unique_ptr<SwitchServer> server(new SwitchServer(loop, std::move(directory), std::move(config),
                                                        std::move(options), std::move(*fabric)));
  if (Result<void> opened = server->open_sockets(std::move(passed)); !opened)
    return tl::unexpected(opened.error());
  if (!server->options_.uplink.empty()) server->dial();
  server->every_second();
  return server;
}

Result<UniqueFd> SwitchServer::listener(const std::string& name, std::map<std::string, UniqueFd>& passed) {
  const auto found = passed.find(name);
  if (found == passed.end()) return directory_.listen(name, name == kManagementName);
  UniqueFd fd = std::move(found->second);
  passed.erase(found);
  return fd;
}

Result<void> SwitchServer::open_sockets(std::map<std::string, UniqueFd> passed) {
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const auto index = static_cast<PortIndex>(i);
    Port& port = ports_[i];
    Result<UniqueFd> opened = listener(port_name(index), passed);
    if (!opened) return tl::unexpected(opened.error());
    port.listener = std::move(*opened);
    Result<EventLoop::Watch> watch =
        loop_.watch(port.listener.get(), EPOLLIN, [this, index](std::uint32_t) { accept_at(index); });
    if (!watch) return tl::unexpected(watch.error());
    port.watch = *watch;
    port.facts.socket = directory_.socket(port_name(index));
  }
  if (!options_.uplink.empty()) ports_[kInterSwitchPort].facts.dials = options_.uplink;
  Result<UniqueFd> opened = listener(std::string(kManagementName), passed);
  if (!opened) return tl::unexpected(opened.error());
  Result<std::unique_ptr<ManagementServer>> management = ManagementServer::create(
      loop_, std::move(*opened), *this, [this](const PeerCredentials& peer) { return access_.admits(peer); });
  if (!management) return tl::unexpected(management.error());
  management_ = std::move(*management);
  return {};
}

// --- Connections ------------------------------------------------------------------------------------------

void SwitchServer::accept_at(PortIndex index) {
  for (int i = 0; i < kAcceptsARound && accept_one(index); ++i) {
  }
}

bool SwitchServer::accept_one(PortIndex index) {
  const int listener = ports_[index].listener.get();
  UniqueFd connection(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!connection) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
      out_of_descriptors(listener);
    return errno == EINTR || errno == ECONNABORTED;
  }
  Result<PeerCredentials> peer = peer_credentials(connection.get());
  if (!peer || !access_.admits(*peer)) {
    ++ports_[index].facts.refused_identity;
    refuse(index, std::move(connection),
           (peer ? to_string(*peer) : "an unknown user") + " may not connect here");
    return true;
  }
  if (path_.still_attached(index)) {
    ++ports_[index].facts.refused_busy;
    const std::optional<PeerCredentials>& first = ports_[index].facts.peer;
    refuse(index, std::move(connection),
           port_name(index) + " has an endpoint already" +
               (first ? " (pid " + std::to_string(first->pid) + ")" : ""));
    return true;
  }
  connected(index, std::move(connection), *peer);
  return true;
}

// The listener would be reported for ever: whoever waits is turned away with the descriptor kept for that.
void SwitchServer::out_of_descriptors(int listener) {
  const int error = errno;
  if (const auto more = descriptor_log_.admit(monotonic_now()))
    spdlog::error("cannot accept a connection: {}{}", reason_of(error), held_back(*more));
  reserve_.reset();
  UniqueFd(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)).reset();
  reserve_ = reserve_descriptor();
  errno = error;
}

void SwitchServer::connected(PortIndex index, UniqueFd connection, const PeerCredentials& peer) {
  PortFacts& facts = ports_[index].facts;
  if (Result<void> attached = path_.attach(index, std::move(connection)); !attached) {
    spdlog::error("{}: {}", port_name(index), to_string(attached.error()));
    return;
  }
  facts.peer = peer;
  facts.connected_ps = monotonic_now();
  ++facts.connections;
  if (const auto more = connect_log_.admit(facts.connected_ps))
    spdlog::info("{}: connected, {}{}", port_name(index), to_string(peer), held_back(*more));
}

// A peer learns why from one message of text, which no frame begins like.
void SwitchServer::refuse(PortIndex index, UniqueFd connection, const std::string& why) {
  const std::string text = "error: " + why + "\n";
  ::send(connection.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (const auto more = refuse_log_.admit(monotonic_now()))
    spdlog::warn("{}: refused: {}{}", port_name(index), why, held_back(*more));
}

void SwitchServer::gone(PortIndex index, const std::string& why) {
  ports_[index].facts.peer.reset();
  if (const auto more = connect_log_.admit(monotonic_now()))
    spdlog::info("{}: link down: {}{}", port_name(index), why, held_back(*more));
  if (index == kInterSwitchPort && !options_.uplink.empty()) {
    dial_delay_ps_ = 0;
    dial_later();
  }
}

// --- Dialling ---------------------------------------------------------------------------------------------

void SwitchServer::dial() {
  if (facts_.draining || path_.attached(kInterSwitchPort)) return;
  Result<UniqueFd> connection = connect_to(options_.uplink, SocketKind::seqpacket);
  if (!connection) {
    if (const auto more = connect_log_.admit(monotonic_now()))
      spdlog::warn("{}: {}; trying again{}", port_name(kInterSwitchPort), to_string(connection.error()),
                   held_back(*more));
    return dial_later();
  }
  Result<PeerCredentials> peer = peer_credentials(connection->get());
  if (!peer || !access_.admits(*peer)) {
    ++ports_[kInterSwitchPort].facts.refused_identity;
    if (const auto more = refuse_log_.admit(monotonic_now()))
      spdlog::warn("{}: {} listens there, whom the access list does not admit{}", options_.uplink,
                   peer ? to_string(*peer) : "an unknown user", held_back(*more));
    return dial_later();
  }
  connected(kInterSwitchPort, std::move(*connection), *peer);
}

// Doubling, and a little longer at racks of higher numbers: two switches that dial each other at the same
// moment, and turn each other away, must not do so for ever.
void SwitchServer::dial_later() {
  dial_delay_ps_ = std::clamp(2 * dial_delay_ps_, kFirstDialDelay, kLongestDialDelay);
  const Picoseconds own = static_cast<Picoseconds>(path_.fabric().config().rack) * 3 * kMillisecond;
  loop_.cancel(dial_timer_);
  dial_timer_ = loop_.call_at(monotonic_now() + dial_delay_ps_ + own, [this] {
    dial_timer_ = EventLoop::Timer{};
    dial();
  });
}

// --- Every second -----------------------------------------------------------------------------------------

std::string SwitchServer::status() const {
  const fabric_switch::Switch& fabric = path_.fabric();
  std::size_t expected = 0;
  std::size_t gpus = 0;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const fabric_switch::PortConfig& port = fabric.config().ports[i];
    if (port.role != fabric_switch::PortRole::gpu) continue;
    expected += port.expected == kNoGpu ? 0 : 1;
    gpus += fabric.carries(static_cast<PortIndex>(i)) ? 1 : 0;
  }
  std::string text =
      std::to_string(gpus) + (expected > 0 ? " of " + std::to_string(expected) : "") + " GPUs up";
  if (fabric.config().uplink >= 0)
    text += fabric.carries(static_cast<PortIndex>(fabric.config().uplink)) ? ", uplink up" : ", uplink down";
  return text;
}

void SwitchServer::every_second() {
  second_timer_ = loop_.call_at(monotonic_now() + kSecond, [this] { every_second(); });
  if (++seconds_ % kDropReport == 0) log_new_drops();
  if (std::string now = status(); now != last_status_ && !facts_.draining) {
    last_status_ = std::move(now);
    notify_status(last_status_);
  }
}

// What is dropped is counted where operators may look, and said where they do look.
void SwitchServer::log_new_drops() {
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const fabric_switch::PortCounters& counters = path_.fabric().counters(static_cast<PortIndex>(i));
    for (std::size_t r = 0; r < fabric_switch::kDropReasons; ++r) {
      const auto reason = static_cast<fabric_switch::DropReason>(r);
      const std::uint64_t drops = counters.rx_dropped(reason) + counters.tx_dropped(reason);
      std::uint64_t& logged = drops_logged_[i * fabric_switch::kDropReasons + r];
      if (drops > logged) {
        spdlog::warn("{}: {} frames dropped lately: {}", port_name(static_cast<PortIndex>(i)), drops - logged,
                     fabric_switch::name(reason));
      }
      logged = drops;
    }
  }
}

// --- Management -------------------------------------------------------------------------------------------

void SwitchServer::set_admin_state(PortIndex port, bool up) {
  spdlog::info("{}: set {}", port_name(port), up ? "up" : "down");
  path_.set_admin_state(port, up);
}

void SwitchServer::clear_counters() {
  log_new_drops();
  path_.clear_counters();
  std::fill(drops_logged_.begin(), drops_logged_.end(), 0);
  spdlog::info("counters cleared");
}

Result<fabric_switch::GroupId> SwitchServer::create_group(std::string name, std::vector<GpuId> members) {
  return path_.groups().create(std::move(name), std::move(members));
}

Result<void> SwitchServer::delete_group(fabric_switch::GroupId group) {
  return path_.groups().erase(group);
}

// --- Changing and ending ----------------------------------------------------------------------------------

void SwitchServer::reload(Result<ServerConfig> config) {
  if (config) {
    if (Result<void> taken = path_.reconfigure(std::move(config->fabric)); !taken)
      config = tl::unexpected(taken.error());
  }
  if (!config) {
    facts_.config_error = to_string(config.error());
    spdlog::error("the new configuration is not taken, the old one stays: {}", facts_.config_error);
    return;
  }
  access_ = std::move(config->access);
  facts_.config_error.clear();
  ++facts_.reloads;
  spdlog::info("configuration reloaded");
}

void SwitchServer::begin_drain() {
  if (facts_.draining) return;
  facts_.draining = true;
  drain_until_ps_ = monotonic_now() + options_.drain_timeout_ps;
  for (Port& port : ports_) {
    loop_.unwatch(port.watch);
    port.listener.reset();
  }
  loop_.cancel(dial_timer_);
  directory_.remove_sockets();
  path_.begin_drain();
}

bool SwitchServer::finished() const {
  return facts_.draining && (path_.drained() || monotonic_now() >= drain_until_ps_);
}

}  // namespace cnuas::live
