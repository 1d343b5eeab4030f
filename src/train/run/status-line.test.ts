import { afterEach, describe, expect, it, vi } from 'vitest';
import { duration } from './durations.js';
import { Output } from './output.js';
import { ProgressReporter } from './progress-reporter.js';
import { renderProgress, StatusLine } from './status-line.js';
import { canRedraw, hasColors } from './terminal.js';

/** Returns the final content of a terminal: for each line, the text drawn after it was last erased. */
function screen(text: string): (string | undefined)[] {
  return text.split('\n').map((line) => line.split('\r\x1b[K').at(-1));
}

function terminal(columns = 80) {
  const stream = { isTTY: true, columns, text: '', write: (text: string) => (stream.text += text) };
  return stream;
}

afterEach(() => vi.unstubAllEnvs());

describe('renderProgress', () => {
  const view = { label: 'epoch 3/15', fraction: 0.5, details: ['41.2k edges/s', 'loss 1.234', '0:07 left'] };

  it('shows label, bar, percentage and details', () => {
    expect(renderProgress(view, 79, false, false)).toBe(
      'epoch 3/15  ###########...........   50 %  41.2k edges/s  loss 1.234  0:07 left',
    );
  });

  it.each([200, 80, 60, 40, 30, 20, 12, 5, 1])('is never wider than %d columns', (width) => {
    for (const fraction of [0, 0.5, 1, null]) {
      expect(renderProgress({ ...view, fraction }, width, false, true).length).toBeLessThanOrEqual(width);
      expect(renderProgress({ ...view, fraction }, width, false, false).length).toBeLessThanOrEqual(
        Math.max(width, 3),
      );
    }
  });

  it('drops the last details first, then the bar', () => {
    expect(renderProgress(view, 40, false, false)).toMatch(
      /^epoch 3\/15 {2}[#.]+ {3}50 % {2}41.2k edges\/s$|^epoch 3\/15 {2}[#.]+ {3}50 %$/,
    );
    expect(renderProgress(view, 20, false, false)).toBe('epoch 3/15  50 %');
  });

  it('has colours only when asked', () => {
    expect(renderProgress(view, 80, true, true)).toContain('\x1b[36m');
    expect(renderProgress(view, 80, false, true)).not.toContain('\x1b');
  });
});

describe('StatusLine', () => {
  it('disappears before other lines, which appear once', () => {
    vi.stubEnv('TERM', 'xterm');
    const stream = terminal();
    const output = new Output({ stdout: stream, stderr: stream });
    const progress = new ProgressReporter({ status: output.status, stream, endLine: false });
    for (let epoch = 1; epoch <= 3; epoch++) {
      progress.start(epoch, 100);
      for (let i = 0; i < 10; i++) progress.addResult(10, 5);
      output.text(`epoch ${epoch}  loss 0.5`);
    }
    expect(screen(stream.text)).toEqual(['epoch 1  loss 0.5', 'epoch 2  loss 0.5', 'epoch 3  loss 0.5', '']);
  });

  it('is not drawn more often than the eye can see', () => {
    vi.stubEnv('TERM', 'xterm');
    const stream = terminal();
    let now = 0;
    const line = new StatusLine(stream, () => now);
    for (; now < 1000; now++) line.show({ label: 'x', fraction: now / 1000 });
    expect(stream.text.split('\r').length - 1).toBeLessThanOrEqual(14);
  });

  it.each([
    ['a pipe', {}, { isTTY: false }],
    ['a dumb terminal', { TERM: 'dumb' }, { isTTY: true }],
  ])('writes nothing to %s', (_, env, stream) => {
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    const sink = { ...terminal(), ...stream };
    new StatusLine(sink).show({ label: 'x', fraction: 0.5 }, true);
    expect(sink.text).toBe('');
  });
});

it.each([
  ['a terminal', { isTTY: true }, { TERM: 'xterm' }, true],
  ['a pipe', { isTTY: false }, { TERM: 'xterm' }, false],
  ['a dumb terminal', { isTTY: true }, { TERM: 'dumb' }, false],
  ['NO_COLOR', { isTTY: true }, { NO_COLOR: '1' }, false],
  ['an empty NO_COLOR', { isTTY: true }, { NO_COLOR: '' }, true],
  ['FORCE_COLOR on a pipe', { isTTY: false }, { FORCE_COLOR: '1' }, true],
  ['FORCE_COLOR=0', { isTTY: true }, { FORCE_COLOR: '0' }, false],
  ['both', { isTTY: true }, { FORCE_COLOR: '1', NO_COLOR: '1' }, true],
])('colours on %s', (_, stream, env, colors) => {
  expect(hasColors({ write: () => true, ...stream }, env)).toBe(colors);
});

it('redraws on terminals only', () => {
  expect(canRedraw({ write: () => true, isTTY: true }, {})).toBe(true);
  expect(canRedraw({ write: () => true }, {})).toBe(false);
});

it.each([
  [0.842, '0.84 s'],
  [5.24, '5.2 s'],
  [12.4, '12 s'],
  [59.7, '1 min 0 s'],
  [72, '1 min 12 s'],
  [7380, '2 h 3 min'],
])('%d seconds are %s', (seconds, text) => {
  expect(duration(seconds)).toBe(text);
});

it('stages are plain lines without a terminal', () => {
  let err = '';
  const sink = { write: (text: string) => (err += text) };
  const stage = new Output({ stdout: sink, stderr: sink }).stage('reading edges');
  stage.update(5, 10);
  stage.end();
  expect(err).toBe('reading edges …\n');
});
