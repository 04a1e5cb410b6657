// The forwarding database and the groups.

#include "tests/management/ask.h"

namespace cnuas::live {
namespace {

using wire::FrameType;

Json names_of(const Json& entries) {
  Json names = Json::array();
  for (const Json& entry : entries)
    names.push_back(entry["gpu"]["name"]);
  return names;
}

TEST(FdbDumpTest, EntriesComeInOrderOfId) {
  Desk desk;
  for (fabric_switch::PortIndex port = 0; port < 5; ++port)
    desk.managed.connect(port);
  desk.managed.receive(3, FrameType::discovery, GpuId{0x0103}, kBroadcast);
  desk.managed.receive(4, FrameType::discovery, GpuId{0x0201}, kBroadcast);
  const Json dump = desk.result("gpu_fdb_dump");
  EXPECT_EQ(
      dump,
      (Json{
          {"size", 4},
          {"entries",
           {{{"gpu", {{"name", "1/1"}, {"id", 257}}}, {"port", 0}, {"role", "gpu"}, {"origin", "configured"}},
            {{"gpu", {{"name", "1/2"}, {"id", 258}}}, {"port", 1}, {"role", "gpu"}, {"origin", "configured"}},
            {{"gpu", {{"name", "1/3"}, {"id", 259}}}, {"port", 3}, {"role", "gpu"}, {"origin", "learned"}},
            {{"gpu", {{"name", "2/1"}, {"id", 513}}},
             {"port", 4},
             {"role", "inter_switch"},
             {"origin", "learned"}}}}}));
}

TEST(FdbDumpTest, AllPagesTogetherAreTheTable) {
  Desk desk;
  desk.managed.connect(4);
  for (std::uint16_t id = 0x0201; id < 0x0201 + 1000; ++id)
    desk.managed.receive(4, FrameType::discovery, GpuId{id}, kBroadcast);
  EXPECT_EQ(desk.result("gpu_fdb_dump")["entries"].size(), 256u);

  Json request{{"command", "gpu_fdb_dump"}, {"limit", 230}};
  std::size_t listed = 0;
  for (int page = 0; page < 5; ++page) {
    const Json dump = desk.result(request);
    EXPECT_EQ(dump["size"], 1000);
    for (const Json& entry : dump["entries"])
      EXPECT_EQ(entry["gpu"]["id"], 0x0201 + listed++);
    EXPECT_EQ(dump.contains("next"), page < 4);
    if (page < 4) request["after"] = dump["next"]["name"];
  }
  EXPECT_EQ(listed, 1000u);

  // A page that ends where the table does has no next one.
  const Json last = desk.result({{"command", "gpu_fdb_dump"}, {"after", 0x0201 + 989}, {"limit", 10}});
  EXPECT_EQ(last["entries"].size(), 10u);
  EXPECT_FALSE(last.contains("next"));
  EXPECT_EQ(desk.result({{"command", "gpu_fdb_dump"}, {"after", "255/0"}})["entries"], Json::array());
}

TEST(FdbDumpTest, FieldsAreChecked) {
  Desk desk;
  EXPECT_EQ(desk.refusal({{"command", "gpu_fdb_dump"}, {"limit", 0}}), "out_of_range limit");
  EXPECT_EQ(desk.refusal({{"command", "gpu_fdb_dump"}, {"limit", 257}}), "out_of_range limit");
  EXPECT_EQ(desk.refusal({{"command", "gpu_fdb_dump"}, {"after", "1"}}), "bad_field after");
}

Json create(const Json& name, const Json& gpus) {
  return {{"command", "group_create"}, {"name", name}, {"gpus", gpus}};
}

TEST(GroupTest, GpusMayBeWrittenInEachForm) {
  Desk desk;
  const Json group = desk.result(create("all", {"1/3", 0x0101, "0x0102", "0X00fF", "255/254", 1}))["group"];
  EXPECT_EQ(group["id"], 1);
  EXPECT_EQ(group["name"], "all");
  EXPECT_EQ(group["members"], (Json{{{"name", "1/3"}, {"id", 259}},
                                    {{"name", "1/1"}, {"id", 257}},
                                    {{"name", "1/2"}, {"id", 258}},
                                    {{"name", "0/255"}, {"id", 255}},
                                    {{"name", "255/254"}, {"id", 65534}},
                                    {{"name", "0/1"}, {"id", 1}}}));
  EXPECT_EQ(desk.result("group_dump"), (Json{{"size", 1}, {"groups", {group}}}));
  EXPECT_EQ(desk.managed.fabric_switch().groups().list()[0].members[0], GpuId{0x0103});
}

TEST(GroupTest, WhatIsNoGpuIsRefused) {
  Desk desk;
  for (const Json& gpu : {Json("1"),
                          Json("1/"),
                          Json("/1"),
                          Json("1/256"),
                          Json("256/0"),
                          Json("0/0"),
                          Json("255/255"),
                          Json("0x"),
                          Json("0x10000"),
                          Json("0x0000"),
                          Json(" 1/1"),
                          Json("-1/1"),
                          Json("1/1/1"),
                          Json(""),
                          Json(1.5),
                          Json(nullptr),
                          Json::array(),
                          Json::object(),
                          Json(std::string(5000, '1')),
                          Json("1/\xC3\xA9")}) {
    EXPECT_EQ(desk.refusal(create("x", {"1/1", gpu})), "bad_field gpus") << gpu;
  }
  for (const Json& gpu : {Json(0), Json(65535), Json(65536 + 257), Json(-1), Json(UINT64_MAX)})
    EXPECT_EQ(desk.refusal(create("x", {"1/1", gpu})), "out_of_range gpus") << gpu;
  EXPECT_EQ(desk.refusal(create("x", Json::array())), "out_of_range gpus");
  EXPECT_EQ(desk.refusal(create("x", {1, 2, 3, 4, 5, 6, 7, 8, 9})), "out_of_range gpus");
  EXPECT_EQ(desk.refusal(create("x", "1/1")), "bad_field gpus");
  EXPECT_EQ(desk.refusal({{"command", "group_create"}, {"name", "x"}}), "missing_field gpus");
}

TEST(GroupTest, AGpuThatStandsTwiceIsRefused) {
  Desk desk;
  EXPECT_EQ(desk.ask(create("x", {"1/1", 257}))["error"]["code"], "bad_field");
  EXPECT_TRUE(desk.managed.fabric_switch().groups().list().empty());
}

TEST(GroupTest, NamesAreChecked) {
  Desk desk;
  const Json gpus{"1/1"};
  EXPECT_EQ(desk.refusal({{"command", "group_create"}, {"gpus", gpus}}), "missing_field name");
  EXPECT_EQ(desk.refusal(create(1, gpus)), "bad_field name");
  EXPECT_EQ(desk.refusal(create("", gpus)), "out_of_range name");
  EXPECT_EQ(desk.refusal(create(std::string(65, 'x'), gpus)), "out_of_range name");
  EXPECT_EQ(desk.refusal(create("17", gpus)), "bad_field name");
  for (const char* name : {"a\nb", "a\x1B[31m", "\x7F", "a\xC2\x9B"})
    EXPECT_EQ(desk.refusal(create(name, gpus)), "bad_field name");
  EXPECT_EQ(desk.refusal(create(std::string("a\0b", 3), gpus)), "bad_field name");
  for (const char* name : {"allred-group", "a b", "1/3", "\xC3\xA9", "\xC2\xA0"})
    EXPECT_EQ(desk.ask(create(name, gpus))["ok"], name != std::string("\xC2\xA0"))
        << name;  // the fifth: full
}

TEST(GroupTest, ANameIsGivenOnceAndTheTableIsBounded) {
  Desk desk;
  for (const char* name : {"a", "b", "c", "d"})
    desk.result(create(name, {"1/1"}));
  EXPECT_EQ(desk.refusal(create("a", {"1/1"})), "exists name");
  EXPECT_EQ(desk.ask(create("e", {"1/1"}))["error"]["code"], "full");
  EXPECT_EQ(desk.result("group_dump")["size"], 4);
}

TEST(GroupTest, IsDeletedByIdOrName) {
  Desk desk;
  for (const char* name : {"a", "b", "c"})
    desk.result(create(name, {"1/1"}));
  EXPECT_EQ(desk.result({{"command", "group_delete"}, {"group", "b"}})["group"]["id"], 2);
  EXPECT_EQ(desk.result({{"command", "group_delete"}, {"group", 3}})["group"]["name"], "c");
  EXPECT_EQ(desk.result("group_dump")["size"], 1);
  EXPECT_EQ(desk.refusal({{"command", "group_delete"}, {"group", 3}}), "not_found group");
  EXPECT_EQ(desk.refusal({{"command", "group_delete"}, {"group", "b"}}), "not_found group");
  EXPECT_EQ(desk.refusal({{"command", "group_delete"}, {"group", 0}}), "out_of_range group");
  EXPECT_EQ(desk.refusal({{"command", "group_delete"}, {"group", 1ull << 32}}), "out_of_range group");
  EXPECT_EQ(desk.refusal({{"command", "group_delete"}}), "missing_field group");
  // IDs are not given again.
  EXPECT_EQ(desk.result(create("d", {"1/1"}))["group"]["id"], 4);
}

TEST(GroupTest, AllPagesTogetherAreTheTable) {
  fabric_switch::SwitchConfig config = small_rack();
  config.max_groups = 16;
  config.max_group_members = 1024;
  Desk desk(config);
  for (int group = 0; group < 10; ++group) {
    Json gpus = Json::array();
    for (int gpu = 1; gpu <= (group == 5 ? 1 : 250); ++gpu)
      gpus.push_back(gpu);
    desk.result(create("g" + std::to_string(group), gpus));
  }
  Json ids = Json::array();
  Json sizes = Json::array();
  Json request{{"command", "group_dump"}};
  while (true) {
    const Json dump = desk.result(request);
    EXPECT_EQ(dump["size"], 10);
    sizes.push_back(dump["groups"].size());
    for (const Json& group : dump["groups"])
      ids.push_back(group["id"]);
    if (!dump.contains("next")) break;
    request["after"] = dump["next"];
  }
  EXPECT_EQ(ids, (Json{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(sizes, (Json{2, 2, 3, 2, 1}));

  const Json three = desk.result({{"command", "group_dump"}, {"after", 8}, {"limit", 1}});
  EXPECT_EQ(three["groups"].size(), 1u);
  EXPECT_EQ(three["next"], 9);
}

// Without entries, groups or ports everything still answers.
TEST(TableTest, EmptyTables) {
  Desk desk;
  EXPECT_EQ(desk.result("gpu_fdb_dump"), (Json{{"size", 0}, {"entries", Json::array()}}));
  EXPECT_EQ(desk.result("group_dump"), (Json{{"size", 0}, {"groups", Json::array()}}));
  EXPECT_EQ(names_of(desk.result("gpu_fdb_dump")["entries"]), Json::array());
}

}  // namespace
}  // namespace cnuas::live
