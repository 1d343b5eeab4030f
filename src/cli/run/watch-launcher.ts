/**
 * Ends the launcher of a job when `skein run` itself is killed. SIGKILL (`kill -9`, the kernel when memory runs out) cannot
 * be passed on, and launchers and ranks would continue unnoticed.
 *
 * A small shell reads from a pipe whose other end only this process holds: the pipe closes with the process, however it
 * ends. Ending the launcher ends all its ranks, so this covers any program on any machine.
 */
import { spawn } from 'node:child_process';

/** A line through the pipe means that the job is over; the end of the pipe without one, that this process was killed. */
const watchScript = [
  'read -r over && exit 0',
  'kill -TERM "$1" 2>/dev/null',
  // Launchers handle SIGTERM within a second or two, unless they wait for an unreachable machine.
  'turn=0',
  'while kill -0 "$1" 2>/dev/null && [ "$turn" -lt 8 ]; do sleep 1; turn=$((turn + 1)); done',
  'kill -KILL "$1" 2>/dev/null',
  'if [ -n "$2" ]; then rm -rf -- "$2"; fi',
];

/**
 * Watches the launcher with process id `pid`; `folder` is removed too if this process is killed. Returns a function to
 * call when the launcher has ended.
 */
export function watchLauncher(pid: number, folder: string | null): () => void {
  const watch = spawn('sh', ['-c', watchScript.join('\n'), 'sh', String(pid), folder ?? ''], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // A separate process group: signals from the terminal must not end it.
    detached: true,
  });
  // Without a shell the job runs unwatched.
  watch.on('error', () => {});
  watch.stdin.on('error', () => {});
  watch.unref();
  return () => {
    watch.stdin.end('over\n');
  };
}
