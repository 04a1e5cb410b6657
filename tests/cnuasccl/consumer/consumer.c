/* A communicator of one rank, from C11. */
#include <cnuasccl.h>
#include <stdio.h>
#include <string.h>

static cnuasccl_status_t alone(const void* send_buf, void* recv_buf, size_t send_bytes, void* context) {
  ++*(int*)context;
  memcpy(recv_buf, send_buf, send_bytes);
  return CNUASCCL_OK;
}

int main(void) {
  int calls = 0;
  const struct cnuasccl_bootstrap boot = {alone, &calls, 1, 0};
  cnuasccl_comm_t comm = NULL;
  const double in[2] = {1.0, 2.0};
  double out[2] = {0.0, 0.0};
  cnuasccl_status_t status = cnuasccl_comm_init_rank(&comm, &boot, 0x0101);
  if (status == CNUASCCL_OK) status = cnuasccl_all_reduce(comm, in, out, 2, CNUASCCL_FLOAT64, CNUASCCL_SUM);
  cnuasccl_comm_destroy(comm);
  printf("%s: %s, %d allgathers\n", cnuasccl_version(), cnuasccl_strerror(status), calls);
  return status == CNUASCCL_OK && calls == 2 && memcmp(in, out, sizeof in) == 0 ? 0 : 1;
}
