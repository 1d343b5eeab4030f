/** Opens runs for serving. */
import { EventPredictor } from '../predict/event-predictor.js';
import { openModel } from '../predict/index.js';
import { MemoryStream } from './memory-stream.js';
import type { RunPath } from './model-sources.js';
import type { ModelSource } from './served-model.js';

export interface OpenOptions {
  readonly command: string;
  /** Modules to import first, which register types for configurations. */
  readonly plugins?: readonly string[];
  readonly onWarning?: (message: string) => void;
  readonly onError?: (error: unknown) => void;
}

export function modelSource({ name, path }: RunPath, options: OpenOptions): ModelSource {
  const { command, plugins = [], onWarning, onError } = options;
  return {
    ...{ name, path },
    open: async () => {
      const predictor = await openModel(path, {
        ...{ command, plugins },
        ...(onWarning === undefined ? {} : { onWarning }),
      });
      const stream =
        predictor instanceof EventPredictor
          ? new MemoryStream(predictor, onError === undefined ? {} : { onError })
          : null;
      return { predictor, stream };
    },
  };
}
