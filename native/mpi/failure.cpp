// Failures: peers that die, stop responding or call something else; and how a job ends when it must.
//
// A busy peer is not a dead one: its engine sends heart-beats while its JavaScript computes. A peer that is not heard for
// `peer_timeout` seconds, or whose process is gone (noticed immediately on the same machine), ends the job: the reason with the
// operation, tag and peer goes to stderr and to all ranks that can be reached, then MPI_Abort; if that does not return,
// this process ends by itself. An operation that waits for live peers longer than `timeout` fails with an error instead.
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>

#include "engine.h"

namespace skein_mpi {

namespace {

volatile sig_atomic_t sigterm_came = 0;
struct sigaction before_us {};

void note_sigterm(int) { sigterm_came = 1; }

// A file that the reason goes to as well; written by JavaScript's thread before anything fails.
std::mutex journal_mutex;
std::string journal_path;

void write_text(int file, const std::string& text) {
  size_t at = 0;
  while (at < text.size()) {
    const ssize_t written = write(file, text.data() + at, text.size() - at);
    if (written <= 0) return;
    at += static_cast<size_t>(written);
  }
}

void write_line(const std::string& text) { write_text(STDERR_FILENO, text + "\n"); }

// One line in the form of a run's log.txt, written in one call so that lines of several ranks do not mix.
void write_journal(int rank, const std::string& text) {
  std::lock_guard<std::mutex> lock(journal_mutex);
  if (journal_path.empty()) return;
  const int file = open(journal_path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return;
  timeval now{};
  gettimeofday(&now, nullptr);
  struct tm parts {};
  gmtime_r(&now.tv_sec, &parts);
  char date[32], time[48];
  strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(time, sizeof(time), "%s.%03dZ", date, static_cast<int>(now.tv_usec / 1000));
  write_text(file, std::string(time) + " error rank " + std::to_string(rank) + ": " + text + "\n");
  close(file);
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f s", seconds);
  return text;
}

}  // namespace

void Engine::set_journal(const std::string& path) {
  std::lock_guard<std::mutex> lock(journal_mutex);
  journal_path = path;
}

// Launchers end the other ranks with SIGTERM when one dies. JavaScript cannot handle it inside a blocked call, so the
// engine does and reports which ranks are missing; but not when the program handles SIGTERM itself.
void Engine::watch_sigterm() {
  struct sigaction now {};
  sigaction(SIGTERM, nullptr, &now);
  // Node's own handler, which only restores the terminal, is the one that resets itself.
  const bool unused = now.sa_handler == SIG_DFL || (now.sa_flags & SA_RESETHAND) != 0;
  if (!unused) return;
  before_us = now;
  struct sigaction ours {};
  ours.sa_handler = note_sigterm;
  ours.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &ours, nullptr);
}

// A process may continue after close(); then SIGTERM must end it again.
void Engine::unwatch_sigterm() {
  struct sigaction now {};
  sigaction(SIGTERM, nullptr, &now);
  if (now.sa_handler == note_sigterm) sigaction(SIGTERM, &before_us, nullptr);
  if (sigterm_came != 0) kill(getpid(), SIGTERM);
}

void Engine::check_sigterm() {
  if (sigterm_came == 0) return;
  std::string reason = "ended by SIGTERM; waiting in " + waiting_for(-1);
  for (int turn = 0; turn < 20; ++turn) {
    const auto gone = [&] {
      for (int i = 0; i < size_; ++i)
        if (i != rank_ && is_gone(i)) return i;
      return -1;
    }();
    if (gone >= 0) {
      reason = name_of_peer(gone) + " is gone; waiting in " + waiting_for(gone);
      break;
    }
    usleep(10000);
  }
  write_line("skein: rank " + std::to_string(rank_) + ": " + reason);
  write_journal(rank_, reason);
  sigaction(SIGTERM, &before_us, nullptr);
  kill(getpid(), SIGTERM);
  sleep(2);
  _exit(1);
}

void Engine::check_peers() {
  const bool look = seconds_since(looked_) > 0.1;
  if (look) looked_ = Clock::now();
  const double interval = std::min(options_.peer_timeout / 5, 5.0);
  for (int i = 0; i < size_; ++i) {
    if (i == rank_) continue;
    const Peer& peer = peers_[static_cast<size_t>(i)];
    if (look && is_gone(i)) end_job(name_of_peer(i) + " is gone; waiting in " + waiting_for(i), true);
    const double silent = seconds_since(peer.heard);
    if (silent > options_.peer_timeout)
      end_job(name_of_peer(i) + " has been silent for " + seconds_text(silent) + "; waiting in " + waiting_for(i), true);
    if (seconds_since(peer.spoke) > interval) send_heartbeat(i);
  }
}

// A process that was itself stopped (a debugger, a suspended machine) must not take its own silence for that of others.
void Engine::forgive_pause() {
  const double gap = checked_ == Clock::time_point{} ? 0 : seconds_since(checked_);
  if (gap < 0.5) return;
  const auto lost = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(gap));
  for (Peer& peer : peers_) peer.heard += lost;
  for (const OpRef& op : active_) op->started += lost;
}

