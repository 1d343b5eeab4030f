/** The six model files as models: they run, learn, keep their promises about state and rows. */

import { readFileSync } from 'node:fs';
import { bceWithLogits } from 'skein/nn';
import { add, backward, onesLike } from 'skein/tensor';
import { GeneralModel, parseTemporalConfig, type TemporalBatch, type TemporalConfig } from 'skein/temporal';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { smallBatch } from './small-batch.js';
