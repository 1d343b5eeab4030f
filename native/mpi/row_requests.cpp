// Rows of tables that other ranks registered: get, put and add by ids. The owner's engine answers, so its JavaScript need
// not take part. A request is one message (ids, then rows for put and add), its answer another: the rows, nothing, or the
// text of an error. A request for a table that is not registered yet waits for it at the owner.
//
// Requests of one rank to one owner are served in order; those of different ranks in the order of arrival. So sums of
// floats made by addRows from several ranks may differ in their last bits from run to run.
#include <cstring>

#include "engine.h"

namespace skein_mpi {

void Engine::begin_rows(const OpRef& op) {
  const i64 count = static_cast<i64>(op->ids.size());
  const i64 id_bytes = count * static_cast<i64>(sizeof(i32));
  if (op->peer == rank_) {
    std::lock_guard<std::mutex> lock(tables_mutex_);
    const auto found = tables_.find(op->table);
    const std::string error = found == tables_.end() ? "no such table on this rank"
                              : found->second.width != op->width || found->second.type != op->type
                                  ? "the table has rows of " + std::to_string(found->second.width) + " elements, or another type"
                                  : apply_rows(found->second, op->code, op->ids.data(), count, op->data.data);
    if (!error.empty()) fail(op, op->describe() + ": " + error);
    return;
  }
  if (op->code == Code::GetRows && get_by_window(op)) return;
  Header header;
  header.kind = Kind::RowRequest;
  header.code = op->code;
  header.type = op->type;
  header.tag = ++next_request_;
  header.detail = count;
  header.table = op->table;
  header.width = op->width;
  const bool get = op->code == Code::GetRows;
  const i64 row_bytes = get ? 0 : op->data.bytes;
  Bytes body(static_cast<size_t>(id_bytes + row_bytes));
  if (id_bytes > 0) std::memcpy(body.data(), op->ids.data(), static_cast<size_t>(id_bytes));
  if (row_bytes > 0) std::memcpy(body.data() + id_bytes, op->data.data, static_cast<size_t>(row_bytes));
  post_recv(op, op->peer, Space::Reply, header.tag, get ? op->data : Piece{});
  const u8* data = body.data();
  const i64 bytes = static_cast<i64>(body.size());
  send_message(op, op->peer, header, data, bytes, std::move(body));
}

void Engine::row_request_arrived(Arrival arrival) {
  const Header header = arrival.header;
  const int source = arrival.source;
  if (header.is_inline != 0) {
    serve(source, header, std::move(arrival.body));
    return;
  }
  auto body = std::make_shared<Bytes>(static_cast<size_t>(header.bytes));
  receive_payload(source, header, body->data(), [this, source, header, body] { serve(source, header, std::move(*body)); });
}

void Engine::serve(int source, const Header& header, Bytes body) {
  Header reply;
  reply.space = Space::Reply;
  reply.tag = header.tag;
  const i64 id_bytes = header.detail * static_cast<i64>(sizeof(i32));
  Bytes rows;
  std::string error;
  {
    std::lock_guard<std::mutex> lock(tables_mutex_);
    const auto found = tables_.find(header.table);
    if (found == tables_.end()) {
      Arrival parked;
      parked.header = header;
      parked.source = source;
      parked.body = std::move(body);
      parked_.push_back(std::move(parked));
      return;
    }
    const Table& table = found->second;
    const i32* ids = reinterpret_cast<const i32*>(body.data());
    if (table.width != header.width || table.type != header.type) {
      error = "rows of rank " + std::to_string(rank_) + " have " + std::to_string(table.width) + " elements, or another type";
    } else if (header.code == Code::GetRows) {
      rows.resize(static_cast<size_t>(header.detail * table.row_bytes()));
      error = apply_rows(table, header.code, ids, header.detail, rows.data());
    } else {
      error = apply_rows(table, header.code, ids, header.detail, body.data() + id_bytes);
    }
    if (!error.empty())
      error = std::string(name_of(header.code)) + " (table '" + short_name(table.name) + "', rank " + std::to_string(rank_) + "): " + error;
  }
  if (!error.empty()) {
    reply.failed = 1;
    rows.assign(error.begin(), error.end());
  }
  const u8* data = rows.data();
  const i64 bytes = static_cast<i64>(rows.size());
  send_message(nullptr, source, reply, data, bytes, std::move(rows));
}

namespace {
template <class T>
void add_row(u8* to, const u8* from, i64 width) {
  T* sum = reinterpret_cast<T*>(to);
  for (i64 k = 0; k < width; ++k) {
    T value;
    std::memcpy(&value, from + k * static_cast<i64>(sizeof(T)), sizeof(T));
    sum[k] += value;
  }
}
}  // namespace

// All ids are checked before the first row is touched: a request is done as a whole or not at all.
std::string Engine::apply_rows(const Table& table, Code code, const i32* ids, i64 count, u8* rows) const {
  for (i64 i = 0; i < count; ++i) {
    if (ids[i] < 0 || ids[i] >= table.rows)
      return "expected ids from 0 to " + std::to_string(table.rows - 1) + ", got " + std::to_string(ids[i]) + " at position " +
             std::to_string(i);
  }
  const i64 length = table.row_bytes();
  for (i64 i = 0; i < count; ++i) {
    u8* row = table.data + ids[i] * length;
    u8* other = rows + i * length;
    if (code == Code::GetRows) std::memcpy(other, row, static_cast<size_t>(length));
    if (code == Code::PutRows) std::memcpy(row, other, static_cast<size_t>(length));
    if (code != Code::AddRows) continue;
    if (table.type == Type::F32) add_row<float>(row, other, table.width);
    if (table.type == Type::F64) add_row<double>(row, other, table.width);
    if (table.type == Type::I32) add_row<i32>(row, other, table.width);
  }
  return "";
}

void Engine::serve_parked(u64 key) {
  std::deque<Arrival> waiting;
  waiting.swap(parked_);
  for (Arrival& arrival : waiting) {
    if (arrival.header.table == key) serve(arrival.source, arrival.header, std::move(arrival.body));
    else parked_.push_back(std::move(arrival));
  }
}

}  // namespace skein_mpi
