/** The kinds of temporal models that are built in: a new one is its file and its line here. */
import { generalKind } from './general-kind.js';
import type { TemporalModelKind } from './model-kind.js';

export const builtInKinds: readonly TemporalModelKind[] = [generalKind];
