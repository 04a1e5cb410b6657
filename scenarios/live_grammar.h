// What may stand under `live`.
#pragma once

#include "core/engine/time.h"
#include "scenarios/value_forms.h"

namespace cnuas::scenarios {

inline constexpr Form kIdentity = {
    .kind = Kind::integer, .what = "a whole number", .least = 0, .most = 4'294'967'294};
inline constexpr Form kIdentities = {.kind = Kind::list,
                                     .what = "a list of numbers, such as [1000, 1001]",
                                     .least = 0,
                                     .most = 1024,
                                     .element = &kIdentity};
inline constexpr Form kKeepaliveTimeout = {
    .kind = Kind::time, .what = "a time such as 5 s", .least = kMicrosecond, .most = 100'000 * kSecond};
inline constexpr Field kLiveFields[] = {
    {"allow_users", &kIdentities, false,
     "Numbers of the users that may connect, beside root and the daemon's own."},
    {"allow_groups", &kIdentities, false, "Numbers of the groups whose members may connect."},
    {"keepalive_timeout", &kKeepaliveTimeout, false,
     "A GPU that has sent frames and then none for so long leaves the forwarding database. Default: never."},
};
inline constexpr Form kLive = {.kind = Kind::mapping,
                               .name = "live",
                               .what = "a mapping such as {allow_users: [1000]}",
                               .fields = kLiveFields};

}  // namespace cnuas::scenarios
