/** Results as a table, as JSON lines, and as a file with everything that is needed to repeat them. */
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Limits } from './limits.js';
import type { Peer } from './peer.js';
import type { CoreChoice } from './peer-core.js';
import type { Result } from './runner.js';

const round = (value: number | null, digits = 4): number | null =>
  value === null || !Number.isFinite(value) ? null : Number(value.toPrecision(digits));

/** Returns one line per case; `error` is present only if there is one. */
export function jsonLine(result: Result): string {
  const { error, ...rest } = result;
  const numbers = {
    ours_ms: round(result.ours_ms),
    peer_ms: round(result.peer_ms),
    ratio: round(result.ratio),
    limit_share: round(result.limit_share, 3),
    ours_best_ms: round(result.ours_best_ms),
    peer_best_ms: round(result.peer_best_ms),
    ours_peak_mb: round(result.ours_peak_mb, 3),
    peer_peak_mb: round(result.peer_peak_mb, 3),
    rate: round(result.rate),
  };
  return JSON.stringify({ ...rest, ...numbers, ...(error === null ? {} : { error }) });
}

const fixed = (value: number | null, digits: number): string =>
  value === null || !Number.isFinite(value) ? '–' : value.toFixed(digits);

export const tableHead = `${'case'.padEnd(36)}${'ours ms'.padStart(10)}${'peer ms'.padStart(10)}${'ratio'.padStart(8)}${'rate'.padStart(17)}${'of limit'.padStart(15)}  peer`;

export function tableLine(result: Result): string {
  const share = result.limit_share === null ? '–' : `${fixed(result.limit_share * 100, 0)} % ${result.limit}`;
  const columns = [
    result.bench.padEnd(36),
    fixed(result.ours_ms, 3).padStart(10),
    fixed(result.peer_ms, 3).padStart(10),
    fixed(result.ratio, 2).padStart(8),
    `${fixed(result.rate, 1)} ${result.unit.padEnd(7)}`.padStart(17),
    share.padStart(15),
    `  ${[result.peer_way, result.peer_config].filter(Boolean).join(', ')}`,
  ];
  return columns.join('') + (result.error === null ? '' : `\n    ${result.error}`);
}

export function limitsLine(limits: Limits): string {
  const gb = (bytes: number): string =>
    bytes < 2 ** 30 ? `${bytes / 2 ** 20} MiB` : `${bytes / 2 ** 30} GiB`;
  const copies = limits.copy.map(({ bytes, rate }) => `${rate.toFixed(1)} at ${gb(bytes)}`).join(', ');
  return `limits: gemm ${limits.gemm.toFixed(0)} GFLOP/s; copy GB/s: ${copies}; random rows ${limits.rows.toFixed(1)} GB/s`;
}

/** Describes the peer, its configurations, and its BLAS kernels. */
export function peerLines({ version, configs, cores: { chosen, own } }: Peer): string[] {
  const speed = (choice: CoreChoice): string =>
    `${choice.core ?? 'unknown'}, ${choice.gflops.toFixed(0)} GFLOP/s`;
  const instead = chosen === own ? '' : `, selected by name (its default is ${speed(own)})`;
  return [
    `peer: PyTorch ${version}; ${configs.map((config) => config.name).join(' / ')}`,
    `peer's BLAS core: ${speed(chosen)}${instead}`,
  ];
}

/** Returns the facts about the machine that are needed to interpret a number. */
export function machine(threads: number): Record<string, unknown> {
  const commit = spawnSync('git', ['rev-parse', '--short=12', 'HEAD'], { encoding: 'utf8' });
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: commit.status === 0 ? commit.stdout.trim() : null,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    threads,
    node: process.version,
  };
}

export const factsLine = (facts: Readonly<Record<string, unknown>>): string =>
  Object.entries(facts)
    .map(([key, value]) => `${key} ${value}`)
    .join(', ');

/** Appends the results, each with the machine's facts, and returns the file's path. */
export function save(suite: string, results: readonly Result[], facts: Record<string, unknown>): string {
  const folder = fileURLToPath(new URL('./results', import.meta.url));
  mkdirSync(folder, { recursive: true });
  const file = `${folder}/${suite}.jsonl`;
  const lines = results.map((result) => JSON.stringify({ ...JSON.parse(jsonLine(result)), ...facts }));
  appendFileSync(file, `${lines.join('\n')}\n`);
  return file;
}
