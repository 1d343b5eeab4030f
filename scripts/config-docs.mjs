/**
 * Writes docs/configuration.md and docs/configuration.schema.json from the schemas in src. `--check` writes nothing and
 * fails if a file is out of date. Runs under tsx: `npm run docs`.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { documentConfig } from '../src/train/config/document.js';
import { configJsonSchema } from '../src/train/json-schema.js';
import { root } from './steps.mjs';

const files = {
  'configuration.md': documentConfig(),
  'configuration.schema.json': `${JSON.stringify(configJsonSchema())}\n`,
};
for (const [name, text] of Object.entries(files)) {
  const path = join(root, 'docs', name);
  if (!process.argv.includes('--check')) writeFileSync(path, text);
  else if (!existsSync(path) || readFileSync(path, 'utf8') !== text) {
    console.error(`config-docs: docs/${name} is out of date. Try: npm run docs`);
    process.exitCode = 1;
  }
}
