// The numbers that describe a source and a candidate at a time, from running statistics of earlier events.
#pragma once

#include "events/event_store.h"

namespace skein {
namespace events {

// Groups of numbers, in order; each ends where the next begins.
enum Group : i64 {
  kPairGroup = 0,
  kDestinationGroup = 23,
  kRelatedGroup = 40,
  kSourceGroup = 49,
  kProductGroup = 62,
  kReverseGroup = 67,
  kAllNumbers = 93
};
constexpr float kMostDeviations = 6;

inline float log1(float x) { return std::log(1.0f + x); }

// Of nodes that are related to the partners of the source (side destination) or to the source itself (side source).
struct Found {
  enum { kPlain, kWeighted, kFaded, kHits, kAfterLast, kBeforeLast, kAfterSecond };
  // Of side source, after the relations: events of recent contacts with this node, in either direction.
  enum { kToContact = kRelations, kFromContact };
  float sums[7];
};
// Recent contacts of the source in either direction.
constexpr i64 kMostContacts = 2 * kRecentPartners;
constexpr i64 kMostFound = kRecentPartners * kMostRelated + kMostRelated + kMostContacts * kMostContacts;

// A source at a time, with what is shared by all candidates. `slots` has the position, + 1, of related nodes in `found`.
class Query {
 public:
  Query(const Store& store, i32* slots, Found* found, i32* touched, i64 src, double time, i64 width);
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  void describe(i64 dst, const float* shift, const float* scale, float* out) const;

 private:
  Found* take(i64 node, Side side);
  const Found* find(i64 node, Side side) const;
  void find_related();
  void find_contacts();
  void find_conversations();
  void describe_source();
  float rank_in(const i32* recent, i64 node) const;
  float log_age(double then) const { return static_cast<float>(std::log(1.0f + static_cast<float>((time_ - then) * store_.clock[0]))); }
  float faded(float count, double then, i64 half_life) const {
    return count * decay(time_ - then, store_.clock[1 + half_life]);
  }
  void describe_pair(i64 dst, i64 pair, float* x) const;
  void describe_destination(i64 dst, float* x) const;
  void describe_related(i64 dst, float* x) const;
  void describe_reverse(i64 dst, i64 pair, float* x) const;

  const Store& store_;
  i32* slots_;
  Found* found_;
  i32* touched_;
  i64 count_ = 0;
  i64 src_;
  double time_;
  i64 width_;
  float source_[kProductGroup - kSourceGroup];
  // Nodes that the source met in either direction, the latest first, each once.
  i32 contacts_[kMostContacts];
  i64 contact_count_ = 0;
};

}  // namespace events
}  // namespace skein
