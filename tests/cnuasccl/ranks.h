// Ranks as threads: each with a communicator over a world of threads, or over whatever a test puts in
// between.
#pragma once

#include "live/ccl/cnuasccl.h"

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace cnuas::live::collectives {

inline constexpr std::int64_t kHangGuardNs = 120'000'000'000;  // far beyond what any test needs

// GPU IDs that do not follow the order of ranks.
inline std::uint16_t gpu_of(int rank, int ranks) {
  return static_cast<std::uint16_t>(0x0100 + (ranks - rank) * 3);
}

inline std::string last_error(cnuasccl_comm_t comm) {
  char text[1024];
  cnuasccl_last_error(comm, text, sizeof text);
  return text;
}

#define EXPECT_OK(call)                                                                 \
  do {                                                                                  \
    const cnuasccl_status_t expect_ok_status = (call);                                  \
    EXPECT_EQ(expect_ok_status, CNUASCCL_OK) << cnuasccl_status_name(expect_ok_status); \
  } while (false)

inline void PrintTo(cnuasccl_status_t status, std::ostream* out) {
  *out << cnuasccl_status_name(status);
}

// A world that several communicators may be made in.
class World {
 public:
  explicit World(int ranks, std::uint32_t frames_per_receiver = 64) : ranks_(ranks) {
    EXPECT_EQ(cnuasccl_inproc_create(ranks, frames_per_receiver, kHangGuardNs, &world_), CNUASCCL_OK);
  }
  ~World() { cnuasccl_inproc_destroy(world_); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int ranks() const { return ranks_; }
  cnuasccl_bootstrap bootstrap(int rank) {
    cnuasccl_bootstrap boot{};
    EXPECT_EQ(cnuasccl_inproc_bootstrap(world_, rank, &boot), CNUASCCL_OK);
    return boot;
  }
  void link(int rank, cnuasccl_link_transport& link, cnuasccl_link_extension& extension) {
    EXPECT_EQ(cnuasccl_inproc_link(world_, rank, gpu_of(rank, ranks_), &link, &extension, sizeof extension),
              CNUASCCL_OK);
  }

  // A communicator without a link. Every rank calls it.
  cnuasccl_comm_t bare(int rank) {
    cnuasccl_comm_t comm = nullptr;
    const cnuasccl_bootstrap boot = bootstrap(rank);
    EXPECT_EQ(cnuasccl_comm_init_rank(&comm, &boot, gpu_of(rank, ranks_)), CNUASCCL_OK)
        << last_error(nullptr);
    return comm;
  }
  cnuasccl_comm_t make(int rank) {
    cnuasccl_comm_t comm = bare(rank);
    cnuasccl_link_transport transport{};
    cnuasccl_link_extension extension{};
    link(rank, transport, extension);
    EXPECT_EQ(cnuasccl_comm_set_link(comm, &transport, &extension, nullptr, nullptr), CNUASCCL_OK);
    return comm;
  }

  // body(rank) on a thread for each rank.
  void run(const std::function<void(int)>& body) const {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks_; ++rank)
      threads.emplace_back(body, rank);
    for (std::thread& thread : threads)
      thread.join();
  }
  // body(rank, communicator), which is destroyed when all are done.
  void run_with(const std::function<void(int, cnuasccl_comm_t)>& body) {
    std::vector<cnuasccl_comm_t> comms(static_cast<std::size_t>(ranks_));
    run([&](int rank) {
      cnuasccl_comm_t comm = make(rank);
      comms[static_cast<std::size_t>(rank)] = comm;
      body(rank, comm);
    });
    for (cnuasccl_comm_t comm : comms)
      cnuasccl_comm_destroy(comm);
  }

 private:
  int ranks_;
  cnuasccl_inproc* world_ = nullptr;
};

inline void configure(cnuasccl_comm_t comm, const std::function<void(cnuasccl_config&)>& change) {
  cnuasccl_config config;
  cnuasccl_config_init(&config, sizeof config);
  change(config);
  EXPECT_EQ(cnuasccl_comm_configure(comm, &config), CNUASCCL_OK) << last_error(comm);
}

}  // namespace cnuas::live::collectives
