#include "core/topology/gpu_id.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cnuas {
namespace {

using testing::HasSubstr;

TEST(GpuId, IsRackAndSlot) {
  const GpuId id{0x0103};
  EXPECT_EQ(id.rack(), 1u);
  EXPECT_EQ(id.slot(), 3u);
  EXPECT_EQ(to_string(id), "1/3");
  EXPECT_TRUE(id.usable());
}

TEST(GpuId, OrdersByRackThenSlot) {
  EXPECT_LT((GpuId{0x01FF}), (GpuId{0x0200}));
  EXPECT_LT((GpuId{0x0100}), (GpuId{0x0101}));
}

TEST(GpuId, TwoValuesNameNoGpu) {
  EXPECT_FALSE(kNoGpu.usable());
  EXPECT_FALSE(kBroadcast.usable());
  EXPECT_TRUE((GpuId{0x0001}).usable());
  EXPECT_TRUE((GpuId{0xFFFE}).usable());
}

TEST(MakeGpuId, TakesEveryUsablePairAndBackAgain) {
  unsigned usable = 0;
  for (unsigned rack = 0; rack <= kMaxRack; ++rack) {
    for (unsigned slot = 0; slot < kSlotsPerRack; ++slot) {
      const Result<GpuId> id = make_gpu_id(rack, slot);
      if (!id) continue;
      ++usable;
      ASSERT_EQ(id->rack(), rack);
      ASSERT_EQ(id->slot(), slot);
      ASSERT_EQ(parse_gpu_id(to_string(*id)).value(), *id);
    }
  }
  EXPECT_EQ(usable, 65'536u - 2);
}

struct Refusal {
  unsigned rack;
  unsigned slot;
  std::string message;
  std::string where;
};

TEST(MakeGpuId, SaysWhatIsWrongAndWhatToDo) {
  const Refusal refusals[] = {
      {0, 0, "its ID would be 0x0000, which means \"no GPU\"; number the racks from 1", "GPU 0/0"},
      {255, 255, "its ID would be 0xFFFF, which means \"all GPUs\"; rack 255 can hold 255 GPUs at most",
       "GPU 255/255"},
      {256, 0, "rack numbers go from 0 to 255, and 256 is beyond", "GPU 256/0"},
      {1, 256, "slots go from 0 to 255, and 256 is beyond", "GPU 1/256"},
  };
  for (const Refusal& refusal : refusals) {
    const Result<GpuId> id = make_gpu_id(refusal.rack, refusal.slot);
    ASSERT_FALSE(id) << refusal.where;
    EXPECT_EQ(id.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(id.error().message, refusal.message);
    EXPECT_EQ(id.error().where, refusal.where);
  }
}

TEST(ParseGpuId, ReadsBothForms) {
  EXPECT_EQ(parse_gpu_id("1/3").value(), GpuId{0x0103});
  EXPECT_EQ(parse_gpu_id("0/1").value(), GpuId{0x0001});
  EXPECT_EQ(parse_gpu_id("255/254").value(), GpuId{0xFFFE});
  EXPECT_EQ(parse_gpu_id("0x0103").value(), GpuId{0x0103});
  EXPECT_EQ(parse_gpu_id("0X103").value(), GpuId{0x0103});
  EXPECT_EQ(parse_gpu_id("0xfffe").value(), GpuId{0xFFFE});
  EXPECT_EQ(parse_gpu_id("0xFFFE").value(), GpuId{0xFFFE});
}

TEST(ParseGpuId, RefusesEverythingElse) {
  for (const std::string text : {"", "/", "1", "1/", "/3", "1/3/5", "1/3 ", " 1/3", "1 /3", "-1/3", "+1/3",
                                 "1/-3", "a/b", "1.5/3", "1/0x3", "4294967296/1", "1/99999999999999999999"}) {
    const Result<GpuId> id = parse_gpu_id(text);
    ASSERT_FALSE(id) << text;
    EXPECT_EQ(id.error().code, ErrorCode::invalid_argument) << text;
    EXPECT_THAT(id.error().message, HasSubstr("'" + text + "' is not a GPU: write rack/slot as in 1/3"));
  }
  for (const std::string text : {"0x", "0x10000", "0xg", "0x 1", "0x-1", "0x1/3", "0xFFFFFFFFFFFFFFFFF"}) {
    const Result<GpuId> id = parse_gpu_id(text);
    ASSERT_FALSE(id) << text;
    EXPECT_EQ(id.error().code, ErrorCode::invalid_argument) << text;
    EXPECT_THAT(id.error().message, HasSubstr("'" + text + "' is not a 16-bit GPU ID"));
  }
}

TEST(ParseGpuId, RefusesWellFormedIdsThatNameNoGpu) {
  EXPECT_THAT(parse_gpu_id("0/0").error().message, HasSubstr("0x0000"));
  EXPECT_THAT(parse_gpu_id("0x0000").error().message, HasSubstr("0x0000"));
  EXPECT_THAT(parse_gpu_id("0xFFFF").error().message, HasSubstr("0xFFFF"));
  EXPECT_THAT(parse_gpu_id("256/1").error().message, HasSubstr("rack numbers go from 0 to 255"));
  EXPECT_THAT(parse_gpu_id("1/256").error().message, HasSubstr("slots go from 0 to 255"));
}

}  // namespace
}  // namespace cnuas
