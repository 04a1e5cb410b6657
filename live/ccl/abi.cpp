// The functions of cnuasccl.h that make, ask and set: arguments are checked here, and no exception goes
// beyond.
#include "live/ccl/abi.h"

#include "live/abi/growing_struct.h"
#include "live/posix/os_error.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <utility>

using namespace cnuas;
using namespace cnuas::live::collectives;

namespace {

// Errors that have no communicator to tell them to. One for each thread, as errno is.
std::string& thread_error() {
  thread_local std::string text;
  return text;
}

Failure check(const cnuasccl_bootstrap* boot) {
  if (boot == nullptr || boot->allgather == nullptr)
    return failure(CNUASCCL_INVALID_ARGUMENT, "there is no bootstrap, or it has no allgather");
  if (boot->n_ranks < 1 || boot->n_ranks > static_cast<int>(kMostRanks))
    return failure(CNUASCCL_INVALID_ARGUMENT,
                   "n_ranks is " + std::to_string(boot->n_ranks) + "; it may be 1 to 65534");
  if (boot->rank < 0 || boot->rank >= boot->n_ranks)
    return failure(CNUASCCL_INVALID_ARGUMENT, "rank is " + std::to_string(boot->rank) + ", of " +
                                                  std::to_string(boot->n_ranks) + " ranks");
  return {};
}

Failure make(const cnuasccl_bootstrap* boot, std::uint16_t gpu, cnuasccl_comm_t& out) {
  if (Failure wrong = check(boot); wrong.failed()) return wrong;
  Environment environment;
  if (Failure wrong =
          parse_environment(std::getenv("CNUASCCL_ALGORITHM"), std::getenv("CNUASCCL_ORDER"), environment);
      wrong.failed())
    return wrong;
  cnuasccl_config defaults;
  cnuasccl_config_init(&defaults, sizeof defaults);
  Settings settings;
  if (Failure wrong = apply(defaults, environment, settings); wrong.failed()) return wrong;
  Membership membership;
  if (Failure failed = bootstrap(*boot, GpuId{gpu}, membership); failed.failed()) return failed;
  out = new cnuasccl_comm{std::make_unique<Communicator>(std::move(membership), settings, environment)};
  return {};
}

}  // namespace

cnuasccl_status_t cnuas::live::collectives::told_to_thread(Failure why) noexcept {
  try {
    thread_error() = why.text.empty() ? status_sentence(why.status) : std::move(why.text);
  } catch (const std::exception&) {
    thread_error().clear();
  }
  return why.status;
}

