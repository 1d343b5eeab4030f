/** The invariances of every layer; the values are in conv-golden.test.ts. */
import { checkLayer } from './check-layer.js';
import { layerCases } from './layer-cases.js';

for (const spec of layerCases) checkLayer(spec);
