// SHA-256 (FIPS 180-4), to name exactly which file a result came from.
#pragma once

#include <string>
#include <string_view>

namespace cnuas::scenarios {

// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace cnuas::scenarios
