#include "tests/benchmarks/switchd/processors.h"

#include <ctime>
#include <fstream>
#include <string>
#include <thread>

#include <unistd.h>

namespace cnuas::benchmark {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kSample{100};
constexpr double kQuiet = 0.2;  // processors

}  // namespace

double busy_seconds() {
  std::ifstream stat("/proc/stat");
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, wait = 0, interrupts = 0, soft_interrupts = 0, stolen = 0;
  stat >> name >> user >> nice >> system >> idle >> wait >> interrupts >> soft_interrupts >> stolen;
  return (user + nice + system + interrupts + soft_interrupts + stolen) /
         static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double cpu_seconds(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

bool wait_until_quiet(std::chrono::milliseconds longest) {
  const auto end = Clock::now() + longest;
  while (longest.count() > 0) {
    const auto begin = Clock::now();
    const double busy = busy_seconds();
    std::this_thread::sleep_for(kSample);
    const double took = std::chrono::duration<double>(Clock::now() - begin).count();
    if ((busy_seconds() - busy) / took < kQuiet) return true;
    if (Clock::now() > end) return false;
  }
  return true;
}

}  // namespace cnuas::benchmark
