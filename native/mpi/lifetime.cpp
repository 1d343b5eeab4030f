// The first and the last things an engine does with MPI.
#include <dlfcn.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "engine.h"

namespace skein_mpi {

namespace {

// MPI implementations load plugins that need MPI's symbols; Node loads addons with these hidden.
void make_symbols_global() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&MPI_Init_thread), &info) != 0 && info.dli_fname != nullptr)
    dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

// Boot and namespace of process ids: containers may share a host's name without seeing each other's processes.
std::string machine_id() {
  char link[64] = "";
  const ssize_t length = readlink("/proc/self/ns/pid", link, sizeof(link) - 1);
  std::ifstream boot("/proc/sys/kernel/random/boot_id");
  std::string id;
  if (length <= 0 || !(boot >> id)) return "";
  return id + "/" + std::string(link, static_cast<size_t>(length));
}
}  // namespace

bool Engine::init_mpi() {
  make_symbols_global();
  int provided = 0, before = 0;
  MPI_Initialized(&before);
  if (before != 0) {
    start_error_ = "MPI is already initialised in this process";
    return false;
  }
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
    start_error_ = "MPI_Init_thread failed";
    return false;
  }
  if (provided < MPI_THREAD_FUNNELED) {
    start_error_ = "this MPI library supports no threads (MPI_THREAD_FUNNELED is needed)";
    return false;
  }
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  library_.assign(version, strcspn(version, ",\n"));
  MPI_Comm_dup(MPI_COMM_WORLD, &control_);
  MPI_Comm_dup(MPI_COMM_WORLD, &data_);
  // A failed transfer ends the job with a reason (poll_requests); MPI's own handler would end it without one.
  MPI_Comm_set_errhandler(control_, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(data_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(control_, &rank_);
  MPI_Comm_size(control_, &size_);
  exchange_addresses();
  probe_windows();
  open_slots();
  watch_sigterm();
  return true;
}

// Host and process of each rank: the end of a peer on this host is noticed immediately, and messages name host and process.
void Engine::exchange_addresses() {
  struct Address {
    i64 pid;
    char host[64];
    char machine[192];
  };
  Address mine{};
  mine.pid = getpid();
  gethostname(mine.host, sizeof(mine.host) - 1);
  const std::string machine = machine_id();
  std::strncpy(mine.machine, machine.c_str(), sizeof(mine.machine) - 1);
  std::vector<Address> all(static_cast<size_t>(size_));
  MPI_Allgather(&mine, sizeof(Address), MPI_BYTE, all.data(), sizeof(Address), MPI_BYTE, control_);
  peers_.resize(static_cast<size_t>(size_));
  for (int i = 0; i < size_; ++i) {
    Peer& peer = peers_[static_cast<size_t>(i)];
    peer.pid = all[static_cast<size_t>(i)].pid;
    peer.host = all[static_cast<size_t>(i)].host;
    peer.machine = all[static_cast<size_t>(i)].machine;
    peer.heard = peer.spoke = Clock::now();
  }
}

void Engine::close_mpi() {
  // All ranks have called close, so what is in flight now ends soon or never.
  for (int i = 0; i < 10000 && !requests_.empty(); ++i) {
    poll_slots();
    poll_requests();
    if (i > 100) usleep(100);
  }
  for (const OpRef& op : std::vector<OpRef>(active_)) {
    if (op->code == Code::Recv) settle(op, Op::State::Failed, op->describe() + ": the communicator was closed");
    else end_job("close: " + op->describe() + " was never completed", true);
  }
  // The barrier cannot be watched over from this thread: a peer that dies in it must not keep this process.
  auto finalised = std::make_shared<std::atomic<bool>>(false);
  std::thread([finalised, limit = options_.peer_timeout] {
    std::this_thread::sleep_for(std::chrono::duration<double>(limit));
    if (!*finalised) _exit(1);
  }).detach();
  MPI_Barrier(data_);
  for (MPI_Request& request : slot_requests_) {
    if (request == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  free_windows();
  MPI_Comm_free(&control_);
  MPI_Comm_free(&data_);
  MPI_Finalize();
  unwatch_sigterm();
  *finalised = true;
  std::lock_guard<std::mutex> lock(mutex_);
  open_ = false;
  settled_.notify_all();
}

}  // namespace skein_mpi
