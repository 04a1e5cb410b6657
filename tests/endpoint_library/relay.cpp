#include "tests/endpoint_library/relay.h"

#include "live/posix/clock.h"
#include "live/posix/event_loop.h"
#include "live/posix/unix_socket.h"

#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>

namespace cnuas::live::test {

namespace {

using fabric_switch::Actions;
using fabric_switch::BufferId;
using fabric_switch::FrameRef;
using fabric_switch::PortIndex;
using fabric_switch::Switch;

template <class T>
T must(Result<T> result) {
  if (result) {
    if constexpr (std::is_void_v<T>) {
      return;
    } else {
      return std::move(*result);
    }
  }
  std::fprintf(stderr, "the test's relay: %s: %s\n", result.error().where.c_str(),
               result.error().message.c_str());
  std::abort();
}

Switch make_switch(const RelayOptions& options) {
  fabric_switch::SwitchConfig config;
  config.name = "relay";
  config.rack = 1;
  config.stall_timeout_ps = options.stall_timeout_ps;
  config.ports.resize(options.ports);
  for (fabric_switch::PortConfig& port : config.ports)
    port.queue_bytes = options.queue_bytes;
  return must(Switch::create(config));
}

}  // namespace

class Relay::Body {
 public:
  Body(const std::string& directory, const RelayOptions& options)
      : loop_(must(EventLoop::create())), switch_(make_switch(options)), ports_(options.ports) {
    wake_.reset(::eventfd(0, EFD_CLOEXEC));
    must(loop_.watch(wake_.get(), EPOLLIN, [this](std::uint32_t) { run_tasks(); }));
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      Port& port = ports_[i];
      port.listener =
          must(listen_at(directory + "/port_" + std::to_string(i) + ".sock", SocketKind::seqpacket, 0600));
      port.listening =
          must(loop_.watch(port.listener.get(), EPOLLIN, [this, i](std::uint32_t) { accept(index(i)); }));
    }
    thread_ = std::thread([this] { run(); });
  }

  ~Body() {
    call([this] { stopping_ = true; });
    thread_.join();
  }

  // In the relay's thread.
  void call(const std::function<void()>& task) {
    std::unique_lock lock(mutex_);
    tasks_.push_back(task);
    const std::size_t mine = given_ += 1;
    ::eventfd_write(wake_.get(), 1);
    done_.wait(lock, [&] { return run_ >= mine; });
  }

  Switch& fabric_switch() { return switch_; }

