// Any bytes as a GPU ID: refused, or a usable ID that reads back as itself.

#include "core/topology/gpu_id.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const cnuas::Result<cnuas::GpuId> id = cnuas::parse_gpu_id(std::string(data, data + size));
  if (!id) return 0;
  const cnuas::Result<cnuas::GpuId> again = cnuas::parse_gpu_id(cnuas::to_string(*id));
  if (!id->usable() || !again || *again != *id) std::abort();
  return 0;
}
