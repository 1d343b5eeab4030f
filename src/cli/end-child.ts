/** Ends a forked process in order, or else by force. */
import type { ChildProcess } from 'node:child_process';

/** Milliseconds in which a process closes its connections. */
const patience = 5000;

/**
 * Disconnects a process that ends when it is disconnected, and waits until it has ended. One that still runs after `most`
 * milliseconds is killed: it may be busy with a long answer, or stopped.
 */
export async function endChild(child: ChildProcess, most: number = patience): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  if (child.connected) child.disconnect();
  const timer = setTimeout(() => child.kill('SIGKILL'), most);
  await ended.finally(() => clearTimeout(timer));
}
