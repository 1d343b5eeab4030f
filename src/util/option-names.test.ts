import { describe, expect, it } from 'vitest';
import { checkOptionNames } from './option-names.js';

describe('a misspelt option', () => {
  const names = { pipelineDepth: true, mode: true } as const;
  const options = (name: string) => ({ [name]: 1 }) as { pipelineDepth?: number; mode?: number };

  it.each([
    ['pipeline_depth', 'Did you mean pipelineDepth?'],
    ['pipelinedepth', 'Did you mean pipelineDepth?'],
    ['mod', 'Did you mean mode?'],
    ['colour', 'Known options: mode, pipelineDepth.'],
  ])('%s', (name, advice) => {
    expect(() => checkOptionNames('f', options(name), names)).toThrow(
      `f: expected a known option, got ${name}. ${advice}`,
    );
  });

  it('options that are not an object are rejected', () => {
    expect(() => checkOptionNames('f', 7 as never, {})).toThrow('f: expected an object for options, got 7.');
  });
});

it('checked options may be passed on unchanged', () => {
  const options = { mode: 1, own: 2 };
  checkOptionNames('outer', options, { mode: true, own: true });
  expect(() => checkOptionNames<{ mode?: number }>('inner', options, { mode: true })).not.toThrow();
  expect(() => checkOptionNames<{ mode?: number }>('inner', { ...options }, { mode: true })).toThrow(
    'inner: expected a known option, got own.',
  );
});

it('checked options that were changed are checked again', () => {
  const options: { mode?: number; own?: number; mod?: number } = { mode: 1 };
  const names = { mode: true } as const;
  checkOptionNames<{ mode?: number }>('outer', options, names);
  options.mod = 2;
  expect(() => checkOptionNames<{ mode?: number }>('outer', options, names)).toThrow(
    'outer: expected a known option, got mod. Did you mean mode?',
  );
  delete options.mod;
  expect(() => checkOptionNames<{ mode?: number }>('outer', options, names)).not.toThrow();
});
