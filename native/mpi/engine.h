// One rank's engine: a thread that owns MPI. JavaScript submits operations and waits; no other thread calls MPI.
//
// Threads: `submit`, `wait`, `is_done`, `notify_when_done` and `add_table` run on the JavaScript thread and touch only
// what `mutex_` guards (inbox, states of operations, tables). All else belongs to the engine's thread. An operation's
// buffers belong to JavaScript, which keeps them alive and unchanged until the operation is done.
//
// The thread polls, because MPI has no wait that a second source could interrupt: it spins while messages come, then
// sleeps for longer and longer times on the condition variable that a new operation signals.
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "bytes.h"
#include "wire.h"

namespace skein_mpi {

using Clock = std::chrono::steady_clock;

struct Options {
  double timeout = 1800;     // seconds an operation may wait for live peers; 0: for ever
  double peer_timeout = 60;  // seconds without a sign of life after which a peer is considered dead
  i64 chunk_bytes = i64{1} << 30;
  i64 max_sleep_us = 500;
  bool one_sided = false;  // try whether ranks can read each other's windows
};

struct Piece {
  u8* data = nullptr;
  i64 bytes = 0;
};

// An operation that JavaScript requests.
struct Op {
  enum class State { Pending, Done, Failed };

  i64 id = 0;
  Code code = Code::Send;
  int peer = -1;
  i64 tag = 0;
  Type type = Type::Byte;
  Reduction reduction = Reduction::Sum;
  int channel = 0;  // collectives of one channel are called in the same order on all ranks
  Piece data;
  bool at_exit = false;             // Close: because the program has ended
  bool detached = false;            // a buffered send: no caller waits for it, `owned` holds the data
  std::vector<Piece> sends, recvs;  // Exchange: one piece for each rank
  u64 table = 0;
  std::string table_name;
  std::vector<i32> ids;
  i64 width = 0;
  Bytes owned;

  // The engine's own. `open` counts unfinished messages by peer, so that a time-out can name who is waited for.
  std::map<int, int> open;
  int parts = 0;
  i64 sequence = 0;
  std::function<void()> next_phase;
  std::vector<Bytes> scratch;
  Clock::time_point started{};

  // Guarded by the engine's mutex.
  State state = State::Pending;
  std::string error;
  bool notify = false;

  std::string describe() const;
};

using OpRef = std::shared_ptr<Op>;

struct Table {
  std::string name;
  u8* data = nullptr;
  i64 rows = 0;
  i64 width = 0;
  Type type = Type::F32;
  i64 row_bytes() const;
};

// A table in memory that MPI has made, which all ranks can read without its owner's help.
struct Window {
  MPI_Win handle = MPI_WIN_NULL;
  u8* data = nullptr;
  std::vector<i64> rows;  // on each rank
  i64 width = 0;
  Type type = Type::F32;
};

// A message that has arrived (its header, at least) before it was requested, or a row request being received.
struct Arrival {
  Header header;
  int source = 0;
  Bytes body;      // inline payload
  const u8* local = nullptr; // a message to this rank itself: the sender's buffer
  OpRef local_sender;
};

struct PostedRecv {
  OpRef op;
  int source = 0;
  Space space = Space::User;
  i64 tag = 0;
  Piece into;
};

// A set of MPI requests with one thing to do when all are complete.
struct Transfer {
  int open = 0;
  int peer = 0;
  Bytes owned;
  std::function<void()> done;
};

struct Peer {
  Clock::time_point heard{}, spoke{};
  bool heartbeat_open = false;
  bool left = false;  // its program has ended
  i32 next_payload_tag = 0;
  int open_payloads = 0;
  i64 pid = 0;
  std::string host;
  std::string machine;  // equal for processes that can see each other's process ids
};

class Engine {
 public:
  using Notify = std::function<void(i64 id)>;

  Engine(const Options& options, Notify notify);
  ~Engine();

  // Starts the thread and waits for MPI_Init; gives the reason of a failure, or an empty text.
  std::string start();
  int rank() const { return rank_; }
  int size() const { return size_; }
  const std::string& library() const { return library_; }
  // Why windows are not used; empty when they are.
  const std::string& no_windows() const { return no_windows_; }

  void submit(const OpRef& op);
  // Blocks until the operation is done; gives its error or an empty text, and forgets it.
  std::string wait(i64 id);
  bool is_done(i64 id);
  // Calls `notify` (on the engine's thread) once the operation is done; now, if it already is.
  void notify_when_done(i64 id);
  void add_table(const Table& table, u64 key);
  bool remove_table(u64 key);
  // The memory of a window, once the operation that made it is done; JavaScript makes windows one at a time.
  u8* window_data(u64 key) const;
  // Where the reason is written down too when the job ends: a file that is there; empty for none.
  void set_journal(const std::string& path);
  [[noreturn]] void abort(const std::string& reason);
  bool is_open() const { return open_; }

 private:
  // lifetime.cpp
  bool init_mpi();
  void exchange_addresses();
  void close_mpi();

