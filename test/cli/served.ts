/** `skein serve` as a process. */
import { type ChildProcess, spawn } from 'node:child_process';
import { skein } from '../programs.js';

export interface StartedServer {
  readonly lines: string[];
  readonly errors: () => string;
  /** The address, when it listens; rejects if the process ends before. */
  readonly listening: Promise<string>;
  /** The exit code; null if a signal ended it. */
  readonly ended: Promise<number | null>;
  /** Sends a signal and returns the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

export interface Served extends StartedServer {
  readonly url: string;
}

const running = new Set<ChildProcess>();

/** Ends the servers that a file of tests has left. */
export function endServed(): void {
  for (const child of running) child.kill('SIGKILL');
}

/** Starts the command on a free port. */
export function startServer(args: readonly string[], env: NodeJS.ProcessEnv = {}): StartedServer {
  const child = spawn(process.execPath, [...skein, 'serve', ...args, '--port', '0'], {
    env: { ...process.env, ...env },
  });
  running.add(child);
  const lines: string[] = [];
  let errors = '';
  const ended = new Promise<number | null>((resolve) =>
    child.once('close', (code) => {
      running.delete(child);
      resolve(code);
    }),
  );
  child.stderr.on('data', (data: Buffer) => {
    errors += data.toString();
  });
  const listening = new Promise<string>((resolve, reject) => {
    void ended.then((code) => reject(new Error(`ended with ${code}: ${errors}`)));
    child.stdout.on('data', (data: Buffer) => {
      lines.push(
        ...data
          .toString()
          .split('\n')
          .filter((line) => line !== ''),
      );
      const [, url] =
        /(?:Listening on |"listening","url":")(http:\/\/127\.0\.0\.1:\d+)/.exec(lines.join('\n')) ?? [];
      if (url !== undefined) resolve(url);
    });
  });
  // A caller that stops it while it starts does not wait for the address.
  listening.catch(() => undefined);
  return {
    ...{ lines, listening, ended, errors: () => errors },
    stop: (signal = 'SIGTERM') => {
      child.kill(signal);
      return ended;
    },
  };
}

/** Starts the command and waits until it listens. */
export async function serveCommand(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Served> {
  const server = startServer(args, env);
  return { ...server, url: await server.listening };
}

export const post = (url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
