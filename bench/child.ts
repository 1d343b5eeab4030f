/**
 * The process that measures our side of one case. It is started once for every case and round, from the sources or as a
 * bundle of them (trees.ts), and prints one line of JSON as peers/runner.py does.
 */
import { createRequire } from 'node:module';
import { type MeasureOptions, measureCase } from './one-case.js';
import { loadSuite } from './suites/index.js';

/** The task: the only argument, as JSON. */
export interface ChildTask extends MeasureOptions {
  readonly suite: string;
  readonly name: string;
}

/** Returns the native libraries in use, in the order in which they were loaded. */
function addons(): string[] {
  return Object.keys(createRequire(import.meta.url).cache).filter((path) => path.endsWith('.node'));
}

const task = JSON.parse(process.argv[2]) as ChildTask;
const entry = (await loadSuite(task.suite)).cases.find((one) => one.name === task.name);
if (entry === undefined) throw new Error(`bench: no case "${task.name}" in ${task.suite}`);
console.log(JSON.stringify({ ...(await measureCase(entry, task)), addons: addons() }));