void Engine::send_heartbeat(int peer) {
  Peer& to = peers_[static_cast<size_t>(peer)];
  if (to.heartbeat_open) return;
  to.heartbeat_open = true;
  Header header;
  header.kind = Kind::Heartbeat;
  send_header(peer, header, nullptr, 0, [this, peer] { peers_[static_cast<size_t>(peer)].heartbeat_open = false; });
}

// Only for processes this one can see; a process that has ended but was not waited for yet is treated as gone.
bool Engine::is_gone(int peer) const {
  const Peer& other = peers_[static_cast<size_t>(peer)];
  const std::string& machine = peers_[static_cast<size_t>(rank_)].machine;
  if (machine.empty() || other.machine != machine) return false;
  if (kill(static_cast<pid_t>(other.pid), 0) != 0 && errno == ESRCH) return true;
  std::ifstream file("/proc/" + std::to_string(other.pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return false;
  const size_t end = line.rfind(')');
  return end != std::string::npos && end + 2 < line.size() && line[end + 2] == 'Z';
}

std::string Engine::name_of_peer(int peer) const {
  const Peer& other = peers_[static_cast<size_t>(peer)];
  return "rank " + std::to_string(peer) + " (host " + other.host + ", process " + std::to_string(other.pid) + ")";
}

// The oldest operation that waits for this peer, else the oldest at all.
std::string Engine::waiting_for(int peer) const {
  for (const OpRef& op : active_)
    if (op->open.count(peer) > 0) return op->describe();
  return active_.empty() ? "nothing" : active_.front()->describe();
}

void Engine::check_timeouts() {
  if (options_.timeout <= 0) return;
  std::vector<OpRef> late;
  for (const OpRef& op : active_)
    if (seconds_since(op->started) > options_.timeout) late.push_back(op);
  for (const OpRef& op : late) {
    std::string who;
    for (const auto& [peer, count] : op->open) {
      if (peer == rank_) who += (who.empty() ? "" : "; ") + std::string("it waits for this rank itself") + unclaimed(peer);
      else
        who += (who.empty() ? "" : "; ") + name_of_peer(peer) +
               (peers_[static_cast<size_t>(peer)].left ? ", whose program has ended, is alive (heard " : " is alive (heard ") +
               seconds_text(seconds_since(peers_[static_cast<size_t>(peer)].heard)) + " ago)" + unclaimed(peer);
    }
    fail(op, op->describe() + ": not complete after " + seconds_text(options_.timeout) + "; " + who);
  }
}

// Messages of one rank arrive in order, so nothing that this one sent before is still to come.
void Engine::tell_leaving() {
  Header header;
  header.kind = Kind::Leaving;
  for (int i = 0; i < size_; ++i)
    if (i != rank_) send_header(i, header, nullptr, 0, nullptr);
}

void Engine::peer_left(int peer) {
  peers_[static_cast<size_t>(peer)].left = true;
  std::vector<OpRef> hopeless;
  for (const PostedRecv& recv : posted_)
    if (recv.source == peer && recv.space == Space::User) hopeless.push_back(recv.op);
  for (const OpRef& op : hopeless) fail(op, op->describe() + left_text(peer));
}

std::string Engine::left_text(int peer) const {
  return ": the program of " + name_of_peer(peer) + " has ended, no message comes from it any more" + unclaimed(peer);
}

void Engine::told_to_abort(int source, const std::string& reason) {
  write_line("skein: rank " + std::to_string(rank_) + ": the job was ended by rank " + std::to_string(source) + ": " + reason);
  leave_launcher_watch();
  _exit(1);
}

void Engine::end_job(const std::string& reason, bool tell_peers) {
  if (ending_) _exit(1);  // telling the others failed as well
  ending_ = true;
  write_line("skein: rank " + std::to_string(rank_) + ": " + reason);
  // Ranks that receive the reason do not log it again.
  write_journal(rank_, reason);
  leave_launcher_watch();
  // Neither a peer that cannot be reached nor MPI_Abort may keep this process alive.
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::seconds(3));
    _exit(1);
  }).detach();
  if (tell_peers && size_ > 1) {
    Header header;
    header.kind = Kind::Abort;
    const std::string text = reason.substr(0, static_cast<size_t>(kInlineBytes));
    int open = 0;
    for (int i = 0; i < size_; ++i) {
      if (i == rank_ || is_gone(i)) continue;
      ++open;
      send_header(i, header, reinterpret_cast<const u8*>(text.data()), static_cast<i64>(text.size()), [&open] { --open; });
    }
    for (int turn = 0; turn < 30; ++turn) {
      int count = 0;
      // Only requests progress: other arrivals must not start new work.
      if (open > 0) poll_requests();
      MPI_Iprobe(MPI_ANY_SOURCE, 1, control_, &count, MPI_STATUS_IGNORE);  // drives progress
      usleep(10000);
    }
  }
  MPI_Abort(MPI_COMM_WORLD, 1);
  _exit(1);
}

void Engine::abort(const std::string& reason) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    abort_reason_ = reason.empty() ? "abort without a reason" : reason;
  }
  wake_.notify_one();
  std::this_thread::sleep_for(std::chrono::seconds(5));
  _exit(1);
}

}  // namespace skein_mpi
