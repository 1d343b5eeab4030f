#include "events/describe_pair.h"

namespace skein {
namespace events {

Query::Query(const Store& store, i32* slots, Found* found, i32* touched, i64 src, double time, i64 width)
    : store_(store), slots_(slots), found_(found), touched_(touched), src_(src), time_(time), width_(width) {
  find_related();
  if (width_ > kReverseGroup) {
    find_contacts();
    find_conversations();
  }
  describe_source();
}

Query::~Query() {
  for (i64 i = 0; i < count_; ++i) slots_[touched_[i]] = 0;
}

Found* Query::take(i64 node, Side side) {
  if (!store_.has_node(node)) return nullptr;
  i32& slot = slots_[2 * node + side];
  if (slot < 1 || slot > count_) {
    if (count_ == kMostFound) return nullptr;
    touched_[count_] = static_cast<i32>(2 * node + side);
    found_[count_] = Found{};
    slot = static_cast<i32>(++count_);
  }
  return found_ + slot - 1;
}

const Found* Query::find(i64 node, Side side) const {
  const i32 slot = slots_[2 * node + side];
  return slot < 1 || slot > count_ ? nullptr : found_ + slot - 1;
}

void Query::find_related() {
  const i32* recent = store_.ints(src_, kSource) + kRecent;
  i64 size = 0;
  for (i64 k = 0; k < kRecentPartners && store_.has_node(i64{recent[k]} - 1); ++k) {
    const i64 partner = recent[k] - 1;
    const i64 pair = store_.find(src_, partner);
    const float fresh = pair < 0 ? 0 : faded(1, store_.pair_times[pair], 3);
    const i64 start = store_.related(partner, kDestination, size);
    const float share = 1 / std::sqrt(static_cast<float>(std::max(1, store_.ints(partner, kDestination)[kDistinct])));
    for (i64 i = start; i < start + size; ++i) {
      Found* entry = take(store_.related_ids[i], kDestination);
      if (entry == nullptr) continue;
      const float* counts = store_.related_counts + i * kRelations;
      const float cosine = counts[kCommon] * share;
      entry->sums[Found::kPlain] += cosine;
      entry->sums[Found::kWeighted] += cosine / static_cast<float>(1 + k);
      entry->sums[Found::kFaded] += cosine * fresh;
      if (cosine > 0) entry->sums[Found::kHits] += 1;
      if (k == 0) {
        entry->sums[Found::kAfterLast] += counts[kNext];
        entry->sums[Found::kBeforeLast] += counts[kPrevious];
      } else if (k == 1) {
        entry->sums[Found::kAfterSecond] += counts[kNext];
      }
    }
  }
  const i64 start = store_.related(src_, kSource, size);
  for (i64 i = start; i < start + size; ++i) {
    Found* entry = take(store_.related_ids[i], kSource);
    if (entry == nullptr) continue;
    for (i64 r = 0; r < kRelations; ++r) entry->sums[r] += store_.related_counts[i * kRelations + r];
  }
}

void Query::describe_source() {
  const i32* own = store_.ints(src_, kSource);
  const float* values = store_.values(src_, kSource);
  const double then = store_.time(src_, kSource);
  float* x = source_;
  if (own[kEvents] == 0) {
    std::fill_n(x, kProductGroup - kSourceGroup, 0.0f);
    *x = 1;
    return;
  }
  const float events = static_cast<float>(own[kEvents]);
  *x++ = 0;
  *x++ = log1(events);
  *x++ = log_age(then);
  *x++ = log1(static_cast<float>(own[kDistinct]));
  *x++ = static_cast<float>(own[kRepeats]) / events;
  *x++ = static_cast<float>(own[kDistinct]) / events;
  *x++ = values[kHabit];
  *x++ = values[kNewPairs];
  *x++ = log1(static_cast<float>(own[kRun]));
  for (i64 h = 0; h < kPairFadings; ++h) *x++ = log1(faded(values[kFading + kPairHalfLife[h]], then, kPairHalfLife[h]));
  *x++ = log_age(then) - values[kGap];
}

float Query::rank_in(const i32* recent, i64 node) const {
  i64 rank = 0;
  while (rank < kRecentPartners && recent[rank] != node + 1) ++rank;
  return static_cast<float>(rank);
}

void Query::describe_pair(i64 dst, i64 pair, float* x) const {
  if (pair < 0) {
    std::fill_n(x, kDestinationGroup, 0.0f);
    return;
  }
  const i32* record = store_.pair_ints + pair * kPairInts;
  const float* values = store_.pair_values + pair * kPairValues;
  const i32* source = store_.ints(src_, kSource);
  const i32* target = store_.ints(dst, kDestination);
  const double then = store_.pair_times[pair];
  const float count = static_cast<float>(record[kCount]);
  const float age = log_age(then);
  const float rank = rank_in(source + kRecent, dst);
  const float since = static_cast<float>(source[kEvents] - record[kSrcEvents]);
  *x++ = 1;
  *x++ = age;
  *x++ = log1(count);
  *x++ = count / static_cast<float>(std::max(1, source[kEvents]));
  *x++ = rank == 0 ? 1 : 0;
  *x++ = rank == 1 ? 1 : 0;
  *x++ = rank == 2 ? 1 : 0;
  *x++ = log1(rank);
  *x++ = 1 / (1 + rank);
  for (i64 h = 0; h < kPairFadings; ++h) *x++ = log1(faded(values[h], then, kPairHalfLife[h]));
  *x++ = log1(since);
  *x++ = log1(static_cast<float>(target[kEvents] - record[kDstEvents]));
  *x++ = target[kRecent] == src_ + 1 ? 1 : 0;
  *x++ = values[kPairGap];
  *x++ = record[kCount] > 1 ? age - values[kPairGap] : 0;
  *x++ = log1(static_cast<float>(record[kVisits]));
  *x++ = log1(count / static_cast<float>(std::max(1, record[kVisits])));
  *x++ = count / static_cast<float>(std::max(1, target[kEvents]));
  *x++ = rank == 0 ? log1(static_cast<float>(source[kRun])) : 0;
  float hits = 0;
  for (i64 k = 0; k < kLastPartners; ++k) hits += source[kLast + k] == dst + 1 ? 1 : 0;
  *x++ = hits / kLastPartners;
  const float all = faded(store_.values(src_, kSource)[kFading + 4], store_.time(src_, kSource), 4);
  *x++ = faded(values[2], then, 4) / std::max(all, 1e-6f);
}

void Query::describe_destination(i64 dst, float* x) const {
  const i32* own = store_.ints(dst, kDestination);
  if (own[kEvents] == 0) {
    std::fill_n(x, kRelatedGroup - kDestinationGroup, 0.0f);
    *x = 1;
    return;
  }
  const float* values = store_.values(dst, kDestination);
  const double then = store_.time(dst, kDestination);
  const float events = static_cast<float>(own[kEvents]);
  const i64 last = i64{own[kRecent]} - 1;
  const bool known = store_.has_node(last);
  const Found* related = known && last != src_ ? find(last, kSource) : nullptr;
  const float age = log_age(then);
  *x++ = 0;
  *x++ = log1(events);
  *x++ = age;
  for (i64 h = 0; h < kFadings; ++h) *x++ = log1(faded(values[kFading + h], then, h));
  *x++ = log1(static_cast<float>(own[kDistinct]));
  *x++ = values[kHabit];
  *x++ = values[kNewPairs];
  *x++ = static_cast<float>(own[kRepeats]) / events;
  *x++ = log1(static_cast<float>(store_.totals[kAllEvents] - own[kLastEvent]));
  *x++ = known ? 1 / static_cast<float>(std::max(1, store_.ints(last, kSource)[kEvents])) : 0;
  *x++ = related == nullptr ? 0 : log1(related->sums[kPrevious]);
  *x++ = related == nullptr ? 0 : log1(related->sums[kNext]);
  *x++ = own[kEvents] > 1 ? age - values[kGap] : 0;
}

void Query::describe_related(i64 dst, float* x) const {
  const i32* own = store_.ints(dst, kDestination);
  const Found* entry = find(dst, kDestination);
  std::fill_n(x, kSourceGroup - kRelatedGroup, 0.0f);
  if (entry != nullptr) {
    const float share = 1 / std::sqrt(static_cast<float>(std::max(1, own[kDistinct])));
    const i64 last = i64{store_.ints(src_, kSource)[kRecent]} - 1;
    const i32 out = store_.has_node(last) ? store_.ints(last, kDestination)[kEvents] : 1;
    x[0] = entry->sums[Found::kPlain] * share;
    x[1] = entry->sums[Found::kWeighted] * share;
    x[2] = entry->sums[Found::kFaded] * share;
    x[3] = log1(entry->sums[Found::kHits]);
    x[4] = log1(entry->sums[Found::kAfterLast]);
    x[5] = entry->sums[Found::kAfterLast] / static_cast<float>(std::max(1, out));
    x[6] = log1(entry->sums[Found::kBeforeLast]);
    x[7] = log1(entry->sums[Found::kAfterSecond]);
  }
  float shared = 0;
  for (i64 k = 0; k < 5; ++k) {
    const i64 node = i64{own[kRecent + k]} - 1;
    const Found* other = store_.has_node(node) && node != src_ ? find(node, kSource) : nullptr;
    if (other != nullptr) shared += other->sums[kCommon];
  }
  x[8] = shared > 0 ? log1(shared) : 0;
}

void Query::describe(i64 dst, const float* shift, const float* scale, float* out) const {
  float x[kAllNumbers];
  const i64 pair = store_.find(src_, dst);
  describe_pair(dst, pair, x + kPairGroup);
  describe_destination(dst, x + kDestinationGroup);
  describe_related(dst, x + kRelatedGroup);
  std::copy_n(source_, kProductGroup - kSourceGroup, x + kSourceGroup);
  // Of fading popularity at the second and fourth half-life, and of relatedness, for sources and pairs without a past.
  const float fresh = x[kSourceGroup], apart = 1 - x[kPairGroup];
  const float soon = x[kDestinationGroup + 4], later = x[kDestinationGroup + 6];
  const float products[] = {fresh * soon, fresh * later, apart * soon, apart * x[kRelatedGroup + 1],
                            apart * x[kSourceGroup + 7]};
  std::copy_n(products, kReverseGroup - kProductGroup, x + kProductGroup);
  if (width_ > kReverseGroup) describe_reverse(dst, pair, x + kReverseGroup);
  for (i64 f = 0; f < width_; ++f)
    out[f] = std::min(std::max((x[f] - shift[f]) * scale[f], -kMostDeviations), kMostDeviations);
}

}  // namespace events
}  // namespace skein
