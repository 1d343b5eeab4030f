// The loop that drives everything, and the transfer of operations between JavaScript and the engine's thread.
#include "engine.h"

#include <algorithm>

#if defined(__linux__)
#include <sys/prctl.h>
#endif

namespace skein_mpi {

namespace {
constexpr auto kSpin = std::chrono::microseconds(150);
constexpr auto kUrgent = std::chrono::milliseconds(20);

}  // namespace

double seconds_since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

const char* name_of(Code code) {
  static const char* names[] = {"send",      "recv",    "barrier", "broadcast", "exchange",
                                "allReduce", "getRows", "putRows", "addRows",   "close",   "allocateTable"};
  return names[static_cast<int>(code)];
}

std::string short_name(const std::string& name) {
  constexpr size_t kLongest = 60;
  if (name.size() <= kLongest) return name;
  size_t end = kLongest;
  while (end > 0 && (static_cast<u8>(name[end]) & 0xC0) == 0x80) --end;  // not within a character
  return name.substr(0, end) + "…";
}

i64 element_bytes(Type type) { return type == Type::F64 ? 8 : type == Type::Byte ? 1 : 4; }

i64 Table::row_bytes() const { return width * element_bytes(type); }

std::string Op::describe() const {
  std::string text = name_of(code);
  switch (code) {
    case Code::Send: return text + " (tag " + std::to_string(tag) + ", to rank " + std::to_string(peer) + ")";
    case Code::Recv: return text + " (tag " + std::to_string(tag) + ", from rank " + std::to_string(peer) + ")";
    case Code::GetRows:
    case Code::PutRows:
    case Code::AddRows:
      return text + " (table '" + short_name(table_name) + "', " + std::to_string(ids.size()) + " ids, rank " + std::to_string(peer) + ")";
    default:
      if (at_exit) text += " at the end of the program";
      return text + " (collective " + std::to_string(sequence) + (channel > 0 ? " of channel " + std::to_string(channel) : "") + ")";
  }
}

Engine::Engine(const Options& options, Notify notify) : options_(options), notify_(std::move(notify)) {}

Engine::~Engine() {
  if (thread_.joinable()) thread_.join();
}

std::string Engine::start() {
  thread_ = std::thread([this] { run(); });
  std::unique_lock<std::mutex> lock(mutex_);
  settled_.wait(lock, [&] { return started_; });
  return start_error_;
}

void Engine::run() {
#if defined(__linux__)
  prctl(PR_SET_TIMERSLACK, 1000UL);
#endif
  const bool good = init_mpi();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    started_ = true;
    open_ = good;
  }
  settled_.notify_all();
  if (!good) return;
  loop();
  close_mpi();
}

void Engine::loop() {
  auto busy_until = Clock::now();
  i64 sleep_us = 1;
  while (!closed_) {
    bool moved = take_inbox();
    moved = poll_slots() || moved;
    moved = poll_requests() || moved;
    const auto now = Clock::now();
    if (now - checked_ > std::chrono::milliseconds(20)) {
      forgive_pause();
      checked_ = now;
      check_sigterm();
      // Peers first: when one is dead, that is the reason, and not the operation that waited for it.
      check_peers();
      check_timeouts();
    }
    if (moved) {
      busy_until = now + kSpin;
      sleep_us = 20;
      continue;
    }
    if (now < busy_until) {
      std::this_thread::yield();
      continue;
    }
    std::unique_lock<std::mutex> lock(mutex_);
    // While JavaScript waits the answer is urgent; while it computes, or has waited long, the core is better left to others.
    const bool urgent = waiters_ > 0 && now - busy_until < kUrgent;
    const i64 longest = urgent ? std::min<i64>(50, options_.max_sleep_us) : options_.max_sleep_us;
    wake_.wait_for(lock, std::chrono::microseconds(std::min(sleep_us, longest)),
                   [&] { return !inbox_.empty() || !new_tables_.empty() || !abort_reason_.empty(); });
    sleep_us = std::min(sleep_us * 2, options_.max_sleep_us);
  }
}

