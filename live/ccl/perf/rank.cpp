#include "live/ccl/perf/rank.h"

#include "live/ccl/perf/pattern.h"
#include "live/ccl/perf/report.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include <unistd.h>

namespace cnuas::live::perf {
namespace {

void write_report(int fd, const Report& report) {
  while (::write(fd, &report, sizeof report) < 0 && errno == EINTR) {
  }
}

int exit_code_of(cnuasccl_status_t status) {
  switch (status) {
    case CNUASCCL_OK:
      return kSuccess;
    case CNUASCCL_INVALID_ARGUMENT:
    case CNUASCCL_NOT_SUPPORTED:
    case CNUASCCL_NOT_CANONICAL:
    case CNUASCCL_TOO_LARGE:
      return kUsage;
    default:
      return kInputOutput;
  }
}

class Measuring {
 public:
  Measuring(const Options& options, const RankPlace& place) : options_(options), place_(place) {}
  ~Measuring() {
    if (comm_ == nullptr) return;
    if (!options_.flight.empty()) {
      const std::string path = options_.flight + "/rank_" + std::to_string(place_.rank) + ".json";
      if (cnuasccl_flight_dump(comm_, path.c_str()) != CNUASCCL_OK)
        std::fprintf(stderr, "error: rank %d: %s cannot be written\n", place_.rank, path.c_str());
    }
    cnuasccl_comm_destroy(comm_);
  }
  Measuring(const Measuring&) = delete;
  Measuring& operator=(const Measuring&) = delete;

  cnuasccl_status_t run(std::span<const Row> rows) {
    if (const cnuasccl_status_t status = connect(); status != CNUASCCL_OK) return status;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (const bool in_place : {false, true}) {
        row_ = &rows[i];
        in_place_ = in_place;
        report_ = Report{};
        report_.row = static_cast<std::uint32_t>(i);
        report_.in_place = in_place ? 1 : 0;
        if (const cnuasccl_status_t status = measure(); status != CNUASCCL_OK) return status;
        write_report(place_.report_fd, report_);
      }
    }
    // Nobody leaves while others still want something.
    return said(cnuasccl_barrier(comm_));
  }

  std::string what() const {
    if (row_ == nullptr) return "making the communicator";
    return std::string(name_of(row_->collective)) + " of " + std::to_string(row_->bytes) + " bytes, " +
           name_of(row_->type) + (in_place_ ? ", in place" : "");
  }
  const std::string& text() const { return text_; }

 private:
  cnuasccl_status_t said(cnuasccl_status_t status) {
    if (status == CNUASCCL_OK) return status;
    char text[640];
    cnuasccl_last_error(comm_, text, sizeof text);
    text_ = text;
    return status;
  }

  cnuasccl_status_t connect() {
    if (const auto status = said(cnuasccl_comm_init_rank(&comm_, &place_.bootstrap, place_.gpu_id));
        status != CNUASCCL_OK)
      return status;
    cnuasccl_config config;
    cnuasccl_config_init(&config, sizeof config);
    config.algorithm = options_.algorithm;
    config.any_order = options_.any_order ? 1 : 0;
    config.checksum = options_.checksum;
    config.timeout_ns = options_.timeout_ns;
    if (const auto status = said(cnuasccl_comm_configure(comm_, &config)); status != CNUASCCL_OK)
      return status;
    return said(cnuasccl_comm_set_link(comm_, &place_.transport, &place_.extension, nullptr, nullptr));
  }

  cnuasccl_status_t choose() {
    cnuasccl_choice choice{};
    choice.struct_bytes = sizeof choice;
    const auto status =
        said(cnuasccl_explain(comm_, row_->collective, row_->count, row_->type, &choice, nullptr, 0));
    if (status != CNUASCCL_OK) return status;
    report_.algorithm = static_cast<std::uint32_t>(choice.algorithm);
    exact_ = choice.canonical != 0;
    if (options_.algorithm != CNUASCCL_AUTO && choice.algorithm != options_.algorithm &&
        options_.collectives.size() == 1) {
      text_ = std::string(name_of(row_->collective)) + " has no algorithm '" +
              cnuasccl_algorithm_name(options_.algorithm) + "'";
      return CNUASCCL_NOT_SUPPORTED;
    }
    return CNUASCCL_OK;
  }

