/** Checks the decoder against the width of the rows that it compares. */
import { decoderRegistry } from '../../gnn/decoders/decoders.js';
import { type ConfigProblem, problem } from '../../util/schema/problem.js';
import type { SkeinConfig } from './types.js';

export function checkDecoder({ model: { encoder, decoder } }: SkeinConfig): ConfigProblem[] {
  if (decoder.type === 'NODE') return [];
  const { comparator, bias } = decoder.options;
  const width = encoder.layers.at(-1)?.at(-1)?.output_dim ?? -1;
  const problems: ConfigProblem[] = [];
  if (bias && comparator !== 'SQUARED_L2') {
    const advice = 'Only squared distances have biases; set bias: false, or this comparator.';
    const what = 'SQUARED_L2 with model.decoder.options.bias';
    problems.push(problem('model.decoder.options.comparator', what, comparator, advice));
  }
  if (width < 1) return problems;
  if (bias && width < 2)
    problems.push(
      problem(
        'model.decoder.options.bias',
        'false on rows of width 1',
        true,
        'Raise output_dim, or set bias: false.',
      ),
    );
  const { needsEvenWidth } = decoderRegistry.get(decoder.type).operator;
  if ((bias ? width - 1 : width) % 2 === 0 || (!needsEvenWidth && comparator !== 'MODULUS')) return problems;
  const [key, name] = needsEvenWidth
    ? ['model.decoder.type', decoder.type]
    : ['model.decoder.options.comparator', comparator];
  const advice = bias
    ? 'Columns are pairs, and the last one is a bias; use an odd output_dim in the last stage.'
    : 'Half of the columns are real, half imaginary; use an even output_dim in the last stage.';
  const what = bias ? 'an odd encoder output with a bias' : 'an even encoder output';
  return [...problems, problem(key, what, `${name} on width ${width}`, advice)];
}