  // engine.cpp
  void run();
  void loop();
  bool take_inbox();
  void begin(const OpRef& op);
  void part_opened(const OpRef& op, int peer);
  void part_done(const OpRef& op, int peer);
  void fail(const OpRef& op, const std::string& error);
  void settle(const OpRef& op, Op::State state, const std::string& error);

  // transport.cpp
  void open_slots();
  bool poll_slots();
  bool poll_requests();
  void track(int status, MPI_Request request, const std::shared_ptr<Transfer>& transfer);
  void send_header(int peer, Header header, const u8* body, i64 bytes, std::function<void()> done);
  void send_message(const OpRef& op, int peer, Header header, const u8* data, i64 bytes, Bytes owned = {});
  void send_long(int peer, Header header, const u8* data, i64 bytes, Bytes owned, std::function<void()> done);
  void send_to_self(const OpRef& op, Header header, const u8* data, i64 bytes, Bytes owned);
  void post_recv(const OpRef& op, int source, Space space, i64 tag, Piece into);
  void arrived(int source, const u8* slot, i64 bytes);
  void match(Arrival arrival);
  bool accept(PostedRecv& recv, Arrival& arrival);
  void receive_payload(int source, const Header& header, u8* into, std::function<void()> done);
  std::string unclaimed(int source) const;

  // collectives.cpp
  Header collective_header(const OpRef& op, int phase) const;
  void collective_send(const OpRef& op, int peer, int phase, Piece piece);
  void collective_recv(const OpRef& op, int peer, int phase, Piece piece);
  void begin_barrier(const OpRef& op, int phase);
  std::string other_call(const OpRef& op, const Header& there, int source) const;
  void begin_broadcast(const OpRef& op);
  void pass_broadcast(const OpRef& op);
  void begin_exchange(const OpRef& op);
  void begin_all_reduce(const OpRef& op);

  // row_requests.cpp
  void begin_rows(const OpRef& op);
  void row_request_arrived(Arrival arrival);
  void serve(int source, const Header& header, Bytes body);
  std::string apply_rows(const Table& table, Code code, const i32* ids, i64 count, u8* rows) const;
  void serve_parked(u64 key);

  // windows.cpp
  void probe_windows();
  void make_window(const OpRef& op);
  bool get_by_window(const OpRef& op);
  void free_windows();
  bool all_agree(bool good) const;

  // failure.cpp
  void watch_sigterm();
  void unwatch_sigterm();
  void check_sigterm();
  void check_peers();
  void forgive_pause();
  void send_heartbeat(int peer);
  void tell_leaving();
  void peer_left(int peer);
  std::string left_text(int peer) const;
  void told_to_abort(int source, const std::string& reason);
  void check_timeouts();
  bool is_gone(int peer) const;
  std::string name_of_peer(int peer) const;
  std::string waiting_for(int peer) const;
  [[noreturn]] void end_job(const std::string& reason, bool tell_peers);

  Options options_;
  Notify notify_;
  std::thread thread_;
  int rank_ = 0, size_ = 1;
  std::string library_, no_windows_;
  MPI_Comm control_ = MPI_COMM_NULL, data_ = MPI_COMM_NULL;
  std::atomic<bool> open_{false};

  std::mutex mutex_;
  std::condition_variable wake_;    // the engine waits: new work
  std::condition_variable settled_; // JavaScript waits: an operation is done, or the engine has started
  std::deque<OpRef> inbox_;
  std::unordered_map<i64, OpRef> known_;
  std::string abort_reason_;
  std::vector<u64> new_tables_;
  int waiters_ = 0;
  std::mutex tables_mutex_;  // held while rows are read or written, so that a table cannot go away meanwhile
  std::unordered_map<u64, Table> tables_;
  bool started_ = false;
  std::string start_error_;

  std::map<u64, Window> windows_;  // in the order of keys, which is the same on all ranks

  std::vector<OpRef> active_;
  std::vector<Peer> peers_;
  std::vector<Bytes> slots_;
  std::vector<MPI_Request> slot_requests_;
  int slot_head_ = 0;
  std::vector<MPI_Request> requests_;
  std::vector<std::shared_ptr<Transfer>> transfers_;
  std::vector<int> ready_;
  std::vector<MPI_Status> statuses_;
  std::deque<PostedRecv> posted_;
  std::deque<Arrival> arrivals_;
  std::deque<Arrival> parked_;  // row requests for tables that are not there yet
  i64 sequence_[kChannels] = {};
  i64 next_request_ = 0;
  bool closed_ = false, ending_ = false;
  Clock::time_point checked_{}, looked_{};
};

// Ends the launcher of this process some seconds from now if it is still there then; returns immediately.
void leave_launcher_watch();
double seconds_since(Clock::time_point then);
const char* name_of(Code code);
// A table's name for an error text.
std::string short_name(const std::string& name);
i64 element_bytes(Type type);
// Combines the slices (one for each rank, in rank order) in a fixed tree; the result is in pieces[0].
void reduce_tree(std::vector<u8*>& pieces, i64 count, Type type, Reduction reduction);

}  // namespace skein_mpi
