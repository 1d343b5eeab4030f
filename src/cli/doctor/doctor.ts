/**
 * The work of `skein doctor`: looks at everything that Skein needs or can use, and names the command that mends what is
 * missing. Ends with code 1 when something that is needed does not work; what is optional may be missing.
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
  const stage = output.stage('looking at this machine', { plain: false });
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
    guarded('platform', checkPlatform),
    guarded('Node.js', () => checkNode(engines)),
    guarded('kernels', () => checkKernels(skein)),
    guarded('build tools', checkBuildTools),
    guarded('MPI', () => checkMpi(skein)),
    guarded('GPU', checkGpu),
    guarded('METIS', checkMetis),
    guarded('DuckDB', checkDuckDb),
    guarded('WordNet', checkWordNet),
    guarded('disk', () => checkDisk('disk', '.')),
    guarded('SKEIN_DATA', () => {
      const folder = process.env['SKEIN_DATA'];
      return folder === undefined ? [] : checkDisk('SKEIN_DATA', folder);
    }),
    guarded('memory', checkMachineMemory),
    guarded('port', () => checkPort(servePort)),
  ]);
  return found.flat();
}

/** A probe that fails is a finding like any other. */
async function guarded(
  name: string,
  probe: () => Check | Check[] | Promise<Check | Check[]>,
): Promise<Check | Check[]> {
  try {
    return await probe();
  } catch (error) {
    return {
      name,
      state: 'problem',
      found: `could not be found out: ${error instanceof Error ? error.message : error}`,
    };
  }
}

const styles: Readonly<Record<CheckState, Style>> = { ok: 'green', missing: 'yellow', problem: 'red' };

export function describeCheck({ name, state, found, fix }: Check, width: number, colors: boolean): string[] {
  const lines = [`${paint(state.padEnd(7), styles[state], colors)}  ${name.padEnd(width)}  ${found}`];
  if (fix !== undefined && state !== 'ok') lines.push(`${' '.repeat(9 + width + 2)}→ ${fix}`);
  return lines;
}
