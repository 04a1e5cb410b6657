#include "live/ccl/flight/diagnosis.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace cnuas::live::flight {
namespace {

constexpr const char* kPeerAborted = "CNUASCCL_PEER_ABORTED";
constexpr const char* kTimeout = "CNUASCCL_TIMEOUT";
constexpr std::int64_t kMilli = 1'000'000;

using Ranks = std::vector<std::size_t>;

std::string milliseconds(std::int64_t nanoseconds) {
  return std::to_string(nanoseconds / kMilli) + " ms";
}

class Examiner {
 public:
  explicit Examiner(Diagnosis& out) : out_(out) {}

  // Looks at collectives from the oldest that is known to the last that anybody began: the first that went
  // wrong is what counts, what follows from it is not.
  void examine() {
    std::set<std::uint64_t> sequences;
    for (const Dump* dump : out_.dumps) {
      if (dump == nullptr) continue;
      for (const Entry& entry : dump->entries)
        sequences.insert(entry.sequence);
    }
    // Who is told in one collective that another rank has given up in a later one is no news: that is.
    std::optional<std::uint64_t> told;
    for (const std::uint64_t sequence : sequences) {
      look_at(sequence);
      if (mismatch()) return;
      if (only_told()) {
        if (!told) told = sequence;
      } else if (late_or_failed()) {
        return;
      }
    }
    if (told) {
      gave_up_.clear();
      look_at(*told);
      if (mismatch() || late_or_failed()) return;
    }
    out_.verdict = Verdict::well;
    out_.culprits.clear();
    out_.call.clear();
    out_.sequence = 0;
    out_.text = "nothing has failed, and nobody is waited for";
  }