extern "C" {

const char* cnuasccl_strerror(cnuasccl_status_t status) {
  return status_sentence(number_of(status));
}

const char* cnuasccl_status_name(cnuasccl_status_t status) {
  return status_name(number_of(status));
}

const char* cnuasccl_version(void) {
  return CNUASCCL_VERSION_TEXT;
}

const char* cnuasccl_algorithm_name(cnuasccl_algorithm_t algorithm) {
  const int number = number_of(algorithm);
  if (number == CNUASCCL_AUTO) return "auto";
  if (number < CNUASCCL_AUTO || number > CNUASCCL_BRUCK) return "?";
  return name(static_cast<ccl::Algorithm>(number - 1)).data();  // a literal, which ends with 0
}

cnuasccl_status_t cnuasccl_comm_init_rank(cnuasccl_comm_t* comm, const struct cnuasccl_bootstrap* boot,
                                          uint16_t gpu_id) {
  if (comm == nullptr)
    return told_to_thread({CNUASCCL_INVALID_ARGUMENT, "there is no place for the communicator"});
  *comm = nullptr;
  return guarded_for_thread([&] { return make(boot, gpu_id, *comm); });
}

cnuasccl_status_t cnuasccl_comm_destroy(cnuasccl_comm_t comm) {
  delete comm;
  return CNUASCCL_OK;
}

cnuasccl_status_t cnuasccl_comm_abort(cnuasccl_comm_t comm) {
  return guarded_on(comm, [&](Communicator& communicator) { return communicator.abort(); });
}

cnuasccl_status_t cnuasccl_comm_split(cnuasccl_comm_t comm, int color, int key, cnuasccl_comm_t* child) {
  if (child != nullptr) *child = nullptr;
  return guarded_on(comm, [&](Communicator& communicator) {
    if (child == nullptr)
      return failure(CNUASCCL_INVALID_ARGUMENT, "there is no place for the new communicator");
    auto holder = std::make_unique<cnuasccl_comm>();
    Failure failed = communicator.split(color, key, holder->communicator);
    if (!failed.failed() && holder->communicator) *child = holder.release();
    return failed;
  });
}

cnuasccl_status_t cnuasccl_comm_set_link(cnuasccl_comm_t comm, const struct cnuasccl_link_transport* link,
                                         const struct cnuasccl_link_extension* extension,
                                         const struct cnuasccl_link_transport* fallback,
                                         const struct cnuasccl_link_extension* fallback_extension) {
  return guarded_on(comm, [&](Communicator& communicator) {
    if (link == nullptr) return failure(CNUASCCL_INVALID_ARGUMENT, "there is no transport");
    return communicator.set_link(*link, extension, fallback, fallback_extension);
  });
}

cnuasccl_status_t cnuasccl_comm_share_link(cnuasccl_comm_t comm, cnuasccl_comm_t with) {
  return guarded_on(comm, [&](Communicator& communicator) {
    if (with == nullptr)
      return failure(CNUASCCL_INVALID_ARGUMENT, "there is no communicator to share a link with");
    return communicator.share_link(*with->communicator);
  });
}

int cnuasccl_comm_rank(cnuasccl_comm_t comm) {
  return comm == nullptr ? -1 : static_cast<int>(comm->communicator->membership().rank());
}

int cnuasccl_comm_size(cnuasccl_comm_t comm) {
  return comm == nullptr ? -1 : static_cast<int>(comm->communicator->membership().size());
}

int cnuasccl_comm_rank_of(cnuasccl_comm_t comm, uint16_t gpu_id) {
  if (comm == nullptr) return -1;
  const auto rank = comm->communicator->membership().rank_of(GpuId{gpu_id});
  return rank ? static_cast<int>(*rank) : -1;
}

uint16_t cnuasccl_comm_gpu_of(cnuasccl_comm_t comm, int rank) {
  if (comm == nullptr || rank < 0) return 0;
  const Membership& membership = comm->communicator->membership();
  const auto index = static_cast<Rank>(rank);
  return index < membership.size() ? membership.gpu_of(index).value : std::uint16_t{0};
}

int cnuasccl_comm_ring_next(cnuasccl_comm_t comm) {
  return comm == nullptr ? -1 : static_cast<int>(comm->communicator->membership().ring_next());
}

int cnuasccl_comm_ring_previous(cnuasccl_comm_t comm) {
  return comm == nullptr ? -1 : static_cast<int>(comm->communicator->membership().ring_previous());
}

uint32_t cnuasccl_comm_id(cnuasccl_comm_t comm) {
  return comm == nullptr ? 0 : comm->communicator->membership().id();
}

cnuasccl_status_t cnuasccl_comm_status(cnuasccl_comm_t comm, struct cnuasccl_comm_state* state) {
  return guarded_on(comm, [&](Communicator& communicator) {
    if (state == nullptr) return failure(CNUASCCL_INVALID_ARGUMENT, "there is no place for the state");
    cnuasccl_comm_state now{};
    communicator.state(now);
    live::growing::fill_in(now, *state);
    return Failure{};
  });
}

size_t cnuasccl_last_error(cnuasccl_comm_t comm, char* text, size_t capacity) {
  try {
    if (comm == nullptr) return copy_text(thread_error(), text, capacity);
    return copy_text(comm->communicator->last_error(), text, capacity);
  } catch (const std::exception&) {
    return copy_text({}, text, capacity);
  }
}

void cnuasccl_config_init(struct cnuasccl_config* config, size_t bytes) {
  const Settings defaults;
  cnuasccl_config own{};
  own.algorithm = CNUASCCL_AUTO;
  own.timeout_ns = defaults.timeout_ns;
  own.chunk_bytes = defaults.chunk_limit;
  own.checksum = -1;
  own.rate_bytes_per_s = defaults.port.rate_bytes_per_s;
  own.latency_ns = defaults.port.latency_ps / 1000;
  own.flight_entries = defaults.flight_entries;
  live::growing::make(own, config, bytes);
}

cnuasccl_status_t cnuasccl_comm_configure(cnuasccl_comm_t comm, const struct cnuasccl_config* config) {
  return guarded_on(comm, [&](Communicator& communicator) {
    if (config == nullptr) return failure(CNUASCCL_INVALID_ARGUMENT, "there is no configuration");
    return communicator.configure(*config);
  });
}

cnuasccl_status_t cnuasccl_flight_dump(cnuasccl_comm_t comm, const char* path) {
  return guarded_on(comm, [&](Communicator& communicator) {
    if (path == nullptr) return failure(CNUASCCL_INVALID_ARGUMENT, "there is no path");
    const std::string text = communicator.flight_dump();
    std::FILE* file = std::fopen(path, "we");
    if (file == nullptr)
      return failure(CNUASCCL_SYSTEM, std::string("cannot write '") + path + "': " + live::reason_of(errno));
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (std::fclose(file) == 0 && written) return Failure{};
    return failure(CNUASCCL_SYSTEM, std::string("cannot write '") + path + "' to its end");
  });
}

}  // extern "C"
