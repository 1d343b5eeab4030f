// Collectives as sequences of messages. They run on the engine's thread, so they continue while JavaScript computes, and
// several may be in flight. All ranks must call them in the same order; the header of every message states what its sender
// called, so a rank that calls something else is an error on both sides and not a hang.
//
// MPI's own collectives are not used: their summation order is the library's choice, and non-blocking ones could neither
// name the rank that is missing nor be given up.
#include <algorithm>
#include <cstring>

#include "engine.h"

namespace skein_mpi {

Header Engine::collective_header(const OpRef& op, int phase) const {
  Header header;
  header.space = Space::Collective;
  header.code = op->code;
  header.type = op->type;
  header.reduction = static_cast<u8>(op->reduction);
  header.tag = (op->sequence * kChannels + op->channel) * 256 + phase;
  if (op->code == Code::AllReduce || op->code == Code::Broadcast) header.width = op->data.bytes;
  if (op->code == Code::Broadcast) header.detail = op->peer;
  if (op->code == Code::Window) {
    header.table = op->table;
    header.width = op->width;
  }
  return header;
}

// Describes how a peer's call differs from this rank's; empty when it is the same call.
std::string Engine::other_call(const OpRef& op, const Header& there, int source) const {
  static const char* types[] = {"f32", "f64", "i32", "bytes"};
  static const char* reductions[] = {"sum", "max", "min"};
  const Header here = collective_header(op, 0);
  if (there.code != here.code) {
    if (there.code != Code::Close) return name_of(there.code);
    return peers_[static_cast<size_t>(source)].left ? "the end of its program" : "close";
  }
  std::string text;
  auto differs = [&text](const std::string& what, const std::string& a, const std::string& b) {
    if (a != b) text += (text.empty() ? "" : ", ") + what + " (" + a + " there, " + b + " here)";
  };
  differs("another element type", types[static_cast<int>(there.type)], types[static_cast<int>(here.type)]);
  differs("another operation", reductions[there.reduction], reductions[here.reduction]);
  differs("another root", "rank " + std::to_string(there.detail), "rank " + std::to_string(here.detail));
  if (here.code == Code::Window) {
    differs("another width", std::to_string(there.width), std::to_string(here.width));
    if (there.table != here.table) text += (text.empty() ? "" : ", ") + std::string("another name of the table");
  } else {
    differs("another length", std::to_string(there.width) + " bytes", std::to_string(here.width) + " bytes");
  }
  return text.empty() ? "" : std::string(name_of(there.code)) + " with " + text;
}

void Engine::collective_send(const OpRef& op, int peer, int phase, Piece piece) {
  send_message(op, peer, collective_header(op, phase), piece.data, piece.bytes);
}

void Engine::collective_recv(const OpRef& op, int peer, int phase, Piece piece) {
  post_recv(op, peer, Space::Collective, collective_header(op, phase).tag, piece);
}

// Dissemination: after round k every rank has heard from 2^(k+1) ranks.
void Engine::begin_barrier(const OpRef& op, int phase) {
  const i64 step = i64{1} << phase;
  if (step >= size_) {
    // Windows are made by MPI itself, in a call that blocks: all ranks are here now, so it is a short one.
    if (op->code == Code::Window) make_window(op);
    return;
  }
  op->next_phase = [this, op = std::weak_ptr<Op>(op), phase] { begin_barrier(op.lock(), phase + 1); };
  collective_recv(op, static_cast<int>((rank_ - step + size_) % size_), phase, {});
  collective_send(op, static_cast<int>((rank_ + step) % size_), phase, {});
}

// All ranks exchange what they called before any data move: with different roots a tree has ranks that wait for none, or for
// each other. One round of short messages.
void Engine::begin_broadcast(const OpRef& op) {
  if (size_ == 1) return;
  op->next_phase = [this, weak = std::weak_ptr<Op>(op)] { pass_broadcast(weak.lock()); };
  for (int shift = 1; shift < size_; ++shift) collective_send(op, (rank_ + shift) % size_, 0, {});
  for (int shift = 1; shift < size_ && op->state == Op::State::Pending; ++shift)
    collective_recv(op, (rank_ - shift + size_) % size_, 0, {});
}

// Binomial tree below the root.
void Engine::pass_broadcast(const OpRef& op) {
  const int root = op->peer;
  const int place = (rank_ - root + size_) % size_;
  int step = 1;
  while (step < size_ && (place & step) == 0) step <<= 1;
  auto pass_on = [this, weak = std::weak_ptr<Op>(op), place, root, step] {
    const OpRef self = weak.lock();
    for (int below = step >> 1; below > 0; below >>= 1)
      if (place + below < size_) collective_send(self, (place + below + root) % size_, 1, self->data);
  };
  if (place == 0) {
    pass_on();
  } else {
    op->next_phase = pass_on;
    collective_recv(op, (place - step + root) % size_, 1, op->data);
  }
}

void Engine::begin_exchange(const OpRef& op) {
  const Piece& from = op->sends[static_cast<size_t>(rank_)];
  const Piece& to = op->recvs[static_cast<size_t>(rank_)];
  if (from.bytes > 0) std::memmove(to.data, from.data, static_cast<size_t>(from.bytes));
  // This rank's data is sent before an error can be found, so that the others find it too.
  for (int shift = 1; shift < size_; ++shift) {
    const int target = (rank_ + shift) % size_;
    collective_send(op, target, 0, op->sends[static_cast<size_t>(target)]);
  }
  for (int shift = 1; shift < size_ && op->state == Op::State::Pending; ++shift) {
    const int source = (rank_ - shift + size_) % size_;
    collective_recv(op, source, 0, op->recvs[static_cast<size_t>(source)]);
  }
}

// Every rank owns a slice: it collects that slice from all, combines the N slices in rank order in a fixed tree, and sends
// the result to all. So each element is computed on one rank and by one formula: same bits on all ranks, in any order of
// arrival. Bytes sent: 2 W (N-1)/N. A short vector goes to all ranks whole (one round), and all do the same sum.
void Engine::begin_all_reduce(const OpRef& op) {
  if (size_ == 1) return;
  const i64 width = element_bytes(op->type);
  const i64 count = op->data.bytes / width;
  const bool whole = op->data.bytes <= kInlineBytes;
  auto slice = [this, op = op.get(), width, count, whole](int rank) -> Piece {
    if (whole) return op->data;
    const i64 begin = count * rank / size_, end = count * (rank + 1) / size_;
    return {op->data.data + begin * width, (end - begin) * width};
  };
  const Piece mine = slice(rank_);
  op->scratch.resize(static_cast<size_t>(size_));
  op->next_phase = [this, weak = std::weak_ptr<Op>(op), slice, mine, width, whole] {
    const OpRef self = weak.lock();
    std::vector<u8*> pieces(static_cast<size_t>(size_));
    for (int i = 0; i < size_; ++i) pieces[static_cast<size_t>(i)] = i == rank_ ? mine.data : self->scratch[static_cast<size_t>(i)].data();
    reduce_tree(pieces, mine.bytes / width, self->type, self->reduction);
    if (rank_ != 0 && mine.bytes > 0) std::memcpy(mine.data, pieces[0], static_cast<size_t>(mine.bytes));
    self->scratch.clear();
    if (whole) return;
    for (int shift = 1; shift < size_; ++shift) collective_recv(self, (rank_ - shift + size_) % size_, 1, slice((rank_ - shift + size_) % size_));
    for (int shift = 1; shift < size_; ++shift) collective_send(self, (rank_ + shift) % size_, 1, mine);
  };
  for (int shift = 1; shift < size_; ++shift) collective_send(op, (rank_ + shift) % size_, 0, slice((rank_ + shift) % size_));
  for (int shift = 1; shift < size_ && op->state == Op::State::Pending; ++shift) {
    const int source = (rank_ - shift + size_) % size_;
    auto& piece = op->scratch[static_cast<size_t>(source)];
    piece.resize(static_cast<size_t>(mine.bytes));
    collective_recv(op, source, 0, {piece.data(), mine.bytes});
  }
}

namespace {

template <class T, class F>
void fold(std::vector<u8*>& pieces, i64 begin, i64 end, F combine) {
  const size_t n = pieces.size();
  for (size_t stride = 1; stride < n; stride *= 2) {
    for (size_t i = 0; i + stride < n; i += 2 * stride) {
      T* to = reinterpret_cast<T*>(pieces[i]);
      const T* from = reinterpret_cast<const T*>(pieces[i + stride]);
      for (i64 k = begin; k < end; ++k) to[k] = combine(to[k], from[k]);
    }
  }
}

template <class T>
void reduce_as(std::vector<u8*>& pieces, i64 count, Reduction reduction) {
  // In blocks, so that the slices of a block stay in the cache until the tree is through.
  constexpr i64 kBlock = 4096;
  for (i64 at = 0; at < count; at += kBlock) {
    const i64 end = std::min(count, at + kBlock);
    // A value that is not a number wins, so that it is seen.
    if (reduction == Reduction::Sum) {
      fold<T>(pieces, at, end, [](T a, T b) { return static_cast<T>(a + b); });
    } else if (reduction == Reduction::Max) {
      fold<T>(pieces, at, end, [](T a, T b) { return a > b || a != a ? a : b; });
    } else {
      fold<T>(pieces, at, end, [](T a, T b) { return a < b || a != a ? a : b; });
    }
  }
}

}  // namespace

void reduce_tree(std::vector<u8*>& pieces, i64 count, Type type, Reduction reduction) {
  if (type == Type::F32) reduce_as<float>(pieces, count, reduction);
  if (type == Type::F64) reduce_as<double>(pieces, count, reduction);
  if (type == Type::I32) reduce_as<i32>(pieces, count, reduction);
}

}  // namespace skein_mpi