 private:
  std::string named(std::size_t rank) const {
    return "rank " + std::to_string(rank) + " (GPU " + out_.gpus[rank] + ")";
  }
  std::string named(const Ranks& ranks) const {
    std::string text;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      text += (i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ") + named(ranks[i]);
    return text;
  }

  void look_at(std::uint64_t sequence) {
    out_.sequence = sequence;
    entries_.assign(out_.dumps.size(), nullptr);
    outside_.clear();
    entered_.clear();
    for (std::size_t rank = 0; rank < out_.dumps.size(); ++rank) {
      const Dump* dump = out_.dumps[rank];
      if (dump == nullptr) continue;
      entries_[rank] = dump->entry(sequence);
      if (entries_[rank] != nullptr) entered_.push_back(rank);
      if (dump->begun <= sequence && gave_up_.count(rank) == 0) outside_.push_back(rank);
    }
  }

  void say(Verdict verdict, Ranks culprits, std::string text) {
    out_.verdict = verdict;
    out_.culprits = std::move(culprits);
    out_.text = std::move(text);
  }

  // Also decides what most ranks called.
  bool mismatch() {
    std::map<std::string, Ranks> calls;
    for (const std::size_t rank : entered_)
      calls[entries_[rank]->call].push_back(rank);
    std::size_t most = 0;
    for (const auto& [call, ranks] : calls) {
      if (ranks.size() <= most) continue;
      most = ranks.size();
      out_.call = call;
    }
    if (calls.size() < 2) return false;
    Ranks culprits;
    std::string text;
    std::size_t as_many = 0;
    for (const auto& [call, ranks] : calls) {
      as_many += ranks.size() == most ? 1 : 0;
      if (call == out_.call) continue;
      culprits.insert(culprits.end(), ranks.begin(), ranks.end());
      text += (text.empty() ? "" : "; ") + named(ranks) + " called " + call;
    }
    text += ", where " + named(calls[out_.call]) + " called " + out_.call;
    if (as_many > 1) {  // no majority to go by
      culprits = entered_;
      text += "; neither is in the majority";
    }
    std::sort(culprits.begin(), culprits.end());
    say(Verdict::mismatch, std::move(culprits), std::move(text));
    return true;
  }

  // Whether those that did not get through only heard that others had given up. They will enter no other.
  bool only_told() {
    Ranks told;
    for (const std::size_t rank : entered_) {
      if (entries_[rank]->state == Entry::State::done) continue;
      if (entries_[rank]->status != kPeerAborted) return false;
      told.push_back(rank);
    }
    gave_up_.insert(told.begin(), told.end());
    return !told.empty();
  }

  bool late_or_failed() {
    Ranks waiting;
    bool failed = false;
    for (const std::size_t rank : entered_) {
      if (entries_[rank]->state != Entry::State::done) waiting.push_back(rank);
      failed = failed || entries_[rank]->state == Entry::State::failed;
    }
    if (waiting.empty()) return false;
    if (!outside_.empty()) {
      say(Verdict::straggler, outside_,
          named(outside_) + (outside_.size() == 1 ? " has" : " have") + " not entered the collective that " +
              named(waiting) + (failed ? " waited in" : " waits in"));
      return true;
    }
    if (const std::optional<std::size_t> blamed = follow(most_blamed(waiting))) {
      blame(*blamed, waiting);
      return true;
    }
    return without_culprit(waiting, failed);
  }

  // Whom those that failed by themselves hold responsible, most of all.
  std::optional<std::size_t> most_blamed(const Ranks& waiting) const {
    for (const bool first_hand : {true, false}) {
      std::map<std::size_t, std::size_t> votes;
      for (const std::size_t rank : waiting) {
        const Entry& entry = *entries_[rank];
        if (entry.culprit && (entry.status != kPeerAborted) == first_hand) ++votes[*entry.culprit];
      }
      const auto most = std::max_element(votes.begin(), votes.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      if (most != votes.end()) return most->first;
    }
    return std::nullopt;
  }

  // Who is waited for may have waited for another one.
  std::optional<std::size_t> follow(std::optional<std::size_t> blamed) const {
    std::set<std::size_t> seen;
    while (blamed && seen.insert(*blamed).second) {
      const Entry* entry = entries_[*blamed];
      if (entry == nullptr || entry->status != kTimeout || !entry->culprit) return blamed;
      blamed = entry->culprit;
    }
    return blamed;
  }

  Ranks those_who_blame(std::size_t rank, const Ranks& waiting) const {
    Ranks found;
    for (const std::size_t each : waiting)
      if (entries_[each]->culprit == rank && entries_[each]->status != kPeerAborted) found.push_back(each);
    return found.empty() ? waiting : found;
  }

  // How long after the first of `others` a rank entered, if that was most of the time they waited.
  std::optional<std::int64_t> lateness(const Entry& entry, const Ranks& others) const {
    const Entry* first = nullptr;
    for (const std::size_t rank : others)
      if (first == nullptr || entries_[rank]->began_unix_ns < first->began_unix_ns) first = entries_[rank];
    if (first == nullptr || !first->took_ns) return std::nullopt;
    const std::int64_t late = entry.began_unix_ns - first->began_unix_ns;
    return late > *first->took_ns / 2 ? std::optional(late) : std::nullopt;
  }

  void blame(std::size_t rank, const Ranks& waiting) {
    const Ranks by = those_who_blame(rank, waiting);
    const Entry* own = entries_[rank];
    const Entry& first_hand = *entries_[by.front()];
    if (out_.dumps[rank] == nullptr) {
      say(Verdict::absent, {rank},
          named(rank) + " has left no dump, and " + named(by) + " had " + first_hand.status +
              " on its account: it has died, or stands still");
    } else if (own == nullptr) {
      say(Verdict::failed, {rank},
          named(by) + " had " + first_hand.status + " on account of " + named(rank) +
              ", which has forgotten the collective");
    } else if (const auto late = lateness(*own, by)) {
      say(Verdict::straggler, {rank},
          named(rank) + " entered the collective " + milliseconds(*late) + " after " + named(by.front()) +
              ", which had " + first_hand.status);
    } else {
      say(Verdict::failed, {rank},
          named(by) + " had " + first_hand.status + " on account of " + named(rank) + ": " +
              first_hand.error);
    }
  }

  bool without_culprit(const Ranks& waiting, bool failed) {
    Ranks absent;
    for (std::size_t rank = 0; rank < out_.dumps.size(); ++rank)
      if (out_.dumps[rank] == nullptr) absent.push_back(rank);
    if (!failed && absent.empty()) {
      say(Verdict::running, {},
          named(waiting) + (waiting.size() == 1 ? " is" : " are") +
              " in the collective, which nobody has given up");
      return true;
    }
    if (!failed) {
      say(Verdict::absent, absent,
          named(absent) + " left no dump, and " + named(waiting) + " did not get through the collective");
      return true;
    }
    // Who failed, and says nothing about others: its own link, its own memory, its own decision.
    Ranks own;
    for (const std::size_t rank : waiting)
      if (entries_[rank]->state == Entry::State::failed && entries_[rank]->status != kPeerAborted)
        own.push_back(rank);
    const Entry& entry = *entries_[own.empty() ? waiting.front() : own.front()];
    say(Verdict::failed, own,
        named(own.empty() ? waiting : own) + " had " + entry.status +
            (entry.error.empty() ? "" : ": " + entry.error));
    return true;
  }

  Diagnosis& out_;
  std::vector<const Entry*> entries_;  // by rank: those of the collective that is looked at
  Ranks entered_;                      // those that have one
  Ranks outside_;                      // those with a dump that had not begun it, and might
  std::set<std::size_t> gave_up_;      // those that were told before it
};

}  // namespace

const char* name(Verdict verdict) {
  switch (verdict) {
    case Verdict::well:
      return "well";
    case Verdict::mismatch:
      return "mismatch";
    case Verdict::straggler:
      return "straggler";
    case Verdict::absent:
      return "absent";
    case Verdict::failed:
      return "failed";
    case Verdict::running:
      break;
  }
  return "running";
}

std::vector<Diagnosis> diagnose(const std::vector<Dump>& dumps, std::vector<std::string>& left_out) {
  std::vector<Diagnosis> all;
  for (const Dump& dump : dumps) {
    const auto same = [&](const Diagnosis& each) { return each.communicator == dump.communicator; };
    auto found = std::find_if(all.begin(), all.end(), same);
    if (found == all.end()) {
      Diagnosis diagnosis;
      diagnosis.communicator = dump.communicator;
      diagnosis.gpus = dump.gpus;
      diagnosis.dumps.resize(dump.gpus.size());
      found = all.insert(all.end(), std::move(diagnosis));
    }
    if (found->gpus != dump.gpus) {
      left_out.push_back(dump.file + ": its ranks are not those of the other dumps of this communicator");
      continue;
    }
    const Dump*& place = found->dumps[dump.rank];
    if (place != nullptr) {
      const Dump& older = place->dumped_unix_ns <= dump.dumped_unix_ns ? *place : dump;
      const Dump& newer = &older == place ? dump : *place;
      left_out.push_back(older.file + ": " + newer.file + " is a later dump of the same rank");
    }
    if (place == nullptr || place->dumped_unix_ns <= dump.dumped_unix_ns) place = &dump;
  }
  for (Diagnosis& each : all)
    Examiner(each).examine();
  return all;
}

}  // namespace cnuas::live::flight
