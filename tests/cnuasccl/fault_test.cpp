// Frames that are changed, lost, repeated, reordered, invented, and peers that die: always a status, in time,
// on every rank, and never a byte beyond the buffers.
#include "core/ccl/chunk.h"
#include "core/ccl/crc32c.h"
#include "core/ccl/envelope.h"
#include "core/wire/byte_order.h"
#include "tests/cnuasccl/fake_switch.h"
#include "tests/cnuasccl/faults.h"
#include "tests/cnuasccl/reference.h"

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cnuas::live::collectives {
namespace {

struct Outcome {
  std::vector<cnuasccl_status_t> first;   // of the call in which the fault is
  std::vector<cnuasccl_status_t> second;  // of the one after
  std::vector<std::string> text;
  bool guards = true;
  bool other_communicator = true;  // one between the same ranks was not affected
};

// Two ranks, rank 0 sends through `on_send`; a broadcast from rank 0 and then an all_reduce.
Outcome with_fault(const FakeLink::OnSend& on_send, std::int64_t timeout_ns = kHangGuardNs, int ranks = 2) {
  World world(ranks);
  World other(ranks);
  const auto size = static_cast<std::size_t>(ranks);
  Outcome outcome;
  outcome.first.resize(size);
  outcome.second.resize(size);
  outcome.text.resize(size);
  std::vector<cnuasccl_comm_t> comms(size);
  std::vector<std::unique_ptr<FakeLink>> links(size);
  std::barrier begin(ranks);
  std::atomic<bool> guards{true};
  std::atomic<bool> other_well{true};
  world.run([&](int rank) {
    const auto own = static_cast<std::size_t>(rank);
    cnuasccl_comm_t comm = world.bare(rank);
    comms[own] = comm;
    links[own] = std::make_unique<FakeLink>(world, rank);
    if (rank == 0) links[own]->on_send = on_send;
    const cnuasccl_link_transport transport = links[own]->transport();
    const cnuasccl_link_extension extension = links[own]->extension();
    EXPECT_OK(cnuasccl_comm_set_link(comm, &transport, &extension, nullptr, nullptr));
    configure(comm, [&](cnuasccl_config& config) {
      config.timeout_ns = rank == 0 ? kHangGuardNs : timeout_ns;  // so that it is the others who find out
      config.chunk_bytes = kChunk;
      config.algorithm = CNUASCCL_CHAIN;
    });
    begin.arrive_and_wait();  // a deadline does not count how long a thread takes to start
    constexpr std::size_t kAround = 64;
    std::vector<float> memory(kCount + 2 * kAround, 7.0F);
    float* data = memory.data() + kAround;
    outcome.first[own] = cnuasccl_all_reduce(comm, data, data, kCount, CNUASCCL_FLOAT32, CNUASCCL_SUM);
    outcome.text[own] = last_error(comm);
    outcome.second[own] = cnuasccl_all_reduce(comm, data, data, kCount, CNUASCCL_FLOAT32, CNUASCCL_SUM);
    for (std::size_t i = 0; i < kAround; ++i)
      if (memory[i] != 7.0F || memory[memory.size() - 1 - i] != 7.0F) guards = false;
    cnuasccl_comm_t second = other.make(rank);
    int number = 1;
    if (cnuasccl_all_reduce(second, &number, &number, 1, CNUASCCL_INT32, CNUASCCL_SUM) != CNUASCCL_OK ||
        number != ranks)
      other_well = false;
    cnuasccl_barrier(second);
    cnuasccl_comm_destroy(second);
  });
  for (cnuasccl_comm_t comm : comms)
    cnuasccl_comm_destroy(comm);
  outcome.guards = guards;
  outcome.other_communicator = other_well;
  return outcome;
}

// The receiver finds out, the sender is told, and both say POISONED from then on.
void expect_found(const Outcome& outcome, cnuasccl_status_t status, const std::string& what) {
  EXPECT_EQ(outcome.first[1], status)
      << what << ": " << cnuasccl_status_name(outcome.first[1]) << ", " << outcome.text[1];
  for (const char* part : {"rank 1 (GPU 1/3)", "(GPU 1/6)", "sequence 0", "chunk", "all_reduce chain"})
    EXPECT_THAT(outcome.text[1], testing::HasSubstr(part)) << what;
  EXPECT_EQ(outcome.first[0], CNUASCCL_PEER_ABORTED) << what << ": " << outcome.text[0];
  EXPECT_EQ(outcome.second[0], CNUASCCL_POISONED) << what;
  EXPECT_EQ(outcome.second[1], CNUASCCL_POISONED) << what;
  EXPECT_TRUE(outcome.guards) << what;
  EXPECT_TRUE(outcome.other_communicator) << what;
}

TEST(FaultTest, NothingHappensWithoutOne) {
  const Outcome outcome = with_fault({});
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(outcome.first[static_cast<std::size_t>(rank)], CNUASCCL_OK)
        << outcome.text[0] << outcome.text[1];
    EXPECT_EQ(outcome.second[static_cast<std::size_t>(rank)], CNUASCCL_OK);
  }
  EXPECT_TRUE(outcome.guards && outcome.other_communicator);
}

class FieldTest : public testing::TestWithParam<Field> {};
INSTANTIATE_TEST_SUITE_P(Envelope, FieldTest, testing::ValuesIn(kFields),
                         [](const auto& field) { return std::string(field.param.name); });

TEST_P(FieldTest, FlippedHasItsOwnStatus) {
  const Field& field = GetParam();
  // A frame of another communicator may be for one that is still to come: only the deadline tells.
  const std::int64_t timeout_ns = field.status == CNUASCCL_WRONG_COMM ? kShortNs : kHangGuardNs;
  for (const std::uint64_t frame : {0u, 1u, 2u}) {
    for (const std::size_t bit : {std::size_t{0}, 3 * field.bytes, 8 * field.bytes - 1}) {
      const auto flip = [&](Payload& bytes) {
        bytes[field.offset + bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
      };
      expect_found(
          with_fault(change(frame, flip), timeout_ns), field.status,
          std::string(field.name) + ", bit " + std::to_string(bit) + ", frame " + std::to_string(frame));
    }
  }
}

TEST(FaultTest, DataThatWasChangedIsCorrupt) {
  for (const std::size_t at : {40u, 44u, 48u, 52u, 53u, 55u, 56u, 60u, 79u, 80u, 500u}) {
    const auto flip = [at](Payload& bytes) { bytes[at] ^= std::byte{0x10}; };
    expect_found(with_fault(change(0, flip)), CNUASCCL_CORRUPT, "byte " + std::to_string(at));
  }
}

TEST(ChecksumTest, IsThereWhenAskedForOrWhenTheLinkMayChangeBytes) {
  for (const int keeps_bytes : {0, 1}) {
    for (const int asked : {-1, 0, 1}) {
      World world(2);
      std::atomic<int> with{0};
      std::atomic<int> without{0};
      world.run([&](int rank) {
        FakeLink link(world, rank);
        link.on_send = [&](std::uint64_t, Outgoing frame) {
          const auto header = ccl::decode_chunk_header(std::span(frame.bytes).subspan(ccl::kEnvelopeBytes));
          if (header) ++(header->checksum ? with : without);
          return std::vector<Outgoing>{std::move(frame)};
        };
        cnuasccl_comm_t comm = world.bare(rank);
        const cnuasccl_link_transport transport = link.transport();
        cnuasccl_link_extension extension = link.extension();
        extension.keeps_bytes = keeps_bytes;
        EXPECT_OK(cnuasccl_comm_set_link(comm, &transport, &extension, nullptr, nullptr));
        configure(comm, [&](cnuasccl_config& config) { config.checksum = asked; });
        std::vector<std::int32_t> data(1000, rank);
        EXPECT_OK(
            cnuasccl_all_reduce(comm, data.data(), data.data(), data.size(), CNUASCCL_INT32, CNUASCCL_SUM));
        EXPECT_EQ(data, std::vector<std::int32_t>(1000, 1));
        cnuasccl_comm_destroy(comm);
      });
      const bool expected = asked == 1 || (asked == -1 && keeps_bytes == 0);
      EXPECT_EQ(with > 0, expected) << keeps_bytes << " " << asked;
      EXPECT_EQ(without > 0, !expected) << keeps_bytes << " " << asked;
    }
  }
}

TEST(FaultTest, TruncatedAndExtended) {
  for (const std::size_t length : {0u, 1u, 39u})
    expect_found(with_fault(change(1, [length](Payload& bytes) { bytes.resize(length); })),
                 CNUASCCL_FRAME_TOO_SHORT, std::to_string(length) + " bytes");
  for (const std::size_t length : {40u, 41u, 55u, 56u, 200u, 551u, 553u, 5000u})
    expect_found(with_fault(change(1, [length](Payload& bytes) { bytes.resize(length); })),
                 CNUASCCL_WRONG_CHUNK_BYTES, std::to_string(length) + " bytes");
  for (const std::size_t length : {61'481u, 65'536u, 200'000u})
    expect_found(with_fault(change(1, [length](Payload& bytes) { bytes.resize(length); })),
                 CNUASCCL_FRAME_TOO_LONG, std::to_string(length) + " bytes");
}

// Writes numbers into the envelope, and has it and the length agree with each other.
std::function<void(Payload&)> envelope_with(std::function<void(ccl::Envelope&)> how) {
  return [how = std::move(how)](Payload& bytes) {
    ccl::Envelope envelope = *ccl::decode_envelope(bytes);
    how(envelope);
    encode(envelope, std::span<std::byte>(bytes).first<ccl::kEnvelopeBytes>());
  };
}

TEST(FaultTest, NumbersThatOverflowOrAreNothing) {
  constexpr std::uint32_t kMost = 0xFFFF'FFFF;
  const auto found = [](std::function<void(ccl::Envelope&)> how, cnuasccl_status_t status, const char* what) {
    expect_found(with_fault(change(0, envelope_with(std::move(how)))), status, what);
  };
  found([](ccl::Envelope& e) { e.chunk_count = 0; }, CNUASCCL_WRONG_CHUNK_COUNT, "no chunks");
  found([](ccl::Envelope& e) { e.chunk_count = kMost; }, CNUASCCL_WRONG_CHUNK_COUNT, "huge count");
  found([](ccl::Envelope& e) { e.chunk_index = kMost; }, CNUASCCL_WRONG_CHUNK, "huge index");
  found([](ccl::Envelope& e) { e.total_bytes = 0; }, CNUASCCL_WRONG_TOTAL, "no bytes in all");
  found([](ccl::Envelope& e) { e.total_bytes = kMost; }, CNUASCCL_WRONG_TOTAL, "total_bytes overflows");
  found([](ccl::Envelope& e) { e.chunk_bytes = kMost; }, CNUASCCL_WRONG_CHUNK_BYTES, "huge chunk");
  found([](ccl::Envelope& e) { e.chunk_bytes = 0; }, CNUASCCL_WRONG_CHUNK_BYTES, "no bytes");
  found([](ccl::Envelope& e) { e.source = kMost; }, CNUASCCL_WRONG_SOURCE, "no such rank");
  found([](ccl::Envelope& e) { e.source = 1; }, CNUASCCL_WRONG_SOURCE, "itself");
  found([](ccl::Envelope& e) { e.sequence -= 1; }, CNUASCCL_WRONG_SEQUENCE, "a stale sequence");
}

TEST(FaultTest, RepeatedFrames) {
  for (const std::uint64_t which : {0u, 1u, 2u, 3u}) {
    const auto repeat = [which](std::uint64_t index, Outgoing frame) {
      std::vector<Outgoing> frames{frame};
      if (index == which) frames.push_back(frame);
      return frames;
    };
    const Outcome outcome = with_fault(repeat);
    // The last frame of the first call, when repeated, is found in it or in the next one.
    const bool in_first = outcome.first[1] == CNUASCCL_DUPLICATE_FRAME;
    const bool in_second = outcome.first[1] == CNUASCCL_OK && outcome.second[1] == CNUASCCL_DUPLICATE_FRAME;
    EXPECT_TRUE(in_first || (which >= 2 && in_second)) << which << ": " << outcome.text[1];
    EXPECT_TRUE(outcome.guards && outcome.other_communicator);
  }
}

TEST(FaultTest, ReorderedFrames) {
  for (const std::uint64_t which : {0u, 1u}) {
    auto kept = std::make_shared<std::vector<Outgoing>>();
    const auto swap = [which, kept](std::uint64_t index, Outgoing frame) {
      if (index == which) {
        kept->push_back(std::move(frame));
        return std::vector<Outgoing>{};
      }
      std::vector<Outgoing> frames{std::move(frame)};
      frames.insert(frames.end(), kept->begin(), kept->end());
      kept->clear();
      return frames;
    };
    expect_found(with_fault(swap), CNUASCCL_LOST_FRAME, "frame " + std::to_string(which) + " after the next");
  }
}

TEST(FaultTest, SilentDrops) {
  for (const std::uint64_t which : {0u, 1u, 2u}) {
    const auto drop = [which](std::uint64_t index, Outgoing frame) {
      return index == which ? std::vector<Outgoing>{} : std::vector<Outgoing>{std::move(frame)};
    };
    const Outcome outcome = with_fault(drop, kShortNs);
    EXPECT_EQ(outcome.first[1], which == 2 ? CNUASCCL_TIMEOUT : CNUASCCL_LOST_FRAME) << outcome.text[1];
    EXPECT_EQ(outcome.first[0], CNUASCCL_PEER_ABORTED);
    EXPECT_TRUE(outcome.guards && outcome.other_communicator);
  }
}

TEST(FaultTest, ATimeoutNamesRankPeerGpuSequenceChunkAndPhase) {
  const auto drop = [](std::uint64_t index, Outgoing frame) {
    return index == 2 ? std::vector<Outgoing>{} : std::vector<Outgoing>{std::move(frame)};
  };
  const Outcome outcome = with_fault(drop, kShortNs);
  ASSERT_EQ(outcome.first[1], CNUASCCL_TIMEOUT);
  for (const char* part : {"rank 1 (GPU 1/3)", "receiving", "chunk 2 of 3 from rank 0 (GPU 1/6)",
                           "sequence 0", "all_reduce chain", "nothing for 5"})
    EXPECT_THAT(outcome.text[1], testing::HasSubstr(part));
}

// A frame that nobody understands says nothing of what comes, or does not, long after it.
TEST(FaultTest, AStrayFrameOfLongAgoIsNotBlamed) {
  World world(2);
  World other(2);
  world.run([&](int rank) {
    cnuasccl_link_transport transport{};
    cnuasccl_link_extension extension{};
    world.link(rank, transport, extension);
    cnuasccl_comm_t comm = world.bare(rank);
    EXPECT_OK(cnuasccl_comm_set_link(comm, &transport, &extension, nullptr, nullptr));
    cnuasccl_comm_t second = other.bare(rank);  // with two of them on a link, nobody knows whose a stray is
    EXPECT_OK(cnuasccl_comm_share_link(second, comm));
    if (rank == 0) EXPECT_OK(transport.send(gpu_of(1, 2), "none of ours", 12, transport.context));
    EXPECT_OK(cnuasccl_barrier(comm));
    EXPECT_OK(cnuasccl_barrier(comm));
    if (rank == 1) {
      configure(comm, [&](cnuasccl_config& config) { config.timeout_ns = kShortNs; });
      const auto began = std::chrono::steady_clock::now();
      EXPECT_EQ(cnuasccl_barrier(comm), CNUASCCL_TIMEOUT) << last_error(comm);
      EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::nanoseconds(kShortNs));
    }
    EXPECT_OK(cnuasccl_barrier(second));
    cnuasccl_comm_destroy(second);
    cnuasccl_comm_destroy(comm);
  });
}

// The frames of one communicator break, those of another one on the same link do not.
TEST(FaultTest, OtherCommunicatorsOfTheLinkGoOn) {
  for (const Field& field : kFields) {
    World world(3);
    std::vector<std::unique_ptr<FakeLink>> links(3);
    std::vector<cnuasccl_comm_t> comms(3);
    std::vector<cnuasccl_comm_t> children(3);
    std::atomic<bool> breaks{false};
    std::barrier all(3);
    world.run([&](int rank) {
      const auto own = static_cast<std::size_t>(rank);
      links[own] = std::make_unique<FakeLink>(world, rank);
      if (rank == 0) {
        links[own]->on_send = [&](std::uint64_t, Outgoing frame) {
          if (breaks.exchange(false)) frame.bytes[field.offset] ^= std::byte{0x20};
          return std::vector<Outgoing>{std::move(frame)};
        };
      }
      const cnuasccl_link_transport transport = links[own]->transport();
      const cnuasccl_link_extension extension = links[own]->extension();
      cnuasccl_comm_t comm = comms[own] = world.bare(rank);
      EXPECT_OK(cnuasccl_comm_set_link(comm, &transport, &extension, nullptr, nullptr));
      EXPECT_OK(cnuasccl_comm_split(comm, 0, rank, &children[own]));
      configure(children[own], [](cnuasccl_config& config) { config.timeout_ns = kShortNs; });
      std::int32_t number = rank;
      all.arrive_and_wait();
      if (rank == 0) breaks = true;
      cnuasccl_status_t status =
          cnuasccl_all_reduce(children[own], &number, &number, 1, CNUASCCL_INT32, CNUASCCL_SUM);
      if (status == CNUASCCL_OK) status = cnuasccl_barrier(children[own]);  // it had what it needed
      EXPECT_NE(status, CNUASCCL_OK) << field.name << ", rank " << rank;
      for (int i = 0; i < 3; ++i) {
        std::int32_t sum = rank + 1;
        EXPECT_OK(cnuasccl_all_reduce(comm, &sum, &sum, 1, CNUASCCL_INT32, CNUASCCL_SUM));
        EXPECT_EQ(sum, 6);
      }
    });
    for (std::size_t rank = 0; rank < 3; ++rank) {
      cnuasccl_comm_destroy(children[rank]);
      cnuasccl_comm_destroy(comms[rank]);
    }
  }
}

// A frame of an earlier call, with its numbers put right, and one of another communicator.
TEST(FaultTest, StaleAndForeignFrames) {
  const auto with_header = [](Payload& bytes, std::uint32_t number) {
    ccl::ChunkHeader header = *ccl::decode_chunk_header(std::span(bytes).subspan(ccl::kEnvelopeBytes));
    header.number = number;
    const std::span rest = std::span(bytes).subspan(ccl::kEnvelopeBytes + ccl::kChunkHeaderBytes);
    encode(header, rest, {},
           std::span<std::byte>(bytes).subspan<ccl::kEnvelopeBytes, ccl::kChunkHeaderBytes>());
  };
  auto first = std::make_shared<Payload>();
  // In the second call (frames 3, 4, 5), the first frame of the first call takes the place of its first one.
  const auto stale = [=](std::uint64_t index, Outgoing frame) {
    if (index == 0) *first = frame.bytes;
    if (index == 3) {
      frame.bytes = *first;
      with_header(frame.bytes, 3);
    }
    return std::vector<Outgoing>{std::move(frame)};
  };
  const Outcome outcome = with_fault(stale);
  EXPECT_EQ(outcome.first[1], CNUASCCL_OK);
  EXPECT_EQ(outcome.second[1], CNUASCCL_WRONG_SEQUENCE);
  EXPECT_EQ(outcome.second[0], CNUASCCL_PEER_ABORTED);
}

TEST(FaultTest, ChunkHeadersThatMakeNoSense) {
  const auto with = [](std::function<void(ccl::ChunkHeader&)> how) {
    return change(0, [how = std::move(how)](Payload& bytes) {
      ccl::ChunkHeader header = *ccl::decode_chunk_header(std::span(bytes).subspan(ccl::kEnvelopeBytes));
      how(header);
      const std::span rest = std::span(bytes).subspan(ccl::kEnvelopeBytes + ccl::kChunkHeaderBytes);
      encode(header, rest, {},
             std::span<std::byte>(bytes).subspan<ccl::kEnvelopeBytes, ccl::kChunkHeaderBytes>());
    });
  };
  expect_found(with_fault(with([](ccl::ChunkHeader& header) { header.channel = 255; })), CNUASCCL_BAD_CHUNK,
               "no such channel");
  expect_found(with_fault(with([](ccl::ChunkHeader& header) { header.consumed = 9; })), CNUASCCL_BAD_CHUNK,
               "credit for frames that were never sent");
  expect_found(with_fault(with([](ccl::ChunkHeader& header) { header.number = 1; })), CNUASCCL_LOST_FRAME,
               "a number that is not due");
}

// A peer that goes on sending what nobody has asked for.
TEST(FaultTest, AFlood) {
  const auto flood = [](std::uint64_t index, Outgoing frame) {
    std::vector<Outgoing> frames;
    if (index != 0) return frames;
    for (std::uint32_t i = 0; i < 40; ++i) {
      Outgoing each = frame;
      ccl::Envelope envelope = *ccl::decode_envelope(each.bytes);
      ccl::ChunkHeader header = *ccl::decode_chunk_header(std::span(each.bytes).subspan(ccl::kEnvelopeBytes));
      envelope.sequence += 1;  // not due yet
      header.number = i;
      header.channel = 5;
      const std::span rest = std::span(each.bytes).subspan(ccl::kEnvelopeBytes + ccl::kChunkHeaderBytes);
      encode(envelope, std::span<std::byte>(each.bytes).first<ccl::kEnvelopeBytes>());
      encode(header, rest, {},
             std::span<std::byte>(each.bytes).subspan<ccl::kEnvelopeBytes, ccl::kChunkHeaderBytes>());
      frames.push_back(std::move(each));
    }
    return frames;
  };
  expect_found(with_fault(flood), CNUASCCL_FLOODED, "40 frames that are not due");
}

// Rank 0 dies, or its link does, at every frame that it sends; three ranks, so that all others must be told.
TEST(FaultTest, APeerThatDiesAtEveryMessage) {
  for (std::uint64_t when = 0; when < 10; ++when) {
    World world(3);
    std::vector<cnuasccl_comm_t> comms(3);
    std::vector<std::unique_ptr<FakeLink>> links(3);
    std::vector<cnuasccl_status_t> statuses(3);
    std::vector<cnuasccl_status_t> next(3);
    world.run([&](int rank) {
      const auto own = static_cast<std::size_t>(rank);
      comms[own] = world.bare(rank);
      links[own] = std::make_unique<FakeLink>(world, rank);
      FakeLink* link = links[own].get();
      if (rank == 0) {
        link->on_send = [link, when](std::uint64_t index, Outgoing frame) {
          if (index >= when) link->dead = true;
          return link->dead ? std::vector<Outgoing>{} : std::vector<Outgoing>{std::move(frame)};
        };
      }
      const cnuasccl_link_transport transport = link->transport();
      const cnuasccl_link_extension extension = link->extension();
      EXPECT_OK(cnuasccl_comm_set_link(comms[own], &transport, &extension, nullptr, nullptr));
      configure(comms[own], [](cnuasccl_config& config) {
        config.timeout_ns = kShortNs / 4;
        config.chunk_bytes = kChunk;
        config.algorithm = CNUASCCL_DIRECT;
      });
      std::vector<float> data(3 * kCount, 1.0F);
      statuses[own] = cnuasccl_all_reduce(comms[own], data.data(), data.data(), data.size(), CNUASCCL_FLOAT32,
                                          CNUASCCL_SUM);
      next[own] = cnuasccl_all_reduce(comms[own], data.data(), data.data(), data.size(), CNUASCCL_FLOAT32,
                                      CNUASCCL_SUM);
    });
    for (std::size_t rank = 0; rank < 3; ++rank) {
      // A rank may have had all it needed before the other died. Then it finds out with the next call.
      const auto found = testing::AnyOf(CNUASCCL_TIMEOUT, CNUASCCL_PEER_ABORTED, CNUASCCL_LOST_FRAME);
      EXPECT_THAT(statuses[rank], testing::AnyOf(CNUASCCL_OK, found))
          << "frame " << when << ", rank " << rank << ": " << last_error(comms[rank]);
      if (statuses[rank] == CNUASCCL_OK) {
        EXPECT_THAT(next[rank], found);
      } else {
        EXPECT_EQ(next[rank], CNUASCCL_POISONED);
      }
    }
    for (cnuasccl_comm_t comm : comms)
      cnuasccl_comm_destroy(comm);
  }
}

TEST(FaultTest, ALinkThatFailsIsReportedAndTold) {
  World world(2);
  std::vector<cnuasccl_status_t> statuses(2);
  std::vector<std::string> texts(2);
  std::vector<cnuasccl_comm_t> comms(2);
  std::vector<std::unique_ptr<FakeLink>> links(2);
  world.run([&](int rank) {
    const auto own = static_cast<std::size_t>(rank);
    comms[own] = world.bare(rank);
    links[own] = std::make_unique<FakeLink>(world, rank);
    const cnuasccl_link_transport transport = links[own]->transport();
    EXPECT_OK(cnuasccl_comm_set_link(comms[own], &transport, nullptr, nullptr, nullptr));
    configure(comms[own], [](cnuasccl_config& config) { config.timeout_ns = kShortNs; });
    if (rank == 1) links[own]->fails_with = CNUASCCL_SYSTEM;
    int number = 1;
    statuses[own] = cnuasccl_all_reduce(comms[own], &number, &number, 1, CNUASCCL_INT32, CNUASCCL_SUM);
    texts[own] = last_error(comms[own]);
  });
  EXPECT_EQ(statuses[1], CNUASCCL_LINK_FAILED);
  EXPECT_THAT(texts[1], testing::HasSubstr("CNUASCCL_SYSTEM"));
  EXPECT_EQ(statuses[0], CNUASCCL_TIMEOUT);
  for (cnuasccl_comm_t comm : comms)
    cnuasccl_comm_destroy(comm);
}

}  // namespace
}  // namespace cnuas::live::collectives
