// A daemon that runs out of file descriptors.
#include "tests/switchd/switch_test.h"
#include "tests/switchd/traffic.h"

#include <csignal>
#include <optional>
#include <vector>

namespace cnuas::test {
namespace {

class Descriptors : public SwitchTest {
 protected:
  // With so many descriptors left for whoever connects, beside the test's own management connection.
  void start_with_room_for(std::size_t connections) {
    start();
    // An answer shows that the connections before this one have been seen to close.
    for (int i = 0; i < 3; ++i)
      ask({{"command", "version"}});
    const std::size_t idle = value_of(daemon().usage()).descriptors;
    ASSERT_EQ(stop(SIGTERM), 0);
    DaemonSettings settings;
    settings.open_files = idle + connections;
    start(kLongStallTimeout, settings);
    ASSERT_TRUE(eventually([&] { return value_of(daemon().usage()).descriptors == idle; }));
  }
};

TEST_F(Descriptors, ExhaustedTurnNewcomersAwayAndHarmNobody) {
  start_with_room_for(4);
  RawEndpoint a = gpu(0);
  RawEndpoint b = gpu(1);
  RawEndpoint c = gpu(2);
  RawEndpoint d = gpu(3);
  Traffic traffic(a, gpu_at(0), b, gpu_at(1));

  std::vector<RawEndpoint> newcomers;
  for (std::size_t port = 4; port < 8; ++port)
    newcomers.push_back(connect(port));
  for (RawEndpoint& newcomer : newcomers) {
    // Told why where that is possible; at least it is not left waiting.
    while (newcomer.receive()) {
    }
    EXPECT_TRUE(newcomer.at_end());
  }
  EXPECT_TRUE(traffic.progress());
  traffic.stop();
  EXPECT_EQ(traffic.faults(), std::vector<std::string>{});
  EXPECT_EQ(traffic.received(), traffic.sent());
  exchange(c, gpu_at(2), d, gpu_at(3));
  EXPECT_EQ(port_status(2).at("connections"), 1);

  // Somebody waits at every port, and the daemon does not spin.
  std::vector<RawEndpoint> waiting;
  for (std::size_t port = 4; port < 8; ++port)
    waiting.push_back(connect(port));
  const double before = value_of(daemon().usage()).cpu_seconds;
  EXPECT_TRUE(c.silent_for(std::chrono::seconds(1)));
  EXPECT_LT(value_of(daemon().usage()).cpu_seconds - before, 0.2);

  // Once there is room again, newcomers are welcome.
  waiting.clear();
  c.close();
  wait_for_link(2, false);
  RawEndpoint late = gpu(4);
  exchange(late, gpu_at(4), d, gpu_at(3));
}

TEST_F(Descriptors, ExhaustedByManagementClientsLeaveTheDataPathAlone) {
  start_with_room_for(6);
  RawEndpoint a = gpu(0);
  RawEndpoint b = gpu(1);
  std::vector<ManagementClient> clients;
  for (int i = 0; i < 40; ++i) {
    Result<ManagementClient> client = daemon().management();
    if (client) clients.push_back(std::move(*client));
  }
  Traffic traffic(a, gpu_at(0), b, gpu_at(1));
  EXPECT_TRUE(traffic.progress());
  traffic.stop();
  EXPECT_EQ(traffic.faults(), std::vector<std::string>{});
  EXPECT_EQ(traffic.received(), traffic.sent());
  clients.clear();
  EXPECT_TRUE(eventually([&] {
    Result<ManagementClient> client = daemon().management();
    return client && client->request({{"command", "version"}});
  }));
}

}  // namespace
}  // namespace cnuas::test
