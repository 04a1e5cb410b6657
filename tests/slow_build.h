// Whether a sanitizer is built in.
#pragma once

namespace cnuas::test {

// True in builds that run an order of magnitude slower and keep memory for a while after it was freed. Tests
// take thinner samples in them.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSlowBuild = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSlowBuild = true;
#else
inline constexpr bool kSlowBuild = false;
#endif
#else
inline constexpr bool kSlowBuild = false;
#endif

}  // namespace cnuas::test
