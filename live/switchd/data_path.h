// Frames between the ports' sockets and the switch.
#pragma once

#include "core/engine/error.h"
#include "core/switch/switch.h"
#include "live/posix/event_loop.h"
#include "live/posix/unique_fd.h"
#include "live/switchd/frame_pool.h"
#include "live/switchd/receive_batch.h"
#include "live/switchd/send_batch.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cnuas::live {

// A connected socket is a port's link. It is read while the switch has not paused the port, and written to
// when frames come, at once; only when the peer's queue is full does it wait for EPOLLOUT. What the peer has
// sent is read to the end before its link goes down, and a peer that has only stopped sending goes on
// receiving.
class DataPath {
 public:
  using PortIndex = fabric_switch::PortIndex;

  // A peer has gone: why, for the log. The port is free again.
  using OnGone = std::function<void(PortIndex, const std::string& why)>;

  // The loop must outlive it. `send_buffer` as for set_send_buffer().
  DataPath(EventLoop& loop, fabric_switch::Switch fabric, int send_buffer, OnGone gone);
  ~DataPath();
  DataPath(const DataPath&) = delete;
  DataPath& operator=(const DataPath&) = delete;

  const fabric_switch::Switch& fabric() const { return fabric_; }
  fabric_switch::GroupTable& groups() { return fabric_.groups(); }
  const FramePool& pool() const { return pool_; }

  // The port's link comes up over `connection`. Precondition: not attached. Errors: io.
  Result<void> attach(PortIndex port, UniqueFd connection);
  bool attached(PortIndex port) const { return static_cast<bool>(ports_[port].connection); }

  // As attached(), after a peer that has gone without having been noticed has been seen off.
  bool still_attached(PortIndex port);

  void set_admin_state(PortIndex port, bool up);
  void clear_counters() { fabric_.clear_counters(); }
  // Errors: those of Switch::reconfigure().
  Result<void> reconfigure(fabric_switch::SwitchConfig config);

  // When on_time() wants to be called next.
  Picoseconds next_deadline() const { return fabric_.next_deadline(); }
  void on_time();

  // Peers can send no more; what they have sent is still read and passed on.
  void begin_drain();
  // Nothing is left to read or to send. The switch's watchdog sees to it that this comes.
  bool drained() const;

 private:
  struct Port {
    UniqueFd connection;
    EventLoop::Watch watch;
    bool receiving = false;              // the peer has not ended its stream
    bool paused = false;                 // by the switch
    bool blocked = false;                // the peer's queue is full
    bool deaf = false;                   // the peer does not receive any more
    std::optional<int> unread_at_stall;  // what the peer had not read when its port stalled
  };

  void on_events(PortIndex index, std::uint32_t events);
  void receive_from(PortIndex index);
  void send_to(PortIndex index);
  void settle();
  void keep(std::span<const ReceiveBatch::Message> messages);
  void end_of_stream(PortIndex index);
  void detach(PortIndex index, const std::string& why);
  static std::uint32_t events_of(const Port& port);
  void set_events(PortIndex index);
  Result<void> watch(PortIndex index);
  void retry_blocked();
  void unstall(PortIndex index);
  void watch_stalled();
  void poll_stalled();

  EventLoop& loop_;
  fabric_switch::Switch fabric_;
  int send_buffer_;
  OnGone gone_;
  FramePool pool_;
  ReceiveBatch receive_batch_;
  SendBatch send_batch_;
  fabric_switch::Actions actions_;
  std::vector<PortIndex> to_send_;
  std::vector<Port> ports_;
  EventLoop::Timer stall_timer_;
};

}  // namespace cnuas::live