  void stand_still(bool still) {
    still_ = still;
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      loop_.change(ports_[i].listening, still ? 0u : EPOLLIN);
      update_watch(index(i));
      if (!still) send(index(i));
    }
  }

  void send_raw(std::size_t port, const std::string& bytes) {
    ::send(ports_[port].peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  void hang_up(PortIndex port) {
    loop_.unwatch(ports_[port].watch);
    ports_[port].peer.reset();
    ports_[port].paused = false;
    ports_[port].blocked = false;
    act([&] { switch_.link_down(port, monotonic_now(), actions_); });
  }

 private:
  struct Port {
    UniqueFd listener;
    EventLoop::Watch listening;
    UniqueFd peer;
    EventLoop::Watch watch;
    bool paused = false;   // by the switch
    bool blocked = false;  // its socket is full
  };

  static PortIndex index(std::size_t i) { return static_cast<PortIndex>(i); }

  void run() {
    while (!stopping_) {
      must(loop_.run_once(std::min(switch_.next_deadline(), monotonic_now() + kSecond)));
      if (!still_) act([&] { switch_.on_deadline(monotonic_now(), actions_); });
    }
  }

  void run_tasks() {
    eventfd_t count = 0;
    ::eventfd_read(wake_.get(), &count);
    std::vector<std::function<void()>> tasks;
    {
      const std::lock_guard lock(mutex_);
      tasks.swap(tasks_);
    }
    for (const auto& task : tasks)
      task();
    const std::lock_guard lock(mutex_);
    run_ += tasks.size();
    done_.notify_all();
  }

  void accept(PortIndex port) {
    UniqueFd peer(::accept4(ports_[port].listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!peer) return;
    if (ports_[port].peer) {
      const std::string words = "error: port " + std::to_string(port) + " has an endpoint already";
      ::send(peer.get(), words.data(), words.size(), MSG_NOSIGNAL);
      return;
    }
    set_send_buffer(peer.get(), 1 << 20);
    ports_[port].peer = std::move(peer);
    ports_[port].watch =
        must(loop_.watch(ports_[port].peer.get(), EPOLLIN, [this, port](std::uint32_t events) {
          if ((events & EPOLLOUT) != 0) send(port);
          if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) receive(port);
        }));
    act([&] { switch_.link_up(port, monotonic_now(), actions_); });
  }

  void receive(PortIndex port) {
    for (int i = 0; i < 16 && ports_[port].peer && !ports_[port].paused && !still_; ++i) {
      const BufferId id = take_buffer();
      std::vector<std::byte>& buffer = buffers_[id];
      buffer.resize(wire::kMaxFrameBytes + 1);
      const ssize_t bytes = ::recv(ports_[port].peer.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (bytes <= 0) {
        free_.push_back(id);
        if (bytes == 0 || errno != EAGAIN) hang_up(port);
        return;
      }
      buffer.resize(static_cast<std::size_t>(bytes));
      act([&] { switch_.receive(port, buffer, id, monotonic_now(), actions_); });
    }
  }

  void send(PortIndex port) {
    ports_[port].blocked = false;
    while (const FrameRef* frame = switch_.front(port)) {
      if (still_) break;
      std::array<std::byte, wire::kHeaderBytes> header;
      wire::encode(frame->header, header);
      std::array<iovec, 2> pieces{{{header.data(), header.size()}, {nullptr, 0}}};
      if (frame->buffer != fabric_switch::kOwnFrame) {
        std::vector<std::byte>& buffer = buffers_[frame->buffer];
        pieces[1] = {buffer.data() + header.size(), buffer.size() - header.size()};
      }
      msghdr message{};
      message.msg_iov = pieces.data();
      message.msg_iovlen = pieces.size();
      if (::sendmsg(ports_[port].peer.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        ports_[port].blocked = errno == EAGAIN;
        if (errno != EAGAIN) return hang_up(port);
        break;
      }
      act([&] { switch_.pop(port, monotonic_now(), actions_); });
    }
    update_watch(port);
  }

  // Calls the switch, then does what it says, which may call the switch again.
  template <class Call>
  void act(Call&& call) {
    call();
    if (acting_) return;
    acting_ = true;
    while (!actions_.ready.empty() || !actions_.paused.empty() || !actions_.resumed.empty() ||
           !actions_.released.empty()) {
      const Actions now = std::exchange(actions_, {});
      free_.insert(free_.end(), now.released.begin(), now.released.end());
      for (const PortIndex each : now.paused)
        ports_[each].paused = true, update_watch(each);
      for (const PortIndex each : now.resumed)
        ports_[each].paused = false, update_watch(each);
      for (const PortIndex each : now.ready)
        if (ports_[each].peer && !ports_[each].blocked) send(each);
    }
    acting_ = false;
  }

  void update_watch(PortIndex port) {
    const Port& state = ports_[port];
    std::uint32_t events = 0;
    if (!state.paused && !still_) events |= EPOLLIN;
    if (state.blocked && !still_) events |= EPOLLOUT;
    loop_.change(state.watch, events);
  }

  BufferId take_buffer() {
    if (free_.empty()) {
      buffers_.emplace_back();
      return static_cast<BufferId>(buffers_.size() - 1);
    }
    const BufferId id = free_.back();
    free_.pop_back();
    return id;
  }

  EventLoop loop_;
  Switch switch_;
  std::vector<Port> ports_;
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<BufferId> free_;
  Actions actions_;
  bool acting_ = false;
  bool still_ = false;
  bool stopping_ = false;

  UniqueFd wake_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::vector<std::function<void()>> tasks_;
  std::size_t given_ = 0;
  std::size_t run_ = 0;
  std::thread thread_;
};

Relay::Relay(const std::string& directory, const RelayOptions& options)
    : body_(std::make_unique<Body>(directory, options)) {}
Relay::~Relay() = default;

void Relay::with_switch(const std::function<void(Switch&)>& use) {
  body_->call([&] { use(body_->fabric_switch()); });
}

void Relay::stand_still(bool still) {
  body_->call([&] { body_->stand_still(still); });
}

void Relay::send_raw(std::size_t port, const std::string& bytes) {
  body_->call([&] { body_->send_raw(port, bytes); });
}

void Relay::hang_up(std::size_t port) {
  body_->call([&] { body_->hang_up(static_cast<PortIndex>(port)); });
}

}  // namespace cnuas::live::test
