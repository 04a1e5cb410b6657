// Bytes as operations on a switch: the real one and the reference do each, and must agree in everything that
// can be seen. For the property test and the fuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace cnuas::fabric_switch {

// Reads a configuration and then operations until the bytes end; then takes all links down. Returns what did
// not hold, empty when all did.
std::string run_machine(std::span<const std::uint8_t> bytes);

}  // namespace cnuas::fabric_switch
