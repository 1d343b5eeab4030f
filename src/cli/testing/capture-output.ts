/** Captures the output of commands that a test runs in its process. For tests only. */
import { beforeAll, beforeEach, vi } from 'vitest';

export interface CapturedOutput {
  out: string;
  err: string;
  clear(): void;
}

/** Call once at the top of a test file: captures from the first hook to the last, and starts empty in each test. */
export function captureOutput(): CapturedOutput {
  const printed = {
    out: '',
    err: '',
    clear(): void {
      printed.out = printed.err = '';
    },
  };
  beforeAll(() => {
    const spies = [
      vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
        printed.out += text;
        return true;
      }),
      vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
        printed.err += text;
        return true;
      }),
    ];
    return () => {
      for (const spy of spies) spy.mockRestore();
    };
  });
  beforeEach(() => printed.clear());
  return printed;
}
