// Changes of the running statistics by one event.
#include "events/event_store.h"

namespace skein {
namespace events {
namespace {

i64 block_of(i64 size) {
  i64 block = kLeastRelated;
  while (block < size) block *= 2;
  return block;
}

// The position of a node in a row, or -1. Blocks without an early exit are compared as vectors.
i64 position_of(const i32* ids, i64 size, i64 node) {
  constexpr i64 kBlock = 16;
  const i32 wanted = static_cast<i32>(node);
  i64 begin = 0;
  for (; begin + kBlock <= size; begin += kBlock) {
    i32 hits = 0;
    for (i64 i = begin; i < begin + kBlock; ++i) hits |= ids[i] == wanted;
    if (hits != 0) break;
  }
  for (i64 i = begin; i < size; ++i)
    if (ids[i] == wanted) return i;
  return -1;
}

// The entry of `other` in the row of a node. A full row moves to a block of twice the size; one of the largest size loses its
// weakest entry, the first of several.
i64 related_entry(const Store& store, i64 node, i64 other, Side side) {
  i32* own = store.ints(node, side);
  i64 size = 0;
  i64 start = store.related(node, side, size);
  const i64 known = position_of(store.related_ids + start, size, other);
  if (known >= 0) return start + known;
  i64 at = start + size;
  if (size == kMostRelated) {
    float least = INFINITY;
    // No entry is weaker than one that was seen once.
    for (i64 i = 0; i < size && least > 1; ++i) {
      const float* counts = store.related_counts + (start + i) * kRelations;
      const float sum = counts[kCommon] + counts[kNext] + counts[kPrevious];
      if (sum < least) {
        least = sum;
        at = start + i;
      }
    }
    if (at == start + size) at = start;
  } else {
    if (size == 0 || size == block_of(size)) {
      const i64 moved = store.totals[kRelatedUsed];
      store.totals[kRelatedUsed] += static_cast<i32>(block_of(size + 1));
      std::copy_n(store.related_ids + start, size, store.related_ids + moved);
      std::copy_n(store.related_counts + start * kRelations, size * kRelations, store.related_counts + moved * kRelations);
      own[kRelatedStart] = static_cast<i32>(moved);
      at = moved + size;
    }
    own[kRelatedSize] = static_cast<i32>(size + 1);
  }
  store.related_ids[at] = static_cast<i32>(other);
  std::fill_n(store.related_counts + at * kRelations, kRelations, 0.0f);
  return at;
}

void relate(const Store& store, i64 node, i64 other, Side side, Relation relation) {
  store.related_counts[related_entry(store, node, other, side) * kRelations + relation] += 1;
}

// The two ends of a new pair share partners with those that they met before.
void relate_new(const Store& store, i64 src, i64 dst) {
  i64 pair = i64{store.ints(src, kSource)[kNewestPair]} - 1;
  for (i64 k = 0; k < kRelatedPartners && store.has_pair(pair); ++k) {
    const i32* record = store.pair_ints + pair * kPairInts;
    const i64 other = record[kPairDst];
    if (store.has_node(other)) {
      relate(store, dst, other, kDestination, kCommon);
      relate(store, other, dst, kDestination, kCommon);
    }
    pair = i64{record[kOlderPair]} - 1;
  }
  const i32* recent = store.ints(dst, kDestination) + kRecent;
  for (i64 k = 0; k < kRecentPartners && store.has_node(i64{recent[k]} - 1); ++k) {
    relate(store, src, recent[k] - 1, kSource, kCommon);
    relate(store, recent[k] - 1, src, kSource, kCommon);
  }
}

void follow(const Store& store, i64 before, i64 after, Side side) {
  if (!store.has_node(before) || before == after) return;
  relate(store, before, after, side, kNext);
  relate(store, after, before, side, kPrevious);
}

i64 add_pair(const Store& store, i64 src, i64 dst) {
  const i64 pair = store.totals[kPairs];
  const i64 slot = store.slot_of(src, dst);
  store.totals[kPairs] += 1;
  store.pair_slots[slot] = static_cast<i32>(pair + 1);
  i32* record = store.pair_ints + pair * kPairInts;
  i32& newest = store.ints(src, kSource)[kNewestPair];
  std::fill_n(record, kPairInts, 0);
  record[kPairSrc] = static_cast<i32>(src);
  record[kPairDst] = static_cast<i32>(dst);
  record[kOlderPair] = newest;
  newest = static_cast<i32>(pair + 1);
  std::fill_n(store.pair_values + pair * kPairValues, kPairValues, 0.0f);
  return pair;
}

void move_average(float& average, double value, double rate, bool first) {
  average = static_cast<float>(first ? value : average + rate * (value - average));
}

void update_pair(const Store& store, i64 pair, double time, bool returned) {
  i32* record = store.pair_ints + pair * kPairInts;
  float* values = store.pair_values + pair * kPairValues;
  const i32 count = record[kCount];
  if (count > 0) {
    const double age = time - store.pair_times[pair];
    for (i64 h = 0; h < kPairFadings; ++h)
      values[h] = static_cast<float>(values[h] * decay(age, store.clock[1 + kPairHalfLife[h]]));
    move_average(values[kPairGap], log_of(age * store.clock[0]), kPairRate, count == 1);
  }
  for (i64 h = 0; h < kPairFadings; ++h) values[h] += 1;
  record[kCount] = count + 1;
  record[kVisits] += returned ? 1 : 0;
  record[kSrcEvents] = store.ints(record[kPairSrc], kSource)[kEvents] + 1;
  record[kDstEvents] = store.ints(record[kPairDst], kDestination)[kEvents] + 1;
  store.pair_times[pair] = time;
}

// `habit`: how new the partners of a node are, where it is known.
void update_node(const Store& store, i64 node, i64 partner, Side side, double time, bool is_new, double habit) {
  i32* own = store.ints(node, side);
  float* values = store.values(node, side);
  const i32 events = own[kEvents];
  const double age = events > 0 ? time - store.time(node, side) : 0;
  for (i64 h = 0; h < kFadings; ++h)
    values[kFading + h] = static_cast<float>((events > 0 ? values[kFading + h] * decay(age, store.clock[1 + h]) : 0) + 1);
  if (events > 0) move_average(values[kGap], log_of(age * store.clock[0]), kNodeRate, events == 1);
  move_average(values[kHabit], habit, kNodeRate, events == 0);
  move_average(values[kNewPairs], is_new ? 1 : 0, kNodeRate, events == 0);
  i32* recent = own + kRecent;
  const i32 mark = static_cast<i32>(partner + 1);
  const bool repeats = recent[0] == mark;
  own[kRun] = repeats ? own[kRun] + 1 : 1;
  own[kRepeats] += repeats ? 1 : 0;
  own[kDistinct] += is_new ? 1 : 0;
  own[kLast + static_cast<u32>(events) % kLastPartners] = mark;
  own[kEvents] = events + 1;
  own[kLastEvent] = store.totals[kAllEvents];
  store.time(node, side) = time;
  i64 at = 0;
  while (at < kRecentPartners - 1 && recent[at] != mark) ++at;
  for (; at > 0; --at) recent[at] = recent[at - 1];
  recent[0] = mark;
}

}  // namespace

void observe(const Store& store, i64 src, i64 dst, double time) {
  const i32* source = store.ints(src, kSource);
  const i32* target = store.ints(dst, kDestination);
  i64 pair = store.find(src, dst);
  const bool is_new = pair < 0;
  const i64 before = i64{source[kRecent]} - 1;
  const bool source_is_new = source[kEvents] == 0;
  const double target_age = target[kEvents] > 0 ? log_of((time - store.time(dst, kDestination)) * store.clock[0]) : 0;
  if (is_new) relate_new(store, src, dst);
  follow(store, before, dst, kDestination);
  follow(store, i64{target[kRecent]} - 1, src, kSource);
  if (is_new) pair = add_pair(store, src, dst);
  store.totals[kAllEvents] += 1;
  update_pair(store, pair, time, before != dst);
  update_node(store, src, dst, kSource, time, is_new, target_age);
  update_node(store, dst, src, kDestination, time, is_new, source_is_new ? 1 : 0);
}

}  // namespace events
}  // namespace skein
