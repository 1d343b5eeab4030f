// The arrays of running statistics as records. Indices that are read from them are compared before they are used, since the
// arrays are the caller's memory.
#pragma once

#include <algorithm>
#include <cmath>

#include "support/common.h"

namespace skein {
namespace events {

// The side of a node in an event.
enum Side : i64 { kSource = 0, kDestination = 1 };

// Integers of a node on one side. Partners are stored as node + 1; 0 means none.
enum NodeInt { kEvents, kDistinct, kRun, kRepeats, kLastEvent, kNewestPair, kRelatedStart, kRelatedSize, kRecent };
constexpr i64 kRecentPartners = 10;
constexpr i64 kLastPartners = 8;
constexpr i64 kLast = kRecent + kRecentPartners;
constexpr i64 kNodeInts = kLast + kLastPartners;

// Floats of a node on one side: five fading counts, then moving averages.
enum NodeValue { kFading = 0, kHabit = 5, kNewPairs, kGap };
constexpr i64 kFadings = 5;
constexpr i64 kNodeValues = 8;

// kOlderPair is the pair, + 1, that the source met for the first time before this one.
enum PairInt { kPairSrc, kPairDst, kCount, kSrcEvents, kDstEvents, kVisits, kOlderPair };
constexpr i64 kPairInts = 7;
constexpr i64 kPairFadings = 3;
constexpr i64 kPairGap = 3;
constexpr i64 kPairValues = 4;
// Which of the five half-lives the fading counts of pairs and the activity of sources use.
constexpr i64 kPairHalfLife[kPairFadings] = {1, 3, 4};

enum Total { kAllEvents, kPairs, kRelatedUsed };

// How two nodes of one side are related: partners in common, and how often one followed the other.
enum Relation { kCommon, kNext, kPrevious };
constexpr i64 kRelations = 3;
// Entries of a row: 4, 8, … 128; then the weakest is replaced.
constexpr i64 kMostRelated = 128;
constexpr i64 kLeastRelated = 4;
// Earlier partners that a new pair relates to the new partner.
constexpr i64 kRelatedPartners = 12;
// More than the entries that one event can take: each of up to 28 rows may move to a block of the largest size, two of them often.
constexpr i64 kRelatedSlack = 50 * kMostRelated;

constexpr double kPairRate = 0.3;
constexpr double kNodeRate = 0.1;

struct Store {
  i32* node_ints;
  double* node_times;
  float* node_values;
  i32* pair_ints;
  double* pair_times;
  float* pair_values;
  i32* pair_slots;
  i32* related_ids;
  float* related_counts;
  i32* totals;
  i64 num_nodes, pair_room, slot_count, related_room;
  // 1 / unit of ages, then 1 / half-life of each fading count, the shortest first.
  const double* clock;

  bool has_node(i64 node) const { return static_cast<u64>(node) < static_cast<u64>(num_nodes); }
  i32* ints(i64 node, Side side) const { return node_ints + (2 * node + side) * kNodeInts; }
  double& time(i64 node, Side side) const { return node_times[2 * node + side]; }
  float* values(i64 node, Side side) const { return node_values + (2 * node + side) * kNodeValues; }

  // The slot of a pair: that of its record, or a free one.
  i64 slot_of(i64 src, i64 dst) const {
    const u64 mask = static_cast<u64>(slot_count - 1);
    u32 h = static_cast<u32>(src) * 0x9E3779B1u ^ static_cast<u32>(dst) * 0x85EBCA77u;
    h ^= h >> 15;
    h *= 0x2C1B3C6Du;
    h ^= h >> 13;
    u64 at = h & mask;
    for (i64 tries = 0; tries < slot_count; ++tries, at = (at + 1) & mask) {
      const i64 pair = i64{pair_slots[at]} - 1;
      if (!has_pair(pair)) break;
      const i32* record = pair_ints + pair * kPairInts;
      if (record[kPairSrc] == src && record[kPairDst] == dst) break;
    }
    return static_cast<i64>(at);
  }
  bool has_pair(i64 pair) const { return pair >= 0 && pair < totals[kPairs] && pair < pair_room; }
  // The index of a pair, or -1.
  i64 find(i64 src, i64 dst) const {
    const i64 pair = i64{pair_slots[slot_of(src, dst)]} - 1;
    return has_pair(pair) ? pair : -1;
  }
  // The related nodes of a node: where its row begins, and how many there are.
  i64 related(i64 node, Side side, i64& size) const {
    const i32* own = ints(node, side);
    const i64 start = own[kRelatedStart];
    size = std::clamp<i64>(own[kRelatedSize], 0, kMostRelated);
    if (start < 0 || start + size > related_room) size = 0;
    return start;
  }
  bool has_room() const {
    return totals[kPairs] >= 0 && totals[kRelatedUsed] >= 0 && totals[kPairs] < pair_room && 2 * (i64{totals[kPairs]} + 1) <= slot_count &&
           totals[kRelatedUsed] + kRelatedSlack <= related_room;
  }
};

// Ages and counts on a logarithmic scale.
inline double log_of(double x) { return std::log(1.0 + x); }
// In the precision of the counts that it multiplies.
inline float decay(double age, double rate) { return std::exp2(static_cast<float>(-age * rate)); }

void observe(const Store& store, i64 src, i64 dst, double time);

}  // namespace events
}  // namespace skein
