#include "live/switchd/access.h"

#include <algorithm>

#include <unistd.h>

namespace cnuas::live {

namespace {

template <class Id>
bool contains(const std::vector<Id>& list, Id id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

}  // namespace

bool AccessList::admits(const PeerCredentials& peer) const {
  if (peer.uid == 0 || peer.uid == ::geteuid() || contains(users, peer.uid)) return true;
  if (contains(groups, peer.gid)) return true;
  return std::any_of(peer.groups.begin(), peer.groups.end(),
                     [this](gid_t group) { return contains(groups, group); });
}

std::string to_string(const PeerCredentials& peer) {
  return "uid " + std::to_string(peer.uid) + ", gid " + std::to_string(peer.gid) + ", pid " +
         std::to_string(peer.pid);
}

}  // namespace cnuas::live
