// Which frames a switch takes, and what it learns from them.
#include "tests/switch/bench.h"
#include "tests/wire/bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cnuas::fabric_switch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using wire::FrameType;

// --- Decode -----------------------------------------------------------------------------------------------

TEST(Decode, EveryMessageThatIsNoFrameIsDroppedAndCountedByReason) {
  const std::pair<wire::Bytes, DropReason> messages[] = {
      {{}, DropReason::empty},
      {wire::hex("48 4C"), DropReason::short_header},
      {wire::Bytes(65'537), DropReason::oversize},
      {wire::hex("00 4C 01 01 01 00 01 01 00 00 00 00"), DropReason::bad_magic},
      {wire::hex("48 4C 02 01 01 00 01 01 00 00 00 00"), DropReason::bad_version},
      {wire::hex("48 4C 01 08 01 00 01 01 00 00 00 00"), DropReason::unknown_type},
      {wire::hex("48 4C 01 01 01 00 01 01 00 00 00 01"), DropReason::length_mismatch},
      {wire::hex("48 4C 01 01 FF FF 01 01 00 00 00 00"), DropReason::bad_source},
      {wire::hex("48 4C 01 01 01 00 00 00 00 00 00 00"), DropReason::bad_destination},
  };
  Bench bench(rack_config(2));
  std::uint64_t bytes = 0;
  for (const auto& [message, reason] : messages) {
    bench.out.clear();
    bench.fabric.receive(0, message, 7, bench.now, bench.out);
    bytes += message.size();
    EXPECT_THAT(bench.out.released, ElementsAre(7));
    EXPECT_EQ(bench.rx_drops(0, reason), 1u) << name(reason);
  }
  EXPECT_EQ(bench.fabric.counters(0).by_type[0].rx_frames, 9u);
  EXPECT_EQ(bench.fabric.counters(0).by_type[0].rx_bytes, bytes);
  EXPECT_EQ(bench.fabric.fdb().size(), 0u);
}

TEST(Decode, AFrameOfBytesGoesTheSameWayAsItsHeader) {
  Bench bench(rack_config(2));
  bench.announce(1, gpu(1, 1));
  bench.out.clear();
  bench.fabric.receive(0, wire::hex("4C 48 01 01 00 01 01 01 03 00 00 00 AA BB CC"), 9, bench.now, bench.out);
  EXPECT_THAT(bench.out.ready, ElementsAre(1));
  EXPECT_THAT(bench.drain(1), ElementsAre("DATA 1/0 > 1/1 #9"));
  EXPECT_EQ(bench.fabric.counters(1).total().tx_bytes, 15u);
}

TEST(Decode, HeadersThatNoMessageCanHaveAreDropped) {
  Bench bench(rack_config(2, 1));
  bench.receive(0, header(kNoGpu, gpu(1, 1)));
  bench.receive(0, header(kBroadcast, gpu(1, 1)));
  bench.receive(2, header(kBroadcast, gpu(1, 1)));
  EXPECT_EQ(bench.rx_drops(0, DropReason::bad_source), 2u);
  EXPECT_EQ(bench.rx_drops(2, DropReason::bad_source), 1u);
  bench.receive(0, header(gpu(1, 0), kNoGpu));
  EXPECT_EQ(bench.rx_drops(0, DropReason::bad_destination), 1u);
}

// --- Byte order -------------------------------------------------------------------------------------------

TEST(ByteOrder, EveryEndpointIsSpokenToInItsOwn) {
  Bench bench(rack_config(3));
  wire::FrameHeader little = header(gpu(1, 1), kBroadcast, FrameType::discovery);
  little.order = wire::ByteOrder::little;
  bench.receive(1, little);
  bench.announce(2, gpu(1, 2));
  EXPECT_EQ(bench.fabric.status(0).order, wire::ByteOrder::big);
  EXPECT_EQ(bench.fabric.status(1).order, wire::ByteOrder::little);

  bench.receive(0, header(gpu(1, 0), kBroadcast));
  EXPECT_EQ(bench.fabric.front(1)->header.order, wire::ByteOrder::little);
  EXPECT_EQ(bench.fabric.front(2)->header.order, wire::ByteOrder::big);

  bench.link_down(1);
  EXPECT_EQ(bench.fabric.status(1).order, wire::ByteOrder::big);
}

// --- Link state -------------------------------------------------------------------------------------------

TEST(LinkState, APortThatIsDownDropsWhatItReceives) {
  Bench bench(rack_config(2));
  bench.link_down(0);
  bench.receive(0, header(gpu(1, 0), gpu(1, 1)));
  bench.link_up(0);
  bench.admin(0, false);
  bench.receive(0, header(gpu(1, 0), gpu(1, 1)));
  EXPECT_EQ(bench.rx_drops(0, DropReason::port_down), 2u);
  EXPECT_EQ(bench.port_of(gpu(1, 0)), Fdb::kNoPort);
}

TEST(LinkState, APortCarriesWhenPeerAndOperatorSayUp) {
  Bench bench(rack_config(1));
  EXPECT_TRUE(bench.fabric.carries(0));
  bench.admin(0, false);
  EXPECT_FALSE(bench.fabric.carries(0));
  bench.link_down(0);
  bench.admin(0, true);
  EXPECT_FALSE(bench.fabric.carries(0));
  bench.link_up(0);
  EXPECT_TRUE(bench.fabric.carries(0));
  const Switch::PortStatus status = bench.fabric.status(0);
  EXPECT_TRUE(status.admin_up && status.link_up);
}

// --- Sources at gpu ports ---------------------------------------------------------------------------------

TEST(AntiSpoofing, TheFirstSourceBindsAPortUntilItsLinkGoesDown) {
  Bench bench(rack_config(2));
  bench.announce(0, gpu(1, 5));
  EXPECT_EQ(bench.fabric.status(0).gpu, gpu(1, 5));
  bench.announce(0, gpu(1, 6));
  EXPECT_EQ(bench.rx_drops(0, DropReason::spoofed_source), 1u);
  EXPECT_EQ(bench.port_of(gpu(1, 6)), Fdb::kNoPort);

  bench.link_down(0);
  EXPECT_EQ(bench.fabric.status(0).gpu, kNoGpu);
  bench.link_up(0);
  bench.announce(0, gpu(1, 6));
  EXPECT_EQ(bench.port_of(gpu(1, 6)), 0);
}

TEST(AntiSpoofing, APortWithAnExpectedGpuTakesNoOther) {
  SwitchConfig config = rack_config(2);
  config.ports[0].expected = gpu(1, 5);
  Bench bench(std::move(config));
  bench.announce(0, gpu(1, 6));
  EXPECT_EQ(bench.rx_drops(0, DropReason::spoofed_source), 1u);
  bench.announce(0, gpu(1, 5));
  EXPECT_EQ(bench.all_drops(), 1u);
}

TEST(AntiSpoofing, AGpuOfAnotherRackIsNotHere) {
  Bench bench(rack_config(1));
  bench.announce(0, gpu(2, 0));
  EXPECT_EQ(bench.rx_drops(0, DropReason::spoofed_source), 1u);
}

TEST(AntiSpoofing, ASwitchWithoutARackTakesGpusOfAny) {
  SwitchConfig config = rack_config(2);
  config.rack = 0;
  Bench bench(std::move(config));
  bench.announce(0, gpu(1, 0));
  bench.announce(1, gpu(2, 0));
  EXPECT_EQ(bench.all_drops(), 0u);
}

TEST(AntiSpoofing, AnIdAtAnotherGpuPortIsADuplicate) {
  Bench bench(rack_config(2));
  bench.announce(0, gpu(1, 5));
  bench.announce(1, gpu(1, 5));
  EXPECT_EQ(bench.rx_drops(1, DropReason::duplicate_source), 1u);
  EXPECT_EQ(bench.port_of(gpu(1, 5)), 0);
  EXPECT_EQ(bench.fabric.status(1).gpu, kNoGpu);
  bench.link_down(0);
  bench.announce(1, gpu(1, 5));
  EXPECT_EQ(bench.port_of(gpu(1, 5)), 1);
}

TEST(AntiSpoofing, AnIdThatAnotherPortExpectsIsADuplicateEvenWhileThatPortIsDown) {
  SwitchConfig config = rack_config(2);
  config.ports[0].expected = gpu(1, 5);
  Bench bench(std::move(config));
  bench.link_down(0);
  bench.announce(1, gpu(1, 5));
  EXPECT_EQ(bench.rx_drops(1, DropReason::duplicate_source), 1u);
}

// --- Sources at inter_switch ports ------------------------------------------------------------------------

TEST(AntiSpoofing, AnInterSwitchPortBringsAnySource) {
  Bench bench(rack_config(1, 1));
  bench.announce(1, gpu(2, 0));
  bench.announce(1, gpu(3, 0));
  EXPECT_EQ(bench.port_of(gpu(2, 0)), 1);
  EXPECT_EQ(bench.port_of(gpu(3, 0)), 1);
  EXPECT_EQ(bench.all_drops(), 0u);
}

TEST(Loop, ALocalSourceFromAnotherSwitchIsDropped) {
  Bench bench(rack_config(1, 1));
  bench.announce(0, gpu(1, 0));
  bench.announce(1, gpu(1, 0));
  bench.receive(1, header(gpu(1, 0), kBroadcast));
  EXPECT_EQ(bench.rx_drops(1, DropReason::loop), 2u);
  EXPECT_EQ(bench.port_of(gpu(1, 0)), 0);
}

TEST(Loop, ASourceThatIsExpectedHereIsDroppedEvenBeforeItIsHere) {
  SwitchConfig config = rack_config(1, 1);
  config.ports[0].expected = gpu(1, 0);
  Bench bench(std::move(config));
  bench.link_down(0);
  bench.announce(1, gpu(1, 0));
  EXPECT_EQ(bench.rx_drops(1, DropReason::loop), 1u);
}

TEST(Loop, ABroadcastThatComesByASecondLinkIsDropped) {
  Bench bench(rack_config(1, 2));
  bench.receive(1, header(gpu(2, 0), kBroadcast));
  bench.receive(2, header(gpu(2, 0), kBroadcast));
  EXPECT_EQ(bench.rx_drops(2, DropReason::loop), 1u);
  EXPECT_EQ(bench.port_of(gpu(2, 0)), 1);
}

TEST(Loop, ASecondAnnouncementTeachesNothing) {
  Bench bench(rack_config(1, 2));
  bench.announce(1, gpu(2, 0));
  bench.announce(2, gpu(2, 0));
  EXPECT_EQ(bench.port_of(gpu(2, 0)), 1);
  EXPECT_EQ(bench.fabric.counters(2).total().consumed, 1u);
  EXPECT_THAT(bench.drain(1), IsEmpty());
}

// --- Learning ---------------------------------------------------------------------------------------------

TEST(Learning, EveryTypeOfFrameTeachesItsSource) {
  for (std::uint8_t type = 1; type <= wire::kFrameTypes; ++type) {
    Bench bench(rack_config(2, 1));
    bench.receive(0, header(gpu(1, 5), gpu(1, 6), static_cast<FrameType>(type)));
    EXPECT_EQ(bench.port_of(gpu(1, 5)), 0) << wire::name(static_cast<FrameType>(type));
    bench.receive(2, header(gpu(2, 5), gpu(1, 6), static_cast<FrameType>(type)));
    EXPECT_EQ(bench.port_of(gpu(2, 5)), 2);
  }
}

TEST(Learning, AFrameForOneGpuMovesItsSourceFromOneLinkToAnother) {
  Bench bench(rack_config(1, 2));
  bench.announce(0, gpu(1, 0));
  bench.announce(1, gpu(2, 0));
  bench.drain(1);
  bench.receive(2, header(gpu(2, 0), gpu(1, 0)));
  EXPECT_EQ(bench.port_of(gpu(2, 0)), 2);
  EXPECT_THAT(bench.drain(1), ElementsAre("DISCOVERY 2/0 > all"));
}

TEST(Learning, AGpuAtAnotherSwitchMayMoveToAPortHere) {
  Bench bench(rack_config(1, 1));
  bench.announce(1, gpu(1, 0));
  bench.announce(0, gpu(1, 0));
  EXPECT_EQ(bench.port_of(gpu(1, 0)), 0);
  EXPECT_EQ(bench.all_drops(), 0u);
}

TEST(Learning, EntriesSayWhetherTheyAreConfigured) {
  SwitchConfig config = rack_config(2);
  config.ports[0].expected = gpu(1, 0);
  Bench bench(std::move(config));
  bench.announce(1, gpu(1, 1));
  EXPECT_THAT(bench.fabric.fdb().entries(), ElementsAre(FdbEntry{gpu(1, 0), 0, FdbOrigin::configured},
                                                        FdbEntry{gpu(1, 1), 1, FdbOrigin::learned}));
}

TEST(Learning, AConfiguredGpuIsKnownWhileItsLinkIsUp) {
  SwitchConfig config = rack_config(2);
  config.ports[0].expected = gpu(1, 0);
  Bench bench(std::move(config));
  EXPECT_EQ(bench.port_of(gpu(1, 0)), 0);
  bench.admin(0, false);
  EXPECT_EQ(bench.port_of(gpu(1, 0)), Fdb::kNoPort);
  bench.admin(0, true);
  EXPECT_EQ(bench.port_of(gpu(1, 0)), 0);
}

// --- Silence ----------------------------------------------------------------------------------------------

SwitchConfig with_keepalive(SwitchConfig config) {
  config.keepalive_timeout_ps = kMillisecond;
  return config;
}

TEST(Keepalive, ASilentGpuLeavesAndComesBackWithItsNextFrame) {
  Bench bench(with_keepalive(rack_config(2)));
  bench.announce(0, gpu(1, 0));
  bench.advance(kMillisecond - 1);
  EXPECT_EQ(bench.port_of(gpu(1, 0)), 0);
  bench.advance(1);
  EXPECT_EQ(bench.port_of(gpu(1, 0)), Fdb::kNoPort);
  EXPECT_EQ(bench.fabric.next_deadline(), kNever);
  bench.receive(0, header(gpu(1, 0), kBroadcast, FrameType::keepalive));
  EXPECT_EQ(bench.port_of(gpu(1, 0)), 0);
}

TEST(Keepalive, EveryFrameOfAGpuCounts) {
  Bench bench(with_keepalive(rack_config(2)));
  bench.announce(1, gpu(1, 1));
  for (std::uint8_t type = 1; type <= wire::kFrameTypes; ++type) {
    bench.receive(0, header(gpu(1, 0), gpu(1, 1), static_cast<FrameType>(type)));
    bench.advance(kMillisecond - 1);
    EXPECT_EQ(bench.port_of(gpu(1, 0)), 0);
  }
}

TEST(Keepalive, ItsIdStaysReservedForTheSilentGpu) {
  Bench bench(with_keepalive(rack_config(2, 1)));
  bench.announce(0, gpu(1, 0));
  bench.advance(kMillisecond);
  bench.announce(1, gpu(1, 0));
  EXPECT_EQ(bench.rx_drops(1, DropReason::duplicate_source), 1u);
  bench.announce(2, gpu(1, 0));
  EXPECT_EQ(bench.rx_drops(2, DropReason::loop), 1u);
}

TEST(Keepalive, AConfiguredGpuThatNeverSpokeIsNotSilent) {
  SwitchConfig config = with_keepalive(rack_config(2));
  config.ports[0].expected = gpu(1, 0);
  Bench bench(std::move(config));
  bench.advance(kSecond);
  EXPECT_EQ(bench.port_of(gpu(1, 0)), 0);
  bench.announce(0, gpu(1, 0));
  bench.advance(kMillisecond);
  EXPECT_EQ(bench.port_of(gpu(1, 0)), Fdb::kNoPort);
}

TEST(Keepalive, WithoutATimeoutSilenceMeansNothing) {
  Bench bench(rack_config(2));
  bench.announce(0, gpu(1, 0));
  EXPECT_EQ(bench.fabric.next_deadline(), kNever);
  bench.advance(1000 * kSecond);
  EXPECT_EQ(bench.port_of(gpu(1, 0)), 0);
}

TEST(Keepalive, GpusBehindOtherSwitchesAreNotWatched) {
  Bench bench(with_keepalive(rack_config(1, 1)));
  bench.announce(1, gpu(2, 0));
  bench.advance(kSecond);
  EXPECT_EQ(bench.port_of(gpu(2, 0)), 1);
}

}  // namespace
}  // namespace cnuas::fabric_switch
