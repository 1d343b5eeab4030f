/**
 * Ends the launcher of a job when `skein run` itself is killed. SIGKILL (`kill -9`, the kernel when memory runs out) leaves
 * no time to pass anything on, and launchers and ranks would continue training unseen.
 *
 * A small shell waits at the end of a pipe whose other end only this process has: the pipe closes with the process, however
 * that ended. Ranks need not watch, so any program is covered, on any machine: ending the launcher ends all its ranks.
 */
import { spawn } from 'node:child_process';

/** A line through the pipe means that the job is over; the pipe's end without one, that this process was killed. */
const watchScript = [
  'read -r over && exit 0',
  'kill -TERM "$1" 2>/dev/null',
  // Launchers answer SIGTERM within a second or two, unless they wait for a machine that is gone.
  'turn=0',
  'while kill -0 "$1" 2>/dev/null && [ "$turn" -lt 8 ]; do sleep 1; turn=$((turn + 1)); done',
  'kill -KILL "$1" 2>/dev/null',
  'if [ -n "$2" ]; then rm -rf -- "$2"; fi',
];

/**
 * Watches over the launcher with process id `pid`; `folder` is removed too when this process is killed. Gives what to call
 * when the launcher has ended.
 */
export function watchLauncher(pid: number, folder: string | null): () => void {
  const watch = spawn('sh', ['-c', watchScript.join('\n'), 'sh', String(pid), folder ?? ''], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // A group of its own: what is sent to the terminal's programs must not end it.
    detached: true,
  });
  // Without a shell the job runs all the same; it is only not watched.
  watch.on('error', () => {});
  watch.stdin.on('error', () => {});
  watch.unref();
  return () => {
    watch.stdin.end('over\n');
  };
}
