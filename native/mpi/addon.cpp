// The JavaScript face of the engine: reads arguments, hands operations over, settles promises.
//
// Lifetimes: the TypeScript side keeps every typed array that an unfinished operation uses (mpi-communicator.ts); here only
// addresses are read. MPI can be initialised once in a process, so there is one engine, and it is never destroyed.
#include <node_api.h>

#include <atomic>
#include <string>

#include "arguments.h"
#include "engine.h"

namespace {

using namespace skein_mpi;

Engine* engine = nullptr;
napi_threadsafe_function notifier = nullptr;
int notifications = 0;  // on the JavaScript thread only
std::atomic<i64> next_id{0};
std::vector<napi_ref> window_buffers;

// FNV-1a: ranks name tables by text, messages by this.
u64 key_of(const std::string& name) {
  u64 hash = 14695981039346656037ULL;
  for (const char c : name) hash = (hash ^ static_cast<u8>(c)) * 1099511628211ULL;
  return hash;
}

napi_value submit(napi_env env, const OpRef& op) {
  if (engine == nullptr || !engine->is_open()) {
    napi_throw_error(env, "SKEIN_COMM", "the communicator is closed");
    return nullptr;
  }
  op->id = ++next_id;
  engine->submit(op);
  return to_number(env, static_cast<double>(op->id));
}

// The TypeScript side has checked all this; what it missed must not become an address.
napi_value refuse(napi_env env, const char* function, const char* expected) {
  const std::string text = std::string("internal: mpi ") + function + ": expected " + expected + ". Please report this.";
  napi_throw_type_error(env, "SKEIN_INTERNAL", text.c_str());
  return nullptr;
}

bool is_peer(int rank) { return engine != nullptr && rank >= 0 && rank < engine->size(); }

OpRef make(Code code, int peer = -1) {
  auto op = std::make_shared<Op>();
  op->code = code;
  op->peer = peer;
  return op;
}

// send(peer, tag, array, buffered)
napi_value send(napi_env env, napi_callback_info info) {
  const Arguments args(env, info);
  auto op = make(Code::Send, args.integer(0));
  if (!is_peer(op->peer)) return refuse(env, "send", "a rank");
  op->tag = args.whole(1);
  op->data = piece_of(env, args.values[2]);
  napi_get_value_bool(env, args.values[3], &op->detached);
  if (op->detached && op->data.bytes > 0) {
    op->owned.assign(op->data.data, op->data.data + op->data.bytes);
    op->data.data = op->owned.data();
  }
  return submit(env, op);
}

// recv(peer, tag, array)
napi_value recv(napi_env env, napi_callback_info info) {
  const Arguments args(env, info);
  auto op = make(Code::Recv, args.integer(0));
  if (!is_peer(op->peer)) return refuse(env, "recv", "a rank");
  op->tag = args.whole(1);
  op->data = piece_of(env, args.values[2]);
  return submit(env, op);
}

napi_value barrier(napi_env env, napi_callback_info) { return submit(env, make(Code::Barrier)); }

// close(atExit). The memory of windows goes with MPI: arrays on it become empty before that.
napi_value close(napi_env env, napi_callback_info info) {
  const Arguments args(env, info);
  auto op = make(Code::Close);
  napi_get_value_bool(env, args.values[0], &op->at_exit);
  for (napi_ref reference : window_buffers) {
    napi_value buffer = nullptr;
    napi_get_reference_value(env, reference, &buffer);
    if (buffer != nullptr) napi_detach_arraybuffer(env, buffer);
    napi_delete_reference(env, reference);
  }
  window_buffers.clear();
  return submit(env, op);
}

// broadcast(root, array)
napi_value broadcast(napi_env env, napi_callback_info info) {
  const Arguments args(env, info);
  auto op = make(Code::Broadcast, args.integer(0));
  if (!is_peer(op->peer)) return refuse(env, "broadcast", "a rank");
  op->data = piece_of(env, args.values[1], &op->type);
  return submit(env, op);
}

// exchange(sends, recvs): a typed array for each rank
napi_value exchange(napi_env env, napi_callback_info info) {
  const Arguments args(env, info);
  auto op = make(Code::Exchange);
  op->sends = pieces_of(env, args.values[0]);
  op->recvs = pieces_of(env, args.values[1]);
  const size_t ranks = engine == nullptr ? 0 : static_cast<size_t>(engine->size());
  if (op->sends.size() != ranks || op->recvs.size() != ranks) return refuse(env, "exchange", "an array for each rank");
  return submit(env, op);
}

// allReduce(array, operation, channel)
napi_value all_reduce(napi_env env, napi_callback_info info) {
  const Arguments args(env, info);
  auto op = make(Code::AllReduce);
  op->data = piece_of(env, args.values[0], &op->type);
  op->reduction = static_cast<Reduction>(args.integer(1));
  op->channel = args.integer(2);
  return submit(env, op);
}

// rows(0 get | 1 put | 2 add, owner, name, ids, rows, width)
napi_value rows(napi_env env, napi_callback_info info) {
  const Arguments args(env, info);
  auto op = make(static_cast<Code>(static_cast<int>(Code::GetRows) + args.integer(0)), args.integer(1));
  op->table_name = args.text(2);
  op->table = key_of(op->table_name);
  Type id_type = Type::Byte;
  const Piece ids = piece_of(env, args.values[3], &id_type);
  if (!is_peer(op->peer) || id_type != Type::I32) return refuse(env, "rows", "a rank and an Int32Array");
  const i32* first = reinterpret_cast<const i32*>(ids.data);
  op->ids.assign(first, first + ids.bytes / static_cast<i64>(sizeof(i32)));
  op->data = piece_of(env, args.values[4], &op->type);
  op->width = args.whole(5);
  const i64 count = static_cast<i64>(op->ids.size()), elements = op->data.bytes / element_bytes(op->type);
  if (op->width < 1 || elements / op->width != count || elements % op->width != 0)
    return refuse(env, "rows", "as many rows as ids");
  return submit(env, op);
}

napi_value wait(napi_env env, napi_callback_info info) { return to_text(env, engine->wait(Arguments(env, info).whole(0))); }

napi_value is_done(napi_env env, napi_callback_info info) {
  napi_value value = nullptr;
  napi_get_boolean(env, engine->is_done(Arguments(env, info).whole(0)), &value);
  return value;
}

napi_value notify_when_done(napi_env env, napi_callback_info info) {
  if (notifications++ == 0) napi_ref_threadsafe_function(env, notifier);
  engine->notify_when_done(Arguments(env, info).whole(0));
  return nullptr;
}

void call_back(napi_env env, napi_value callback, void*, void* data) {
  const i64 id = reinterpret_cast<std::intptr_t>(data);
  if (env == nullptr) return;
  // An open promise keeps the event loop alive, an idle communicator does not.
  if (--notifications == 0) napi_unref_threadsafe_function(env, notifier);
  napi_value receiver, argument = to_number(env, static_cast<double>(id));
  napi_get_undefined(env, &receiver);
  napi_call_function(env, receiver, callback, 1, &argument, nullptr);
}

// addTable(name, array, width)
napi_value add_table(napi_env env, napi_callback_info info) {
  const Arguments args(env, info);
  Table table;
  table.name = args.text(0);
  const Piece piece = piece_of(env, args.values[1], &table.type);
  table.data = piece.data;
  table.width = args.whole(2);
  if (engine == nullptr || table.width < 1) return refuse(env, "addTable", "rows of at least one element");
  table.rows = piece.bytes / table.row_bytes();
  engine->add_table(table, key_of(table.name));
  return nullptr;
}

napi_value remove_table(napi_env env, napi_callback_info info) {
  engine->remove_table(key_of(Arguments(env, info).text(0)));
  return nullptr;
}

// allocateTable(name, rows, width, type): an operation; afterwards tableMemory(name, bytes) gives its ArrayBuffer
napi_value allocate_table(napi_env env, napi_callback_info info) {
  const Arguments args(env, info);
  auto op = make(Code::Window);
  op->table_name = args.text(0);
  op->table = key_of(op->table_name);
  op->data.bytes = args.whole(1);
  op->width = args.whole(2);
  op->type = static_cast<Type>(args.integer(3));
  return submit(env, op);
}

napi_value table_memory(napi_env env, napi_callback_info info) {
  const Arguments args(env, info);
  napi_value buffer = nullptr;
  napi_create_external_arraybuffer(env, engine->window_data(key_of(args.text(0))), static_cast<size_t>(args.whole(1)), nullptr, nullptr, &buffer);
  napi_ref reference = nullptr;
  napi_create_reference(env, buffer, 1, &reference);
  window_buffers.push_back(reference);
  return buffer;
}

napi_value set_journal(napi_env env, napi_callback_info info) {
  engine->set_journal(Arguments(env, info).text(0));
  return nullptr;
}

napi_value abort_job(napi_env env, napi_callback_info info) { engine->abort(Arguments(env, info).text(0)); }

// The last resort, when JavaScript ended without its exit handlers (see mpi-communicator.ts).
void at_end(void*) {
  if (engine != nullptr && engine->is_open()) engine->abort("the program ended before close()");
}

// open(timeout, peerTimeout, chunkBytes, maxSleepMicroseconds, callback, oneSided): [rank, size, library, no windows because]
napi_value open(napi_env env, napi_callback_info info) {
  const Arguments args(env, info);
  if (engine != nullptr) {
    napi_throw_error(env, "SKEIN_COMM", "MPI can be opened once in the life of a process");
    return nullptr;
  }
  Options options;
  options.timeout = args.number(0);
  options.peer_timeout = args.number(1);
  options.chunk_bytes = args.whole(2);
  options.max_sleep_us = args.whole(3);
  napi_get_value_bool(env, args.values[5], &options.one_sided);
  napi_create_threadsafe_function(env, args.values[4], nullptr, to_text(env, "skein-mpi"), 0, 1, nullptr, nullptr, nullptr, call_back, &notifier);
  napi_unref_threadsafe_function(env, notifier);
  engine = new Engine(options, [](i64 id) {
    napi_call_threadsafe_function(notifier, reinterpret_cast<void*>(static_cast<std::intptr_t>(id)), napi_tsfn_nonblocking);
  });
  const std::string error = engine->start();
  if (!error.empty()) {
    napi_throw_error(env, "SKEIN_COMM", error.c_str());
    return nullptr;
  }
  napi_add_env_cleanup_hook(env, at_end, nullptr);
  napi_value result = nullptr;
  napi_create_array_with_length(env, 4, &result);
  napi_set_element(env, result, 0, to_number(env, engine->rank()));
  napi_set_element(env, result, 1, to_number(env, engine->size()));
  napi_set_element(env, result, 2, to_text(env, engine->library()));
  napi_set_element(env, result, 3, to_text(env, engine->no_windows()));
  return result;
}

}  // namespace

NAPI_MODULE_INIT() {
  const struct {
    const char* name;
    napi_callback call;
  } functions[] = {{"open", open},           {"send", send},
                   {"recv", recv},           {"barrier", barrier},
                   {"broadcast", broadcast}, {"exchange", exchange},
                   {"allReduce", all_reduce}, {"rows", rows},
                   {"wait", wait},           {"isDone", is_done},
                   {"notifyWhenDone", notify_when_done}, {"addTable", add_table},
                   {"removeTable", remove_table}, {"abort", abort_job},
                   {"setJournal", set_journal},
                   {"allocateTable", allocate_table}, {"tableMemory", table_memory},
                   {"close", close}};
  for (const auto& function : functions) {
    napi_value value;
    napi_create_function(env, function.name, NAPI_AUTO_LENGTH, function.call, nullptr, &value);
    napi_set_named_property(env, exports, function.name, value);
  }
  return exports;
}
