// Messages: sending, receiving, and the matching of arrivals with requests.
//
// Nothing here blocks, and a ring of receives for headers is always open, so two ranks that both send first cannot wait
// for each other. Arrivals of one peer are taken in the order in which it sent them: the ring is emptied in order, and MPI
// fills receives of one communicator in the order in which they were posted.
#include <algorithm>
#include <cstring>

#include "engine.h"

namespace skein_mpi {

void Engine::open_slots() {
  slots_.assign(kSlots, Bytes(static_cast<size_t>(kSlotBytes)));
  slot_requests_.assign(kSlots, MPI_REQUEST_NULL);
  for (int i = 0; i < kSlots; ++i)
    MPI_Irecv(slots_[i].data(), static_cast<int>(kSlotBytes), MPI_BYTE, MPI_ANY_SOURCE, 0, control_, &slot_requests_[i]);
}

bool Engine::poll_slots() {
  bool moved = false;
  for (int turn = 0; turn < kSlots; ++turn) {
    int complete = 0, bytes = 0;
    MPI_Status status;
    if (MPI_Test(&slot_requests_[slot_head_], &complete, &status) != MPI_SUCCESS)
      end_job("the receive of a message failed inside MPI", true);
    if (complete == 0) break;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    const int slot = slot_head_;
    slot_head_ = (slot_head_ + 1) % kSlots;
    arrived(status.MPI_SOURCE, slots_[slot].data(), bytes);
    MPI_Irecv(slots_[slot].data(), static_cast<int>(kSlotBytes), MPI_BYTE, MPI_ANY_SOURCE, 0, control_, &slot_requests_[slot]);
    moved = true;
  }
  return moved;
}

bool Engine::poll_requests() {
  if (requests_.empty()) return false;
  const int count = static_cast<int>(requests_.size());
  ready_.resize(requests_.size());
  statuses_.resize(requests_.size());
  int found = 0;
  const int result = MPI_Testsome(count, requests_.data(), &found, ready_.data(), statuses_.data());
  if (found == MPI_UNDEFINED || found == 0) return false;
  std::vector<std::shared_ptr<Transfer>> complete;
  for (int i = 0; i < found; ++i) {
    const std::shared_ptr<Transfer>& transfer = transfers_[static_cast<size_t>(ready_[i])];
    if (result == MPI_ERR_IN_STATUS && statuses_[static_cast<size_t>(i)].MPI_ERROR != MPI_SUCCESS)
      end_job("a transfer with " + name_of_peer(transfer->peer) + " failed; waiting in " + waiting_for(transfer->peer), true);
    if (--transfer->open == 0) complete.push_back(transfer);
  }
  std::sort(ready_.begin(), ready_.begin() + found);
  for (int i = found - 1; i >= 0; --i) {
    const size_t at = static_cast<size_t>(ready_[i]);
    requests_[at] = requests_.back();
    transfers_[at] = transfers_.back();
    requests_.pop_back();
    transfers_.pop_back();
  }
  for (const auto& transfer : complete)
    if (transfer->done) transfer->done();
  return true;
}

void Engine::track(int status, MPI_Request request, const std::shared_ptr<Transfer>& transfer) {
  if (status != MPI_SUCCESS)
    end_job("a transfer with " + name_of_peer(transfer->peer) + " could not start; waiting in " + waiting_for(transfer->peer), true);
  ++transfer->open;
  requests_.push_back(request);
  transfers_.push_back(transfer);
}

void Engine::send_header(int peer, Header header, const u8* body, i64 bytes, std::function<void()> done) {
  auto transfer = std::make_shared<Transfer>();
  transfer->peer = peer;
  transfer->done = std::move(done);
  transfer->owned.resize(sizeof(Header) + static_cast<size_t>(bytes));
  std::memcpy(transfer->owned.data(), &header, sizeof(Header));
  if (bytes > 0) std::memcpy(transfer->owned.data() + sizeof(Header), body, static_cast<size_t>(bytes));
  peers_[static_cast<size_t>(peer)].spoke = Clock::now();
  MPI_Request request = MPI_REQUEST_NULL;
  const int status = MPI_Isend(transfer->owned.data(), static_cast<int>(transfer->owned.size()), MPI_BYTE, peer, 0, control_, &request);
  track(status, request, transfer);
}

void Engine::send_long(int peer, Header header, const u8* data, i64 bytes, Bytes owned, std::function<void()> done) {
  Peer& to = peers_[static_cast<size_t>(peer)];
  // Payload tags go round; half a turn in flight would let two payloads meet.
  if (++to.open_payloads > kPayloadTags / 2)
    end_job("more than " + std::to_string(kPayloadTags / 2) + " long messages to " + name_of_peer(peer) + " wait to be received", true);
  header.is_inline = 0;
  header.payload_tag = to.next_payload_tag;
  to.next_payload_tag = (to.next_payload_tag + 1) % kPayloadTags;
  send_header(peer, header, nullptr, 0, nullptr);
  auto transfer = std::make_shared<Transfer>();
  transfer->peer = peer;
  transfer->owned = std::move(owned);
  transfer->done = [this, peer, done = std::move(done)] {
    --peers_[static_cast<size_t>(peer)].open_payloads;
    if (done) done();
  };
  for (i64 at = 0; at < bytes; at += options_.chunk_bytes) {
    const int length = static_cast<int>(std::min(options_.chunk_bytes, bytes - at));
    MPI_Request request = MPI_REQUEST_NULL;
    const int status = MPI_Isend(data + at, length, MPI_BYTE, peer, header.payload_tag, data_, &request);
    track(status, request, transfer);
  }
}

void Engine::send_message(const OpRef& op, int peer, Header header, const u8* data, i64 bytes, Bytes owned) {
  header.bytes = bytes;
  part_opened(op, peer);
  if (peer == rank_) {
    send_to_self(op, header, data, bytes, std::move(owned));
  } else if (bytes <= kInlineBytes) {
    send_header(peer, header, data, bytes, nullptr);
    part_done(op, peer);  // the data are copied: the buffer is free again
  } else {
    send_long(peer, header, data, bytes, std::move(owned), [this, op, peer] { part_done(op, peer); });
  }
}

void Engine::send_to_self(const OpRef& op, Header header, const u8* data, i64 bytes, Bytes owned) {
  Arrival arrival;
  arrival.header = header;
  arrival.source = rank_;
  if (bytes <= kInlineBytes) {
    arrival.body.assign(data, data + bytes);
  } else if (!owned.empty()) {
    arrival.body = std::move(owned);
  } else {
    arrival.local = data;
    arrival.local_sender = op;
    match(std::move(arrival));
    return;
  }
  match(std::move(arrival));
  part_done(op, rank_);
}

void Engine::post_recv(const OpRef& op, int source, Space space, i64 tag, Piece into) {
  part_opened(op, source);
  PostedRecv recv{op, source, space, tag, into};
  for (auto it = arrivals_.begin(); it != arrivals_.end(); ++it) {
    if (it->source != source || it->header.space != space || it->header.tag != tag) continue;
    Arrival arrival = std::move(*it);
    const auto place = arrivals_.erase(it);
    if (!accept(recv, arrival)) arrivals_.insert(place, std::move(arrival));
    return;
  }
  if (space == Space::User && peers_[static_cast<size_t>(source)].left) {
    fail(op, op->describe() + left_text(source));
    return;
  }
  posted_.push_back(std::move(recv));
}

void Engine::arrived(int source, const u8* slot, i64 bytes) {
  Arrival arrival;
  arrival.source = source;
  peers_[static_cast<size_t>(source)].heard = Clock::now();
  if (bytes >= static_cast<i64>(sizeof(Header))) std::memcpy(&arrival.header, slot, sizeof(Header));
  if (bytes < static_cast<i64>(sizeof(Header)) || arrival.header.magic != kMagic)
    end_job(name_of_peer(source) + " speaks another language: all ranks must run the same version of Skein", true);
  if (arrival.header.kind == Kind::Heartbeat) return;
  if (arrival.header.kind == Kind::Leaving) return peer_left(source);
  const u8* body = slot + sizeof(Header);
  arrival.body.assign(body, slot + bytes);
  if (arrival.header.kind == Kind::Abort) told_to_abort(source, std::string(arrival.body.begin(), arrival.body.end()));
  if (arrival.header.kind == Kind::RowRequest) row_request_arrived(std::move(arrival));
  else if (arrival.header.kind == Kind::Message) match(std::move(arrival));
}

void Engine::match(Arrival arrival) {
  for (auto it = posted_.begin(); it != posted_.end(); ++it) {
    if (it->source != arrival.source || it->space != arrival.header.space || it->tag != arrival.header.tag) continue;
    PostedRecv recv = std::move(*it);
    posted_.erase(it);
    if (!accept(recv, arrival)) arrivals_.push_back(std::move(arrival));
    return;
  }
  arrivals_.push_back(std::move(arrival));
}

// Takes the message, or fails the operation that expected another one; then the message stays where it was.
bool Engine::accept(PostedRecv& recv, Arrival& arrival) {
  const Header& header = arrival.header;
  const OpRef op = recv.op;
  if (header.failed != 0) {
    fail(op, std::string(arrival.body.begin(), arrival.body.end()));
    return true;
  }
  const std::string other = recv.space == Space::Collective ? other_call(op, header, arrival.source) : "";
  if (!other.empty() && op->at_exit) {
    fail(op, "the program of rank " + std::to_string(rank_) + " has ended without close() while rank " + std::to_string(arrival.source) +
                 " waits for it in " + other + " (collective " + std::to_string(op->sequence) + ")");
    return false;
  }
  if (!other.empty()) {
    fail(op, op->describe() + ": expected the same call on all ranks, got " + other + " from rank " + std::to_string(arrival.source));
    return false;
  }
  if (header.bytes != recv.into.bytes) {
    fail(op, op->describe() + ": expected " + std::to_string(recv.into.bytes) + " bytes from rank " +
                 std::to_string(arrival.source) + ", got " + std::to_string(header.bytes));
    return false;
  }
  const int source = arrival.source;
  if (arrival.local != nullptr) {
    std::memcpy(recv.into.data, arrival.local, static_cast<size_t>(header.bytes));
    part_done(arrival.local_sender, rank_);
    part_done(op, source);
  } else if (header.is_inline != 0) {
    if (header.bytes > 0) std::memcpy(recv.into.data, arrival.body.data(), static_cast<size_t>(header.bytes));
    part_done(op, source);
  } else {
    receive_payload(source, header, recv.into.data, [this, op, source] { part_done(op, source); });
  }
  return true;
}

void Engine::receive_payload(int source, const Header& header, u8* into, std::function<void()> done) {
  auto transfer = std::make_shared<Transfer>();
  transfer->peer = source;
  transfer->done = std::move(done);
  for (i64 at = 0; at < header.bytes; at += options_.chunk_bytes) {
    const int length = static_cast<int>(std::min(options_.chunk_bytes, header.bytes - at));
    MPI_Request request = MPI_REQUEST_NULL;
    const int status = MPI_Irecv(into + at, length, MPI_BYTE, source, header.payload_tag, data_, &request);
    track(status, request, transfer);
  }
}

std::string Engine::unclaimed(int source) const {
  std::string text;
  int count = 0;
  for (const Arrival& arrival : arrivals_) {
    if (arrival.source != source || arrival.header.space != Space::User || ++count > 5) continue;
    text += (text.empty() ? "" : ", ") + std::string("tag ") + std::to_string(arrival.header.tag) + " (" +
            std::to_string(arrival.header.bytes) + " bytes)";
  }
  return text.empty() ? "" : "; unclaimed messages from it: " + text + (count > 5 ? ", …" : "");
}

}  // namespace skein_mpi
