/** ONNX Runtime on a GPU, in headless Chromium: buffers of its device go in and come out without passing the host. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { bundleForBrowser } from '../gpu/browser/bundle.js';
import { hasChromium, openPage, withoutChromium } from '../gpu/browser/chromium.js';

test.skipIf(!hasChromium)(
  `a model of Skein runs on buffers that Skein made${withoutChromium}`,
  async () => {
    const { code } = await bundleForBrowser(`import './test/interop/ort-webgpu-page.ts';`);
    const wasm = createRequire(import.meta.url).resolve(
      'onnxruntime-web/ort-wasm-simd-threaded.asyncify.wasm',
    );
    const page = await openPage({
      html: '<!doctype html><title>Skein</title><script type="module" src="page.js"></script>',
      script: code,
      files: { '/ort.wasm': { type: 'application/wasm', data: readFileSync(wasm) } },
    });
    try {
      const result = (await page.evaluate('runOrt()')) as Record<string, unknown> & {
        got: number[];
        expected: number[];
      };
      expect(result).toMatchObject({ location: 'gpu-buffer', sameBuffer: true, alive: 0 });
      expect(result.got).toHaveLength(6);
      for (const [i, value] of result.expected.entries()) expect(result.got[i]).toBeCloseTo(value, 4);
    } finally {
      await page.close();
    }
  },
  240_000,
);
