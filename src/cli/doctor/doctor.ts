/**
 * The work of `skein doctor`: checks everything that Skein needs or can use, and prints the command that fixes what is
 * missing. Ends with code 1 if a required component does not work; optional ones may be missing.
 */
import { readFileSync } from 'node:fs';
import { Output } from '../../train/run/output.js';
import { hasColors, paint, type Style } from '../../train/run/terminal.js';
import { invocation } from '../../util/invocation.js';
import { version } from '../version.js';
import type { Check, CheckState } from './check.js';
import { checkKernels } from './kernels.js';
import {
  checkBuildTools,
  checkDisk,
  checkMachineMemory,
  checkNode,
  checkPlatform,
  checkPort,
} from './machine.js';
import { checkDuckDb, checkGpu, checkMetis, checkMpi, checkWordNet } from './optional.js';

/** The port of `skein serve`. */
const servePort = 8080;

export async function doctorCommand({ json }: { readonly json: boolean }): Promise<void> {
  const output = new Output({ json });
  const stage = output.stage('checking this machine', { plain: false });
  const checks = await allChecks(invocation());
  stage.end();
  const width = Math.max(...checks.map(({ name }) => name.length));
  output.text(`skein ${version}`);
  for (const check of checks) {
    for (const line of describeCheck(check, width, !json && hasColors(process.stdout))) output.text(line);
    output.event('check', { ...check });
  }
  const broken = checks.filter(({ state, needed }) => needed === true && state === 'problem');
  output.text(
    broken.length === 0 ? '\nSkein works here.' : `\nBroken: ${broken.map(({ name }) => name).join(', ')}.`,
  );
  output.event('done', { works: broken.length === 0, version });
  if (broken.length > 0) process.exitCode = 1;
}

async function allChecks(skein: string): Promise<Check[]> {
  const engines = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')).engines
    .node;
  const found = await Promise.all([
    guardProbe('platform', checkPlatform),
    guardProbe('Node.js', () => checkNode(engines)),
    guardProbe('kernels', () => checkKernels(skein)),
    guardProbe('build tools', checkBuildTools),
    guardProbe('MPI', () => checkMpi(skein)),
    guardProbe('GPU', checkGpu),
    guardProbe('METIS', checkMetis),
    guardProbe('DuckDB', checkDuckDb),
    guardProbe('WordNet', checkWordNet),
    guardProbe('disk', () => checkDisk('disk', '.')),
    guardProbe('SKEIN_DATA', () => {
      const folder = process.env['SKEIN_DATA'];
      return folder === undefined ? [] : checkDisk('SKEIN_DATA', folder);
    }),
    guardProbe('memory', checkMachineMemory),
    guardProbe('port', () => checkPort(servePort)),
  ]);
  return found.flat();
}

/** Returns the failure of a probe as a finding. */
async function guardProbe(
  name: string,
  probe: () => Check | Check[] | Promise<Check | Check[]>,
): Promise<Check | Check[]> {
  try {
    return await probe();
  } catch (error) {
    return {
      name,
      state: 'problem',
      found: `the check failed: ${error instanceof Error ? error.message : error}`,
    };
  }
}

const styles: Readonly<Record<CheckState, Style>> = { ok: 'green', missing: 'yellow', problem: 'red' };

export function describeCheck({ name, state, found, fix }: Check, width: number, colors: boolean): string[] {
  const lines = [`${paint(state.padEnd(7), styles[state], colors)}  ${name.padEnd(width)}  ${found}`];
  if (fix !== undefined && state !== 'ok') lines.push(`${' '.repeat(9 + width + 2)}→ ${fix}`);
  return lines;
}
