// Numbers of pairs whose ends can be sources and destinations: events of the opposite direction, and conversations.
#include "events/describe_pair.h"

namespace skein {
namespace events {

void Query::find_contacts() {
  double times[kMostContacts];
  for (const Side side : {kSource, kDestination}) {
    const i32* recent = store_.ints(src_, side) + kRecent;
    for (i64 k = 0; k < kRecentPartners && store_.has_node(i64{recent[k]} - 1); ++k) {
      const i32 other = recent[k] - 1;
      const i64 pair = side == kSource ? store_.find(src_, other) : store_.find(other, src_);
      if (pair < 0) continue;
      const double then = store_.pair_times[pair];
      i64 known = 0;
      while (known < contact_count_ && contacts_[known] != other) ++known;
      // A node that is known from the other direction keeps the later of both times.
      if (known < contact_count_ && times[known] >= then) continue;
      if (known == contact_count_) ++contact_count_;
      for (; known > 0 && times[known - 1] < then; --known) {
        times[known] = times[known - 1];
        contacts_[known] = contacts_[known - 1];
      }
      times[known] = then;
      contacts_[known] = other;
    }
  }
}

void Query::find_conversations() {
  for (i64 k = 0; k < std::min(contact_count_, kRecentPartners); ++k) {
    const i64 contact = contacts_[k];
    if (contact == src_) continue;
    for (const Side side : {kDestination, kSource}) {
      const i32* recent = store_.ints(contact, side) + kRecent;
      const float fresh = faded(1, store_.time(contact, side), 1);
      const i64 which = side == kDestination ? Found::kToContact : Found::kFromContact;
      for (i64 j = 0; j < kRecentPartners && store_.has_node(i64{recent[j]} - 1); ++j) {
        Found* entry = recent[j] - 1 == src_ ? nullptr : take(recent[j] - 1, kSource);
        if (entry != nullptr) entry->sums[which] += fresh / static_cast<float>(1 + k + j);
      }
    }
  }
}

void Query::describe_reverse(i64 dst, i64 pair, float* x) const {
  std::fill_n(x, kAllNumbers - kReverseGroup, 0.0f);
  const i32* received = store_.ints(src_, kDestination);
  const i32* sender = store_.ints(dst, kSource);
  const i64 back = store_.find(dst, src_);
  if (back >= 0) {
    const i32* record = store_.pair_ints + back * kPairInts;
    const double then = store_.pair_times[back];
    const float rank = rank_in(received + kRecent, dst);
    const float count = static_cast<float>(record[kCount]);
    x[0] = 1;
    x[1] = log_age(then);
    x[2] = log1(count);
    x[3] = log1(faded(store_.pair_values[back * kPairValues + 1], then, kPairHalfLife[1]));
    x[4] = rank == 0 ? 1 : 0;
    x[5] = 1 / (1 + rank);
    x[6] = pair < 0 || store_.pair_times[pair] < then ? 1 : 0;
    x[7] = count / static_cast<float>(std::max(1, sender[kEvents]));
    x[8] = sender[kRecent] == src_ + 1 ? 1 : 0;
  }
  if (sender[kEvents] == 0) {
    x[9] = 1;
  } else {
    const float* values = store_.values(dst, kSource);
    const double then = store_.time(dst, kSource);
    x[10] = log1(static_cast<float>(sender[kEvents]));
    x[11] = log_age(then);
    for (i64 h = 0; h < kPairFadings; ++h)
      x[12 + h] = log1(faded(values[kFading + kPairHalfLife[h]], then, kPairHalfLife[h]));
    x[15] = log1(static_cast<float>(sender[kDistinct]));
  }
  if (received[kEvents] > 0) x[16] = log_age(store_.time(src_, kDestination));
  x[17] = dst == src_ ? 1 : 0;
  i64 rank = 0;
  while (rank < contact_count_ && contacts_[rank] != dst) ++rank;
  if (rank < contact_count_) {
    x[18] = rank == 0 ? 1 : 0;
    x[19] = 1 / static_cast<float>(1 + rank);
  }
  if (pair >= 0 || back >= 0) {
    const double there = store_.pair_times[pair >= 0 ? pair : back];
    x[20] = log_age(back >= 0 ? std::max(there, store_.pair_times[back]) : there);
  }
  const Found* entry = dst == src_ ? nullptr : find(dst, kSource);
  if (entry != nullptr) {
    for (i64 r = 0; r < kRelations; ++r) x[21 + r] = log1(entry->sums[r]);
    x[24] = entry->sums[Found::kToContact];
    x[25] = entry->sums[Found::kFromContact];
  }
}

}  // namespace events
}  // namespace skein
