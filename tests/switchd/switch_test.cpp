#include "tests/switchd/switch_test.h"

#include <csignal>
#include <fstream>
#include <string_view>

namespace cnuas::test {

std::string fabric_yaml(const std::string& stall_timeout) {
  return "scenario: one-switch\n"
         "fabric:\n"
         "  racks: 1\n"
         "  gpus_per_rack: 8\n"
         "  link: nvlink4\n"
         "  switch: {stall_timeout: " +
         stall_timeout +
         "}\n"
         "fidelity: frame\n"
         "workload:\n"
         "  - {collective: all_reduce, sizes: [1 KiB]}\n";
}

void SwitchTest::write_config(const std::string& text) const {
  std::ofstream(config_path()) << text;
}

void SwitchTest::start(const std::string& stall_timeout, DaemonSettings changes) {
  write_config(fabric_yaml(stall_timeout));
  changes.arguments.insert(changes.arguments.end(), {"--config", config_path()});
  start_plain(std::move(changes));
}

void SwitchTest::start_plain(DaemonSettings changes) {
  if (changes.run_dir.empty()) changes.run_dir = directory_.file("run");
  if (changes.log_file.empty()) changes.log_file = directory_.file("log");
  daemon_ = value_of(DaemonProcess::start(changes));
  management_ = value_of(daemon_->management());
}

std::optional<int> SwitchTest::stop(int signal) {
  management_.reset();
  daemon_->process().signal(signal);
  const std::optional<int> status = daemon_->process().wait();
  daemon_.reset();
  return status;
}

void SwitchTest::TearDown() {
  if (!daemon_) return;
  EXPECT_TRUE(daemon_->process().running()) << daemon_->log();
  if (daemon_->process().running()) {
    management_ = value_of(daemon_->management());
    expect_conserved();
    const std::string log = daemon_->log();
    EXPECT_EQ(stop(SIGTERM), 0) << log;
  }
}

nlohmann::json SwitchTest::port_status(std::size_t port) {
  return ask({{"command", "port_status"}, {"port", port}}).at("ports").at(0);
}

void SwitchTest::expect_conserved() {
  EXPECT_EQ(telemetry().violations(), std::vector<std::string>{});
}

namespace {

template <class Connect>
auto persistently(Connect connect) {
  auto connected = connect();
  eventually([&] {
    if (!connected) connected = connect();
    return connected.has_value();
  });
  return value_of(std::move(connected));
}

}  // namespace

RawEndpoint SwitchTest::connect(std::size_t port) {
  return persistently([&] { return daemon_->endpoint(port); });
}

ManagementClient SwitchTest::connect_management() {
  return persistently([&] { return daemon_->management(); });
}

RawEndpoint SwitchTest::gpu(std::size_t port) {
  const std::uint64_t before = telemetry().count(port, "rx_frames");
  RawEndpoint endpoint = connect(port);
  EXPECT_TRUE(endpoint.send(discovery(gpu_at(port))));
  wait_for_received(port, before + 1);
  return endpoint;
}

void SwitchTest::wait_for_link(std::size_t port, bool up) {
  EXPECT_TRUE(eventually([&] { return port_status(port).at("link_up") == up; })) << port_status(port);
}

void SwitchTest::wait_for_received(std::size_t port, std::uint64_t frames) {
  EXPECT_TRUE(eventually([&] { return telemetry().count(port, "rx_frames") >= frames; }))
      << "port " << port << " has received " << telemetry().count(port, "rx_frames") << " of " << frames;
}

void SwitchTest::exchange(RawEndpoint& a, GpuId a_id, RawEndpoint& b, GpuId b_id, std::uint64_t frames,
                          std::size_t frame_bytes) {
  for (std::uint64_t number = 0; number < frames; ++number) {
    ASSERT_TRUE(a.send(numbered_frame(a_id, b_id, number, frame_bytes)));
    ASSERT_TRUE(b.send(numbered_frame(b_id, a_id, number, frame_bytes)));
    ASSERT_NO_FATAL_FAILURE(expect_number(b.receive(), number));
    ASSERT_NO_FATAL_FAILURE(expect_number(a.receive(), number));
  }
}

void expect_number(std::optional<Bytes> message, std::uint64_t number) {
  ASSERT_TRUE(message.has_value()) << "instead of frame " << number << " nothing has come";
  ASSERT_EQ(number_of(*message), number) << "in a message of " << message->size() << " bytes";
}

void expect_turned_away(RawEndpoint& endpoint) {
  const std::optional<Bytes> message = endpoint.receive();
  ASSERT_TRUE(message.has_value());
  const std::string_view text(reinterpret_cast<const char*>(message->data()), message->size());
  EXPECT_TRUE(text.starts_with("error: ")) << text;
  EXPECT_FALSE(endpoint.receive().has_value());
  EXPECT_TRUE(endpoint.at_end());
}

}  // namespace cnuas::test
