/** What commands print while a test runs them in its own process, kept instead of shown. For tests only. */
import { beforeAll, beforeEach, vi } from 'vitest';

export interface CapturedOutput {
  out: string;
  err: string;
  clear(): void;
}

/** Call it once, at the head of a test file: captures from the first hook to the last, and starts empty in every test. */
export function capturedOutput(): CapturedOutput {
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
