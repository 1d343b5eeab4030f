// Ends the launcher of a job that has ended, when it does not do so by itself.
//
// mpirun and the daemons it starts on other hosts wait for each other, for a quarter of an hour when the network between
// them is gone. The ranks are dead by then, but the command would seem to hang and daemons would stay. So a rank that ends
// the job leaves a small process behind, which looks whether the launcher above it is gone and ends it after a while. Only
// programs that are started for one job are touched; Slurm's and others' are not.
#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine.h"

namespace skein_mpi {

namespace {

struct Process {
  char name[64] = "";
  pid_t parent = 0;
  unsigned long long started = 0;  // with the process id, this names a process for ever
};

// Only calls that are allowed between fork and exec, because the process that is left behind uses it.
bool look_at(pid_t pid, Process& process) {
  char path[32] = "/proc/", digits[16], text[1024];
  int length = 0;
  for (pid_t rest = pid; rest > 0; rest /= 10) digits[length++] = static_cast<char>('0' + rest % 10);
  size_t at = 6;
  while (length > 0) path[at++] = digits[--length];
  std::memcpy(path + at, "/stat", 6);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t bytes = read(file, text, sizeof(text) - 1);
  close(file);
  if (bytes <= 0) return false;
  text[bytes] = '\0';
  const char* first = std::strchr(text, '(');
  const char* last = std::strrchr(text, ')');
  if (first == nullptr || last == nullptr || last - first > 60) return false;
  std::memcpy(process.name, first + 1, static_cast<size_t>(last - first - 1));
  process.name[last - first - 1] = '\0';
  const char* field = last + 1;
  for (int number = 3; number <= 22 && *field != '\0'; ++number) {
    ++field;  // the blank before it
    unsigned long long value = 0;
    if (number == 3 && *field == 'Z') return false;
    for (; *field != ' ' && *field != '\0'; ++field)
      if (*field >= '0' && *field <= '9') value = value * 10 + static_cast<unsigned>(*field - '0');
    if (number == 4) process.parent = static_cast<pid_t>(value);
    if (number == 22) process.started = value;
  }
  return true;
}

bool is_launcher(const char* name) {
  static const char* const names[] = {"mpirun", "mpiexec", "orterun", "orted", "prterun"};
  for (const char* known : names)
    if (std::strcmp(known, name) == 0) return true;
  return false;
}

bool is_there(pid_t pid, unsigned long long started) {
  Process now;
  return look_at(pid, now) && now.started == started;
}

// False when the launcher is still there after `seconds`.
bool gone_within(int seconds, pid_t pid, unsigned long long started) {
  const timespec pause{0, 200'000'000};
  for (int turn = 0; turn < 5 * seconds; ++turn) {
    if (!is_there(pid, started)) return true;
    nanosleep(&pause, nullptr);
  }
  return false;
}

}  // namespace

void leave_launcher_watch() {
  pid_t pid = getppid();
  Process launcher;
  int steps = 0;
  // Shells, npx and other processes may be in between.
  while (pid > 1 && look_at(pid, launcher) && !is_launcher(launcher.name) && ++steps < 8) pid = launcher.parent;
  if (pid <= 0 || !is_launcher(launcher.name)) return;
  if (fork() != 0) return;
  // A separate process group, because launchers end that of the rank; no open files, because they wait for these to close.
  setsid();
  for (int file = 0; file < 4096; ++file) close(file);
  signal(SIGTERM, SIG_IGN);
  // Not SIGTERM: Open MPI's handler waits for the daemons again, or crashes.
  if (!gone_within(6, pid, launcher.started)) kill(pid, SIGKILL);
  _exit(0);
}

}  // namespace skein_mpi
