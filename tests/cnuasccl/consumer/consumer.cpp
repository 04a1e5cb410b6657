// Two ranks as threads, from C++.
#include <thread>

#include <cnuasccl.h>

namespace {

bool run(cnuasccl_inproc* world, int rank) {
  const auto gpu = static_cast<std::uint16_t>(0x0100 + rank);
  cnuasccl_bootstrap boot{};
  cnuasccl_link_transport link{};
  cnuasccl_link_extension extension{};
  cnuasccl_comm_t comm = nullptr;
  int number = rank + 1;
  const bool well =
      cnuasccl_inproc_bootstrap(world, rank, &boot) == CNUASCCL_OK &&
      cnuasccl_inproc_link(world, rank, gpu, &link, &extension, sizeof extension) == CNUASCCL_OK &&
      cnuasccl_comm_init_rank(&comm, &boot, gpu) == CNUASCCL_OK &&
      cnuasccl_comm_set_link(comm, &link, &extension, nullptr, nullptr) == CNUASCCL_OK &&
      cnuasccl_all_reduce(comm, &number, &number, 1, CNUASCCL_INT32, CNUASCCL_SUM) == CNUASCCL_OK;
  cnuasccl_comm_destroy(comm);
  return well && number == 3;
}

}  // namespace

int main() {
  cnuasccl_inproc* world = nullptr;
  if (cnuasccl_inproc_create(2, 16, 60'000'000'000, &world) != CNUASCCL_OK) return 1;
  bool other = false;
  std::thread thread([&] { other = run(world, 1); });
  const bool well = run(world, 0);
  thread.join();
  cnuasccl_inproc_destroy(world);
  return well && other ? 0 : 1;
}