  // Lays out the buffers: in place as each collective says it, in one piece of memory.
  void prepare() {
    const std::size_t size = size_of(row_->type);
    const std::size_t send = row_->send_elements(options_.ranks) * size;
    const std::size_t recv = row_->recv_elements(options_.ranks) * size;
    const std::size_t block = static_cast<std::size_t>(place_.rank) * row_->count * size;
    recv_memory_.resize(std::max(send, recv));
    if (!in_place_) send_memory_.resize(send);
    std::byte* const shared = recv_memory_.data();
    send_ = {in_place_ ? shared : send_memory_.data(), send};
    recv_ = {shared, recv};
    if (in_place_ && row_->collective == CNUASCCL_ALL_GATHER) send_ = {shared + block, send};
    if (in_place_ && row_->collective == CNUASCCL_REDUCE_SCATTER) recv_ = {shared + block, recv};
  }

  void fill() {
    std::fill(recv_memory_.begin(), recv_memory_.end(), std::byte{0xA5});
    contribute(*row_, place_.rank, options_.ranks, send_);
  }

  cnuasccl_status_t call() {
    const Row& row = *row_;
    switch (row.collective) {
      case CNUASCCL_ALL_REDUCE:
        return cnuasccl_all_reduce(comm_, send_.data(), recv_.data(), row.count, row.type, row.op);
      case CNUASCCL_BROADCAST:
        return cnuasccl_broadcast(comm_, send_.data(), recv_.data(), row.count, row.type, row.root);
      case CNUASCCL_ALL_GATHER:
        return cnuasccl_all_gather(comm_, send_.data(), recv_.data(), row.count, row.type);
      case CNUASCCL_REDUCE_SCATTER:
        return cnuasccl_reduce_scatter(comm_, send_.data(), recv_.data(), row.count, row.type, row.op);
      case CNUASCCL_ALL_TO_ALL:
        break;
    }
    return cnuasccl_all_to_all(comm_, send_.data(), recv_.data(), row.count, row.type);
  }

  cnuasccl_status_t call(int times) {
    for (int i = 0; i < times; ++i)
      if (const auto status = said(call()); status != CNUASCCL_OK) return status;
    return CNUASCCL_OK;
  }

  cnuasccl_status_t measure() {
    if (const auto status = choose(); status != CNUASCCL_OK) return status;
    prepare();
    report_.wrong = 0;
    for (int i = 0; i < options_.checks; ++i) {
      fill();
      if (const auto status = call(1); status != CNUASCCL_OK) return status;
      report_.wrong += count_wrong(*row_, place_.rank, options_.ranks, recv_, exact_);
    }
    fill();
    if (const auto status = call(options_.warm_up); status != CNUASCCL_OK) return status;
    // What reductions in place have made of the numbers must not make them slower.
    fill();
    if (const auto status = said(cnuasccl_barrier(comm_)); status != CNUASCCL_OK) return status;
    const auto began = std::chrono::steady_clock::now();
    if (const auto status = call(options_.iterations); status != CNUASCCL_OK) return status;
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
    report_.time_ns = took.count() / options_.iterations;
    return CNUASCCL_OK;
  }

  const Options& options_;
  const RankPlace& place_;
  cnuasccl_comm_t comm_ = nullptr;
  const Row* row_ = nullptr;
  bool in_place_ = false;
  bool exact_ = true;
  Report report_;
  std::string text_;
  std::vector<std::byte> send_memory_;
  std::vector<std::byte> recv_memory_;
  std::span<std::byte> send_;
  std::span<std::byte> recv_;
};

int report_exception(int fd, const char* what) {
  Report report;
  report.kind = Report::Kind::failed;
  report.exit_code = kInternal;
  std::snprintf(report.text, sizeof report.text, "internal error: %s", what);
  write_report(fd, report);
  return kInternal;
}

}  // namespace

int report_failure(int report_fd, cnuasccl_status_t status, const char* what, const char* text) {
  Report report;
  report.kind = Report::Kind::failed;
  report.exit_code = static_cast<std::uint32_t>(exit_code_of(status));
  report.status = static_cast<std::uint32_t>(status);
  std::snprintf(report.text, sizeof report.text, "%.150s: %s", what,
                *text != '\0' ? text : cnuasccl_strerror(status));
  write_report(report_fd, report);
  return static_cast<int>(report.exit_code);
}

int run_rank(const Options& options, std::span<const Row> rows, const RankPlace& place) {
  try {
    Measuring measuring(options, place);
    const cnuasccl_status_t status = measuring.run(rows);
    if (status != CNUASCCL_OK)
      return report_failure(place.report_fd, status, measuring.what().c_str(), measuring.text().c_str());
    Report report;
    report.kind = Report::Kind::done;
    write_report(place.report_fd, report);
    return kSuccess;
  } catch (const std::bad_alloc&) {
    return report_failure(place.report_fd, CNUASCCL_NO_MEMORY, "buffers", "");
  } catch (const std::exception& error) {
    return report_exception(place.report_fd, error.what());
  }
}

}  // namespace cnuas::live::perf
