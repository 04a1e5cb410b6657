// What is written at the parts of a drawing.
#pragma once

#include "core/topology/fabric.h"

#include <string>
#include <string_view>
#include <vector>

namespace cnuas::sim {

// "400 GB/s, 1 us"
std::string link_label(const LinkProfile& link);

// "16 GPUs, 2 switches, 1 cable"
std::string fabric_summary(const Fabric& fabric);

// The GPUs of each switch, in the order of the fabric.
std::vector<std::vector<GpuIndex>> gpus_by_switch(const Fabric& fabric);

// "8 GPUs", "1 GPU"
std::string gpu_count(std::size_t gpus);

// The links of these GPUs: "450 GB/s, 500 ns", or the first one and how many other kinds there are.
// Precondition: at least one GPU.
std::string gpu_links_label(const Fabric& fabric, const std::vector<GpuIndex>& gpus);

// Columns that text takes in a font of one width: two for what East Asian scripts and emoji draw wide.
int text_columns(std::string_view utf8);

// At most so many columns, ending in "..." when something was cut off. Precondition: columns > 3.
std::string shortened(std::string_view utf8, int columns);

}  // namespace cnuas::sim