bool Engine::take_inbox() {
  std::deque<OpRef> fresh;
  std::vector<u64> keys;
  std::string reason;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    fresh.swap(inbox_);
    keys.swap(new_tables_);
    reason = abort_reason_;
  }
  if (!reason.empty()) end_job(reason, true);
  for (u64 key : keys) serve_parked(key);
  for (const OpRef& op : fresh) begin(op);
  return !fresh.empty();
}

void Engine::begin(const OpRef& op) {
  op->started = Clock::now();
  active_.push_back(op);
  // The count of pending transfers starts at one for the operation itself, so that it cannot finish while it is being set up.
  op->parts = 1;
  switch (op->code) {
    case Code::Send: {
      Header header;
      header.tag = op->tag;
      send_message(op, op->peer, header, op->data.data, op->data.bytes, std::move(op->owned));
      break;
    }
    case Code::Recv: post_recv(op, op->peer, Space::User, op->tag, op->data); break;
    case Code::GetRows:
    case Code::PutRows:
    case Code::AddRows: begin_rows(op); break;
    default:
      op->sequence = ++sequence_[op->channel];
      if (op->at_exit) tell_leaving();
      if (op->code == Code::Barrier || op->code == Code::Close || op->code == Code::Window) begin_barrier(op, 0);
      if (op->code == Code::Broadcast) begin_broadcast(op);
      if (op->code == Code::Exchange) begin_exchange(op);
      if (op->code == Code::AllReduce) begin_all_reduce(op);
  }
  part_done(op, -1);
}

void Engine::part_opened(const OpRef& op, int peer) {
  if (!op) return;
  ++op->parts;
  ++op->open[peer];
}

void Engine::part_done(const OpRef& op, int peer) {
  if (!op) return;
  if (peer >= 0 && --op->open[peer] == 0) op->open.erase(peer);
  if (--op->parts > 0 || op->state != Op::State::Pending) return;
  if (op->next_phase) {
    auto next = std::move(op->next_phase);
    op->next_phase = nullptr;
    op->parts = 1;
    next();
    part_done(op, -1);
    return;
  }
  settle(op, Op::State::Done, "");
}

void Engine::fail(const OpRef& op, const std::string& error) {
  posted_.erase(std::remove_if(posted_.begin(), posted_.end(), [&](const PostedRecv& recv) { return recv.op == op; }),
                posted_.end());
  if (op->detached || op->code == Code::Close) end_job(error, true);
  settle(op, Op::State::Failed, error);
}

void Engine::settle(const OpRef& op, Op::State state, const std::string& error) {
  active_.erase(std::remove(active_.begin(), active_.end(), op), active_.end());
  bool notify = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (op->state != Op::State::Pending) return;
    op->state = state;
    op->error = error;
    notify = op->notify;
  }
  if (op->code == Code::Close && state == Op::State::Done) {
    closed_ = true;  // JavaScript hears of it when MPI is finalised
    return;
  }
  settled_.notify_all();
  if (notify) notify_(op->id);
}

void Engine::submit(const OpRef& op) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!op->detached) known_.emplace(op->id, op);
    inbox_.push_back(op);
  }
  wake_.notify_one();
}

std::string Engine::wait(i64 id) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto found = known_.find(id);
  if (found == known_.end()) return "";
  const OpRef op = found->second;
  ++waiters_;
  settled_.wait(lock, [&] { return op->state != Op::State::Pending && (op->code != Code::Close || !open_); });
  --waiters_;
  known_.erase(id);
  return op->error;
}

bool Engine::is_done(i64 id) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = known_.find(id);
  return found == known_.end() || found->second->state != Op::State::Pending;
}

void Engine::notify_when_done(i64 id) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = known_.find(id);
    if (found != known_.end() && found->second->state == Op::State::Pending) {
      found->second->notify = true;
      return;
    }
  }
  notify_(id);
}

void Engine::add_table(const Table& table, u64 key) {
  {
    std::lock_guard<std::mutex> lock(tables_mutex_);
    tables_[key] = table;
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    new_tables_.push_back(key);
  }
  wake_.notify_one();
}

bool Engine::remove_table(u64 key) {
  std::lock_guard<std::mutex> lock(tables_mutex_);
  return tables_.erase(key) > 0;
}

}  // namespace skein_mpi
