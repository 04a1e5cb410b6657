// Processes of one host meet at a socket.
#include "tests/cnuasccl/ranks.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cnuas::live::collectives {
namespace {

class StoreTest : public testing::Test {
 protected:
  StoreTest() { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~StoreTest() override {
    unlink(path().c_str());
    rmdir(folder_.c_str());
  }
  std::string path() const { return folder_ + "/store.sock"; }

  // Makes a communicator as one rank of several processes.
  cnuasccl_status_t join(int rank, int ranks, std::uint16_t gpu, std::uint32_t& id,
                         std::int64_t timeout_ns = kHangGuardNs) const {
    cnuasccl_store* store = nullptr;
    cnuasccl_status_t status = cnuasccl_store_open(path().c_str(), ranks, rank, timeout_ns, &store);
    if (status != CNUASCCL_OK) return status;
    cnuasccl_bootstrap boot{};
    EXPECT_OK(cnuasccl_store_bootstrap(store, &boot));
    cnuasccl_comm_t comm = nullptr;
    status = cnuasccl_comm_init_rank(&comm, &boot, gpu);
    id = cnuasccl_comm_id(comm);
    cnuasccl_comm_destroy(comm);
    cnuasccl_store_close(store);
    return status;
  }

 private:
  std::string folder_ = "/tmp/cnuasccl-XXXXXX";
};

TEST_F(StoreTest, ProcessesMakeOneCommunicator) {
  constexpr int kRanks = 5;
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  std::vector<pid_t> children;
  for (int rank = kRanks - 1; rank >= 0; --rank) {  // the one that serves comes last
    const pid_t child = fork();
    if (child == 0) {
      std::uint32_t id = 0;
      const cnuasccl_status_t status = join(rank, kRanks, gpu_of(rank, kRanks), id);
      const bool written = write(pipes[1], &id, sizeof id) == static_cast<ssize_t>(sizeof id);
      _exit(status == CNUASCCL_OK && written ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  std::uint32_t ids[kRanks];
  EXPECT_EQ(read(pipes[0], ids, sizeof ids), static_cast<ssize_t>(sizeof ids));
  for (const std::uint32_t id : ids)
    EXPECT_EQ(id, ids[0]);
  close(pipes[0]);
  close(pipes[1]);
  EXPECT_NE(access(path().c_str(), F_OK), 0) << "the path is removed";
}

TEST_F(StoreTest, ASocketThatWasLeftIsTakenOver) {
  const pid_t child = fork();
  if (child == 0) {
    cnuasccl_store* store = nullptr;
    _exit(cnuasccl_store_open(path().c_str(), 2, 0, kHangGuardNs, &store) == CNUASCCL_OK ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  struct stat there {};
  EXPECT_EQ(stat(path().c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 0777, 0600u);
  std::uint32_t id = 0;
  EXPECT_OK(join(0, 1, 1, id));
}

TEST_F(StoreTest, OverALiveOneItIsRefused) {
  cnuasccl_store* store = nullptr;
  EXPECT_OK(cnuasccl_store_open(path().c_str(), 2, 0, kHangGuardNs, &store));
  cnuasccl_store* second = nullptr;
  EXPECT_EQ(cnuasccl_store_open(path().c_str(), 2, 0, kHangGuardNs, &second), CNUASCCL_SYSTEM);
  EXPECT_EQ(second, nullptr);
  EXPECT_NE(last_error(nullptr), "");
  cnuasccl_store_close(store);
}

TEST_F(StoreTest, ARankThatDoesNotComeIsATimeout) {
  std::uint32_t id = 0;
  constexpr std::int64_t kShort = 50'000'000;
  EXPECT_EQ(join(1, 2, 1, id, kShort), CNUASCCL_TIMEOUT) << "nobody serves";
  EXPECT_EQ(join(0, 2, 1, id, kShort), CNUASCCL_TIMEOUT) << "nobody comes";
  EXPECT_NE(last_error(nullptr).find("CNUASCCL_TIMEOUT"), std::string::npos);
}

TEST_F(StoreTest, RanksThatDoNotFitAreToldSo) {
  // Each rank on a thread: `sizes[i]` and `ranks[i]` are what it believes.
  const auto all_fail = [&](const std::vector<int>& ranks, const std::vector<int>& sizes,
                            cnuasccl_status_t status) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      threads.emplace_back([&, i] {
        std::uint32_t id = 0;
        EXPECT_EQ(join(ranks[i], sizes[i], static_cast<std::uint16_t>(i + 1), id, 2'000'000'000), status);
      });
    }
    for (std::thread& thread : threads)
      thread.join();
  };
  all_fail({0, 1, 1}, {3, 3, 3}, CNUASCCL_DUPLICATE_RANK);
  all_fail({0, 1}, {2, 3}, CNUASCCL_SIZE_MISMATCH);
}

// A rank that is done early, and comes again, does not meet the store that was there before.
TEST_F(StoreTest, ThePathMayBeUsedAgainAtOnce) {
  const auto rounds = [&](int rank) {
    for (int round = 0; round < 200; ++round) {
      std::uint32_t id = 0;
      ASSERT_EQ(join(rank, 2, static_cast<std::uint16_t>(rank + 1), id), CNUASCCL_OK)
          << "rank " << rank << ", round " << round << ": " << last_error(nullptr);
    }
  };
  std::thread other([&] { rounds(1); });
  rounds(0);
  other.join();
}

TEST_F(StoreTest, TheUmaskIsTheProcesssOwn) {
  const mode_t before = umask(022);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      const std::string own = path() + std::to_string(i);
      for (int round = 0; round < 100; ++round) {
        cnuasccl_store* store = nullptr;
        EXPECT_OK(cnuasccl_store_open(own.c_str(), 2, 0, kHangGuardNs, &store));
        struct stat there {};
        EXPECT_EQ(stat(own.c_str(), &there), 0);
        EXPECT_EQ(there.st_mode & 0777, 0600u);
        cnuasccl_store_close(store);
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(umask(before), 022u);
}

TEST_F(StoreTest, ArgumentsAreChecked) {
  cnuasccl_store* store = nullptr;
  const std::string too_long(120, 'x');
  EXPECT_EQ(cnuasccl_store_open(nullptr, 1, 0, 1, &store), CNUASCCL_INVALID_ARGUMENT);
  EXPECT_EQ(cnuasccl_store_open("", 1, 0, 1, &store), CNUASCCL_INVALID_ARGUMENT);
  EXPECT_EQ(cnuasccl_store_open(too_long.c_str(), 1, 0, 1, &store), CNUASCCL_INVALID_ARGUMENT);
  EXPECT_EQ(cnuasccl_store_open(path().c_str(), 0, 0, 1, &store), CNUASCCL_INVALID_ARGUMENT);
  EXPECT_EQ(cnuasccl_store_open(path().c_str(), 2, 2, 1, &store), CNUASCCL_INVALID_ARGUMENT);
  EXPECT_EQ(cnuasccl_store_open(path().c_str(), 2, 0, 0, &store), CNUASCCL_INVALID_ARGUMENT);
  EXPECT_EQ(cnuasccl_store_open(path().c_str(), 2, 0, 1, nullptr), CNUASCCL_INVALID_ARGUMENT);
  EXPECT_EQ(cnuasccl_store_bootstrap(nullptr, nullptr), CNUASCCL_INVALID_ARGUMENT);
  cnuasccl_store_close(nullptr);
}

}  // namespace
}  // namespace cnuas::live::collectives
