// One-sided reading: tables in memory that MPI has made (MPI_Win_allocate), whose rows other ranks read without the owner's
// thread. Writing and adding stay requests, and so do tables in JavaScript's own memory.
//
// Whether it works is tried at start by all ranks together: over TCP, Open MPI 4.1 cannot make windows. Windows are locked
// for ever in shared mode; a read is one request (MPI_Rget) with the rows as a datatype, so that it never blocks the thread
// and a peer that dies in it is noticed as in all other operations. The reader checks the ids here: it has
// how many rows each rank has.
#include <algorithm>
#include <cstring>

#include "engine.h"

namespace skein_mpi {

bool Engine::all_agree(bool good) const {
  int mine = good ? 1 : 0, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, data_);
  return all == 1;
}

void Engine::probe_windows() {
  if (!all_agree(options_.one_sided)) {
    no_windows_ = options_.one_sided ? "not all ranks asked for them" : "not asked for";
    return;
  }
  MPI_Win window = MPI_WIN_NULL;
  i32* data = nullptr;
  const bool made = MPI_Win_allocate(sizeof(i32), 1, MPI_INFO_NULL, data_, &data, &window) == MPI_SUCCESS;
  if (!all_agree(made)) {
    no_windows_ = "MPI cannot make them between these ranks";  // what a part of the ranks made cannot be freed
    return;
  }
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  int* model = nullptr;
  int found = 0;
  MPI_Win_get_attr(window, MPI_WIN_MODEL, &model, &found);
  *data = rank_;
  MPI_Barrier(data_);
  const int next = (rank_ + 1) % size_;
  i32 got = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  const bool locked = MPI_Win_lock_all(MPI_MODE_NOCHECK, window) == MPI_SUCCESS;
  const bool read = locked && MPI_Rget(&got, sizeof(i32), MPI_BYTE, next, 0, sizeof(i32), MPI_BYTE, window, &request) == MPI_SUCCESS &&
                    MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && got == next;
  if (!all_agree(read)) no_windows_ = "reading through a window failed";
  // Only with one copy of the memory do readers see what JavaScript writes.
  if (!all_agree(found != 0 && *model == MPI_WIN_UNIFIED)) no_windows_ = "windows of this library have a copy of the memory";
  if (locked) MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

void Engine::make_window(const OpRef& op) {
  Window window;
  window.width = op->width;
  window.type = op->type;
  const bool made = MPI_Win_allocate(static_cast<MPI_Aint>(op->data.bytes), 1, MPI_INFO_NULL, data_, &window.data, &window.handle) == MPI_SUCCESS;
  if (!all_agree(made)) {
    fail(op, op->describe() + ": MPI_Win_allocate failed on some rank for " + std::to_string(op->data.bytes) + " bytes here");
    return;
  }
  if (op->data.bytes > 0) std::memset(window.data, 0, static_cast<size_t>(op->data.bytes));
  MPI_Win_set_errhandler(window.handle, MPI_ERRORS_RETURN);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window.handle);
  const i64 rows = op->data.bytes / (op->width * element_bytes(op->type));
  window.rows.resize(static_cast<size_t>(size_));
  MPI_Allgather(&rows, sizeof(i64), MPI_BYTE, window.rows.data(), sizeof(i64), MPI_BYTE, data_);
  windows_[op->table] = window;
}

u8* Engine::window_data(u64 key) const {
  const auto found = windows_.find(key);
  return found == windows_.end() ? nullptr : found->second.data;
}

// False: there is no such window, send a request.
bool Engine::get_by_window(const OpRef& op) {
  const auto found = windows_.find(op->table);
  if (found == windows_.end()) return false;
  const Window& window = found->second;
  const i64 rows = window.rows[static_cast<size_t>(op->peer)];
  if (window.width != op->width || window.type != op->type) {
    fail(op, op->describe() + ": the table has rows of " + std::to_string(window.width) + " elements, or another type");
    return true;
  }
  const auto wrong = std::find_if(op->ids.begin(), op->ids.end(), [rows](i32 id) { return id < 0 || id >= rows; });
  if (wrong != op->ids.end()) {
    fail(op, op->describe() + ": expected ids from 0 to " + std::to_string(rows - 1) + ", got " + std::to_string(*wrong) +
                 " at position " + std::to_string(wrong - op->ids.begin()));
    return true;
  }
  const i64 row_bytes = window.width * element_bytes(window.type);
  const i64 count = static_cast<i64>(op->ids.size()), step = std::max<i64>(1, options_.chunk_bytes / row_bytes);
  auto transfer = std::make_shared<Transfer>();
  transfer->peer = op->peer;
  transfer->done = [this, op] { part_done(op, op->peer); };
  part_opened(op, op->peer);
  for (i64 at = 0; at < count; at += step) {
    const int here = static_cast<int>(std::min(step, count - at));
    std::vector<MPI_Aint> places(static_cast<size_t>(here));
    for (int i = 0; i < here; ++i) places[static_cast<size_t>(i)] = static_cast<MPI_Aint>(op->ids[static_cast<size_t>(at + i)] * row_bytes);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_hindexed_block(here, static_cast<int>(row_bytes), places.data(), MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Request request = MPI_REQUEST_NULL;
    const int status = MPI_Rget(op->data.data + at * row_bytes, static_cast<int>(here * row_bytes), MPI_BYTE, op->peer, 0, 1, type,
                                window.handle, &request);
    MPI_Type_free(&type);
    track(status, request, transfer);
  }
  return true;
}

void Engine::free_windows() {
  for (auto& [key, window] : windows_) {
    MPI_Win_unlock_all(window.handle);
    MPI_Win_free(&window.handle);
  }
  windows_.clear();
}

}  // namespace skein_mpi
