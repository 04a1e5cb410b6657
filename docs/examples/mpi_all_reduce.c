/* An all_reduce over CnuasLink among the processes of an MPI job, which serves as the bootstrap only: its allgather
 * is called twice, when the communicator is made, and every byte of payload goes through the switch.
 *
 *   mpicc mpi_all_reduce.c $(pkg-config --cflags --libs cnuasccl cnuasccl_link) -o mpi_all_reduce
 *   mpirun -n 4 ./mpi_all_reduce RUN_DIR
 *
 * RUN_DIR is that of a switch; rank r is the GPU at its port r, so at most eight ranks on one host. */
#include <cnuasccl.h>
#include <cnuasccl_link.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static cnuasccl_status_t allgather(const void* send, void* recv, size_t bytes, void* context) {
  const MPI_Comm* comm = context;
  const int status = MPI_Allgather(send, (int)bytes, MPI_BYTE, recv, (int)bytes, MPI_BYTE, *comm);
  return status == MPI_SUCCESS ? CNUASCCL_OK : CNUASCCL_BOOTSTRAP_FAILED;
}

static void stop(int rank, const char* what, const char* why) {
  fprintf(stderr, "rank %d: %s: %s\n", rank, what, why);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check(cnuasccl_status_t status, int rank, const char* what) {
  if (status != CNUASCCL_OK) stop(rank, what, cnuasccl_strerror(status));
}

int main(int argc, char** argv) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm world = MPI_COMM_WORLD;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &ranks);
  if (argc != 2) stop(rank, "usage", "mpi_all_reduce RUN_DIR");

  struct cnuasccl_link_options options;
  cnuasccl_link_options_init(&options, sizeof options);
  options.run_dir = argv[1];
  options.port = (unsigned)rank;
  struct cnuasccl_link* link = NULL;
  char why[256];
  if (cnuasccl_link_open(&options, &link, why, sizeof why) != CNUASCCL_OK) stop(rank, "link", why);

  /* Which GPU this is, the switch has said. */
  struct cnuasccl_link_transport transport;
  struct cnuasccl_link_extension extension;
  check(cnuasccl_link_use(link, &transport, &extension, sizeof extension), rank, "transport");
  uint16_t gpu = 0;
  check(transport.local_gpu(&gpu, transport.context), rank, "transport");

  struct cnuasccl_bootstrap boot = {allgather, &world, ranks, rank};
  cnuasccl_comm_t comm = NULL;
  check(cnuasccl_comm_init_rank(&comm, &boot, gpu), rank, "communicator");
  check(cnuasccl_comm_set_link(comm, &transport, &extension, NULL, NULL), rank, "transport");

  enum { kCount = 1000000 };
  float* data = malloc(kCount * sizeof *data);
  if (data == NULL) stop(rank, "memory", "there is too little");
  for (int i = 0; i < kCount; ++i)
    data[i] = (float)(rank + i % 10);
  check(cnuasccl_all_reduce(comm, data, data, kCount, CNUASCCL_FLOAT32, CNUASCCL_SUM), rank, "all_reduce");

  int wrong = 0;
  for (int i = 0; i < kCount; ++i)
    wrong += data[i] != (float)(ranks * (ranks - 1) / 2 + ranks * (i % 10));
  printf("rank %d of %d: %d of %d sums are wrong\n", rank, ranks, wrong, kCount);

  free(data);
  cnuasccl_comm_destroy(comm);
  cnuasccl_link_close(link);
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
