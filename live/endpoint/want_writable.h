// Somebody waits for the socket to take frames again.
#pragma once

#include "live/endpoint/waiting.h"

namespace cnuas::live::endpoint {

// While it lives and has been asked, sleeps end when the socket is writable. Under the link's lock.
class WantWritable {
 public:
  explicit WantWritable(Waiting& waiting) : waiting_(waiting) {}
  ~WantWritable() {
    if (wanted_) waiting_.unwant_writable();
  }
  WantWritable(const WantWritable&) = delete;
  WantWritable& operator=(const WantWritable&) = delete;
  // True the first time.
  bool want() {
    if (wanted_) return false;
    waiting_.want_writable();
    return wanted_ = true;
  }

 private:
  Waiting& waiting_;
  bool wanted_ = false;
};

}  // namespace cnuas::live::endpoint
