#include "live/ccl/failure.h"

#include <algorithm>
#include <iterator>

namespace cnuas::live::collectives {
namespace {

struct Entry {
  cnuasccl_status_t status;
  const char* name;
  const char* sentence;
};

constexpr Entry kStatuses[] = {
    {CNUASCCL_OK, "CNUASCCL_OK", "all went well"},
    {CNUASCCL_AGAIN, "CNUASCCL_AGAIN", "not now"},
    {CNUASCCL_INVALID_ARGUMENT, "CNUASCCL_INVALID_ARGUMENT", "an argument can never be right"},
    {CNUASCCL_NO_MEMORY, "CNUASCCL_NO_MEMORY", "there is not enough memory"},
    {CNUASCCL_NOT_SUPPORTED, "CNUASCCL_NOT_SUPPORTED",
     "the communicator has no link, or the collective has no such algorithm"},
    {CNUASCCL_BUSY, "CNUASCCL_BUSY", "another thread is in a call on this communicator"},
    {CNUASCCL_POISONED, "CNUASCCL_POISONED", "an earlier collective on this communicator failed"},
    {CNUASCCL_ABORTED, "CNUASCCL_ABORTED", "the communicator was aborted"},
    {CNUASCCL_PEER_ABORTED, "CNUASCCL_PEER_ABORTED", "another rank gave up"},
    {CNUASCCL_TIMEOUT, "CNUASCCL_TIMEOUT", "another rank did nothing for as long as allowed"},
    {CNUASCCL_LINK_FAILED, "CNUASCCL_LINK_FAILED", "the link failed"},
    {CNUASCCL_NOT_CANONICAL, "CNUASCCL_NOT_CANONICAL",
     "the algorithm does not fold in rank order, and no other order is allowed"},
    {CNUASCCL_TOO_LARGE, "CNUASCCL_TOO_LARGE", "more bytes than there can be in a buffer or a message"},
    {CNUASCCL_SYSTEM, "CNUASCCL_SYSTEM", "the operating system refused"},
    {CNUASCCL_BOOTSTRAP_FAILED, "CNUASCCL_BOOTSTRAP_FAILED",
     "the allgather of the bootstrap failed or did not give what it should"},
    {CNUASCCL_BAD_RECORD, "CNUASCCL_BAD_RECORD", "a member's record is not a membership record"},
    {CNUASCCL_RECORD_VERSION, "CNUASCCL_RECORD_VERSION", "a member speaks another version"},
    {CNUASCCL_DUPLICATE_RANK, "CNUASCCL_DUPLICATE_RANK", "two members have the same rank"},
    {CNUASCCL_MISSING_RANK, "CNUASCCL_MISSING_RANK", "no member has one of the ranks"},
    {CNUASCCL_GPU_COLLISION, "CNUASCCL_GPU_COLLISION", "two ranks have the same GPU"},
    {CNUASCCL_SIZE_MISMATCH, "CNUASCCL_SIZE_MISMATCH", "the members disagree on the number of ranks"},
    {CNUASCCL_BAD_GPU, "CNUASCCL_BAD_GPU", "0x0000 and 0xFFFF name no GPU"},
    {CNUASCCL_WRONG_GPU, "CNUASCCL_WRONG_GPU", "the link is that of another GPU"},
    {CNUASCCL_FRAME_TOO_SHORT, "CNUASCCL_FRAME_TOO_SHORT", "a frame is shorter than its headers"},
    {CNUASCCL_FRAME_TOO_LONG, "CNUASCCL_FRAME_TOO_LONG", "a frame has more than 60 KiB of data"},
    {CNUASCCL_BAD_MAGIC, "CNUASCCL_BAD_MAGIC", "a frame does not start as one of a collective"},
    {CNUASCCL_BAD_VERSION, "CNUASCCL_BAD_VERSION", "a frame is of another version"},
    {CNUASCCL_WRONG_KIND, "CNUASCCL_WRONG_KIND",
     "a frame is of another operation than the one that runs here"},
    {CNUASCCL_WRONG_COMM, "CNUASCCL_WRONG_COMM", "a frame is of another communicator"},
    {CNUASCCL_WRONG_SEQUENCE, "CNUASCCL_WRONG_SEQUENCE",
     "a frame is of another collective in the order of calls"},
    {CNUASCCL_WRONG_SOURCE, "CNUASCCL_WRONG_SOURCE", "a frame is not from the rank that it names"},
    {CNUASCCL_WRONG_DESTINATION, "CNUASCCL_WRONG_DESTINATION", "a frame is for another rank"},
    {CNUASCCL_WRONG_CHUNK, "CNUASCCL_WRONG_CHUNK", "a frame has another chunk than the next one"},
    {CNUASCCL_WRONG_CHUNK_COUNT, "CNUASCCL_WRONG_CHUNK_COUNT",
     "a frame is of a message with another number of chunks"},
    {CNUASCCL_WRONG_CHUNK_BYTES, "CNUASCCL_WRONG_CHUNK_BYTES", "a frame has a chunk of another length"},
    {CNUASCCL_WRONG_TOTAL, "CNUASCCL_WRONG_TOTAL", "a frame is of a message of another length"},
    {CNUASCCL_DUPLICATE_FRAME, "CNUASCCL_DUPLICATE_FRAME", "a frame came twice"},
    {CNUASCCL_LOST_FRAME, "CNUASCCL_LOST_FRAME", "a frame is missing, or frames came in another order"},
    {CNUASCCL_CORRUPT, "CNUASCCL_CORRUPT", "a frame was changed on the way"},
    {CNUASCCL_BAD_CHUNK, "CNUASCCL_BAD_CHUNK", "the header of a chunk makes no sense"},
    {CNUASCCL_FLOODED, "CNUASCCL_FLOODED", "a rank sends more than it was allowed to"},
    {CNUASCCL_OPERATOR_MISMATCH, "CNUASCCL_OPERATOR_MISMATCH", "the ranks call with different operators"},
    {CNUASCCL_TYPE_MISMATCH, "CNUASCCL_TYPE_MISMATCH", "the ranks call with different types"},
    {CNUASCCL_COUNT_MISMATCH, "CNUASCCL_COUNT_MISMATCH", "the ranks call with different counts"},
    {CNUASCCL_ROOT_MISMATCH, "CNUASCCL_ROOT_MISMATCH", "the ranks call with different roots"},
    {CNUASCCL_ALGORITHM_MISMATCH, "CNUASCCL_ALGORITHM_MISMATCH", "the ranks have different settings"},
};

const Entry* find(int status) {
  const auto* found = std::find_if(std::begin(kStatuses), std::end(kStatuses), [status](const Entry& entry) {
    return number_of(entry.status) == status;
  });
  return found == std::end(kStatuses) ? nullptr : found;
}

}  // namespace

const char* status_name(int status) {
  const Entry* entry = find(status);
  return entry == nullptr ? "?" : entry->name;
}

const char* status_sentence(int status) {
  const Entry* entry = find(status);
  return entry == nullptr ? "a status that this version does not know" : entry->sentence;
}

std::size_t copy_text(const std::string& text, char* out, std::size_t capacity) {
  if (out == nullptr || capacity == 0) return text.size();
  std::size_t length = std::min(text.size(), capacity - 1);
  const auto continues = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  while (length > 0 && length < text.size() && continues(length))
    --length;
  text.copy(out, length);
  out[length] = '\0';
  return text.size();
}

}  // namespace cnuas::live::collectives
