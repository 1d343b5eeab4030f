/**
 * PostgreSQL and MariaDB for tests: each in a temporary directory, on a free port of the loopback interface, as an
 * unprivileged user. Debian: `apt-get install postgresql mariadb-server`; their services need not run.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export const password = 'pässword&7';

export interface DatabaseServer {
  /** Address with the password. */
  readonly url: string;
  readonly port: number;
  /** Ends the server at once. */
  kill(): void;
  close(): Promise<void>;
}

/** Debian's user without rights, if the tests run as root, which PostgreSQL rejects. */
const user: { readonly uid?: number; readonly gid?: number } =
  process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};

function give(path: string): void {
  if (user.uid !== undefined && user.gid !== undefined) chownSync(path, user.uid, user.gid);
}

const postgresFolder = '/usr/lib/postgresql';
const postgresVersion = existsSync(postgresFolder) ? readdirSync(postgresFolder).sort().at(-1) : undefined;
export const hasPostgres = postgresVersion !== undefined;
export const hasMariaDb = existsSync('/usr/sbin/mariadbd');

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', () => done()));
  const { port } = server.address() as { port: number };
  await new Promise((done) => server.close(done));
  return port;
}

function newFolder(): string {
  const folder = mkdtempSync('/tmp/skein-db-');
  give(folder);
  return folder;
}

function run(program: string, args: readonly string[], cwd: string): void {
  const { status, stderr, stdout } = spawnSync(program, args, {
    ...user,
    cwd,
    encoding: 'utf8',
    env: { PATH: '/usr/bin:/bin' },
  });
  if (status !== 0) throw new Error(`${program}: ${stderr}${stdout}`);
}

/** Starts a server and waits until `isReady` returns true. */
async function start(
  program: string,
  args: readonly string[],
  folder: string,
  isReady: () => boolean,
): Promise<Pick<DatabaseServer, 'kill' | 'close'>> {
  const child: ChildProcess = spawn(program, args, {
    ...user,
    cwd: folder,
    stdio: 'ignore',
    env: { PATH: '/usr/bin:/bin' },
  });
  const ended = new Promise<void>((done) => child.once('exit', () => done()));
  const close = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  for (let tries = 0; !isReady(); tries++) {
    if (child.exitCode !== null || tries > 300) {
      await close();
      throw new Error(`${program} did not start`);
    }
    await sleep(200);
  }
  return { kill: () => child.kill('SIGKILL'), close };
}

export async function startPostgres(): Promise<DatabaseServer> {
  const programs = `${postgresFolder}/${postgresVersion}/bin`;
  const folder = newFolder();
  const [data, secret] = [join(folder, 'data'), join(folder, 'password')];
  writeFileSync(secret, password);
  give(secret);
  run(
    `${programs}/initdb`,
    ['-D', data, '-U', 'ana', '-A', 'scram-sha-256', `--pwfile=${secret}`, '-N'],
    folder,
  );
  const port = await freePort();
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: folder,
    fsync: 'off',
    port: String(port),
  };
  const args = Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
  const ready = [`--host=127.0.0.1`, `--port=${port}`];
  const server = await start(
    `${programs}/postgres`,
    ['-D', data, ...args],
    folder,
    () => spawnSync(`${programs}/pg_isready`, ready).status === 0,
  );
  return {
    ...server,
    port,
    url: `postgres://ana:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`,
  };
}

export async function startMariaDb(): Promise<DatabaseServer> {
  const folder = newFolder();
  const [data, init, socket] = ['data', 'init.sql', 'socket'].map((name) => join(folder, name));
  writeFileSync(
    init,
    `SET NAMES utf8mb4;\nCREATE DATABASE shop;\nCREATE USER 'ana'@'127.0.0.1' IDENTIFIED BY '${password}';\nGRANT ALL ON shop.* TO 'ana'@'127.0.0.1';\n`,
  );
  run(
    '/usr/bin/mariadb-install-db',
    ['--no-defaults', `--datadir=${data}`, '--skip-test-db', '--auth-root-authentication-method=normal'],
    folder,
  );
  const port = await freePort();
  const server = await start(
    '/usr/sbin/mariadbd',
    [
      ...[
        '--no-defaults',
        `--datadir=${data}`,
        `--socket=${socket}`,
        `--init-file=${init}`,
        '--skip-name-resolve',
      ],
      ...['--bind-address=127.0.0.1', `--port=${port}`, `--pid-file=${join(folder, 'pid')}`],
      ...['--character-set-server=utf8mb4', '--innodb-flush-log-at-trx-commit=0'],
    ],
    folder,
    () => existsSync(socket),
  );
  return { ...server, port, url: `mariadb://ana:${encodeURIComponent(password)}@127.0.0.1:${port}/shop` };
}
