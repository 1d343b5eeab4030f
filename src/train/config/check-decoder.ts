/** Checks the decoder against the width of the rows that it compares. */
import { decoderRegistry } from '../../gnn/decoders/decoders.js';
import { type ConfigProblem, problem } from '../../util/schema/problem.js';
import type { SkeinConfig } from './types.js';

export function checkDecoder({ model: { encoder, decoder } }: SkeinConfig): ConfigProblem[] {
  const width = encoder.layers.at(-1)?.at(-1)?.output_dim ?? -1;
  if (decoder.type === 'NODE' || width < 1 || width % 2 === 0) return [];
  const advice = 'Half of the columns are real, half imaginary; use an even output_dim in the last stage.';
  const odd = (key: string, name: string): ConfigProblem[] => [
    problem(key, 'an even encoder output', `${name} on width ${width}`, advice),
  ];
  if (decoderRegistry.get(decoder.type).operator.isComplex) return odd('model.decoder.type', decoder.type);
  const { comparator } = decoder.options;
  return comparator === 'MODULUS' ? odd('model.decoder.options.comparator', comparator) : [];
}
