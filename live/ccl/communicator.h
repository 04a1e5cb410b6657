// A communicator, as one rank has it: membership, link, settings, and the collectives over them.
#pragma once

#include "core/ccl/schedule.h"
#include "live/ccl/choice.h"
#include "live/ccl/cnuasccl.h"
#include "live/ccl/failure.h"
#include "live/ccl/flight_recorder.h"
#include "live/ccl/link.h"
#include "live/ccl/mailbox.h"
#include "live/ccl/membership.h"
#include "live/ccl/operation.h"
#include "live/ccl/scratch.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cnuas::live::collectives {

class Communicator {
 public:
  // A collective as it is called; the buffers have been checked.
  struct Request {
    ccl::Problem problem;  // algorithm and chunks are chosen here
    ccl::DataType type = ccl::DataType::uint8;
    ccl::Operator op = ccl::Operator::sum;
    const std::byte* send = nullptr;
    std::byte* recv = nullptr;
    bool in_place = false;
  };

  Communicator(Membership membership, Settings settings, Environment environment);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  // Any thread.
  const Membership& membership() const { return membership_; }
  void state(cnuasccl_comm_state& out);
  std::string last_error() const;
  void note_error(const Failure& failure);
  std::string flight_dump() const;
  Failure abort();

  // One at a time: a call while another thread is in one fails with BUSY.
  Failure configure(const cnuasccl_config& config);
  Failure set_link(const cnuasccl_link_transport& link, const cnuasccl_link_extension* extension,
                   const cnuasccl_link_transport* fallback,
                   const cnuasccl_link_extension* fallback_extension);
  Failure share_link(Communicator& with);
  Failure collective(const Request& request);
  Failure barrier();
  // `child` stays null for a negative color.
  Failure split(int color, int key, std::unique_ptr<Communicator>& child);
  Failure choice_of(const ccl::Problem& problem, ccl::DataType type, Choice& out, std::string* explanation);

 private:
  class Turn;  // holds the communicator for one call
  // How long an operation has been waiting.
  struct Patience {
    std::uint64_t seen = 0;  // of its progress
    std::int64_t last_ns = 0;
    std::int64_t retry_ns = 0;  // pause while the link takes no more
  };
  struct Planned {
    ccl::Problem problem;
    ccl::DataType type = ccl::DataType::uint8;
    Choice choice;
  };

  void release() noexcept;
  Failure ready() const;
  ccl::Racks racks() const;
  Failure plan(const ccl::Problem& problem, ccl::DataType type, Choice& out);
  // Every rank's `bytes` bytes to all, by the library itself.
  Failure exchange(ccl::EnvelopeKind kind, const std::byte* own, std::byte* all, std::size_t bytes);
  Failure run(const ccl::Schedule& schedule, const Call& call, const Memory& memory, FlightEntry entry);
  Failure drive(Operation& operation);
  Failure drive_alone(Operation& operation);
  Failure round(Operation& operation, Failure broken, bool& done);
  Failure wait_for(const Operation& operation, Patience& patience, std::int64_t& pause_ns) const;
  Failure described(Failure why, const Operation& operation) const;
  Failure timed_out(const Operation& operation, std::int64_t waited_ns) const;
  Rank culprit(const Operation& operation, const Failure& why);
  Mailbox::Counters counters();
  void tell_peers(cnuasccl_status_t status, Rank culprit) noexcept;
  void tell(cnuasccl_status_t status, Rank culprit);
  void poison(const Failure& why) noexcept;
  void abort_now() noexcept;
  bool attach(std::shared_ptr<Link> link);
  void detach();
  Failure agree_on_link(std::shared_ptr<Link> primary, std::shared_ptr<Link> fallback);
  Failure make_child(int color, int key, std::unique_ptr<Communicator>& child, bool& again);

  const Membership membership_;
  const Environment environment_;
  Settings settings_;
  std::shared_ptr<Link> link_;
  std::atomic<int> carrier_{CNUASCCL_CARRIER_NONE};
  std::string carrier_name_;  // guarded by text_mutex_
  Mailbox mailbox_;
  std::uint32_t sequence_ = 0;
  Scratch scratch_;
  std::vector<Planned> plans_;
  std::size_t next_plan_ = 0;
  FlightRecorder recorder_;
  std::atomic<bool> in_call_{false};
  std::atomic<bool> abort_requested_{false};
  std::atomic<int> poisoned_{CNUASCCL_OK};
  std::atomic<std::uint64_t> collectives_{0};
  mutable std::mutex text_mutex_;
  std::string last_error_;
  std::string poison_text_;  // guarded by text_mutex_
};

}  // namespace cnuas::live::collectives
