/**
 * Writes docs/configuration.md from the schema in src/train/config. `--check` writes nothing and fails when the file is
 * out of date. Runs under tsx: `npm run docs`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { documentConfig } from '../src/train/config/document.js';
import { root } from './steps.mjs';

const path = join(root, 'docs', 'configuration.md');
const text = documentConfig();
if (!process.argv.includes('--check')) {
  writeFileSync(path, text);
} else if (readFileSync(path, 'utf8') !== text) {
  console.error('config-docs: docs/configuration.md is out of date. Try: npm run docs');
  process.exitCode = 1;
}
