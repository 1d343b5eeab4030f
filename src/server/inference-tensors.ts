/**
 * Tensors of the Open Inference Protocol (KServe V2) as bodies of our operations, and answers as tensors. A column is a tensor:
 * row i of all inputs is edge, question or name i, so that bodies are checked, limited and answered as those of plain routes.
 */
import type { Ability } from '../predict/index.js';
import { HttpError, invalid } from './http-error.js';
import type { OperationName } from './operations.js';

export interface Tensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly datatype: string;
  readonly data: readonly unknown[];
}

/** The form of a tensor in the description of a model; −1 is any length. */
export type TensorForm = Omit<Tensor, 'data'> & { readonly parameters?: { readonly optional: true } };

const column = (name: string, datatype = 'BYTES', width?: number): TensorForm => ({
  ...{ name, datatype, shape: width === undefined ? [-1] : [-1, width] },
});
const optional = (form: TensorForm): TensorForm => ({ ...form, parameters: { optional: true } });
const ranked = [column('name'), column('score', 'FP32'), column('count', 'INT32')];
const edgeInputs = [optional(column('relation')), optional(column('time', 'FP64'))];

interface Mapping {
  /** The key of the body with the rows of all inputs, or with the one input `name`. */
  readonly rows: 'edges' | 'questions' | 'names';
  readonly inputs: readonly TensorForm[];
  readonly outputs: readonly TensorForm[];
  /** Converts the answer of the plain route. */
  tensors(answer: never): Tensor[];
}

interface RankedAnswer {
  readonly answers: readonly (readonly { readonly name: string; readonly score: number }[])[];
}

/** Lists of answers may have different lengths: they follow each other, and `count` has the length of each. */
/** Operations whose answers are tensors; reasons are not. */
export type TensorOperation = Exclude<OperationName, 'explain'>;

const rankedTensors = ({ answers }: RankedAnswer): Tensor[] => {
  const all = answers.flat();
  return [
    tensor(
      'name',
      'BYTES',
      all.map(({ name }) => name),
    ),
    tensor(
      'score',
      'FP32',
      all.map(({ score }) => score),
    ),
    tensor(
      'count',
      'INT32',
      answers.map(({ length }) => length),
    ),
  ];
};

const byName = { rows: 'names', inputs: [column('name')] } as const;

export const mappings: Readonly<Record<TensorOperation, Mapping>> = {
  score: {
    rows: 'edges',
    inputs: [column('head'), column('tail'), ...edgeInputs],
    outputs: [column('score', 'FP32')],
    tensors: ({ scores }: { readonly scores: readonly number[] }) => [tensor('score', 'FP32', scores)],
  },
  rank: {
    rows: 'questions',
    inputs: [optional(column('head')), optional(column('tail')), ...edgeInputs],
    outputs: ranked,
    tensors: rankedTensors,
  },
  neighbors: { ...byName, outputs: ranked, tensors: rankedTensors },
  recommend: { ...byName, outputs: ranked, tensors: rankedTensors },
  classify: {
    ...byName,
    outputs: [column('class'), column('probabilities', 'FP32', -1), column('classes')],
    tensors: ({ classes, answers }: ClassifyAnswer) => [
      tensor(
        'class',
        'BYTES',
        answers.map((one) => one.class),
      ),
      matrix(
        'probabilities',
        answers.map(({ probabilities }) => probabilities),
      ),
      tensor('classes', 'BYTES', classes),
    ],
  },
  embed: {
    ...byName,
    outputs: [column('vector', 'FP32', -1)],
    tensors: ({ vectors }: { readonly vectors: readonly (readonly number[])[] }) => [
      matrix('vector', vectors),
    ],
  },
};

interface ClassifyAnswer {
  readonly classes: readonly string[];
  readonly answers: readonly { readonly class: string; readonly probabilities: readonly number[] }[];
}

function tensor(name: string, datatype: string, data: readonly unknown[]): Tensor {
  return { name, datatype, shape: [data.length], data };
}

function matrix(name: string, rows: readonly (readonly number[])[]): Tensor {
  return { name, datatype: 'FP32', shape: [rows.length, rows[0]?.length ?? 0], data: rows.flat() };
}

/** Returns the operation of a request: the parameter `operation`, or the one whose inputs these are. */
export function operationOf(
  names: readonly string[],
  given: unknown,
  answers: readonly Ability[],
): TensorOperation {
  const known = Object.keys(mappings) as TensorOperation[];
  if (given !== undefined) {
    const found = known.find((name) => name === given);
    if (found !== undefined) return found;
    throw invalid('parameters.operation', known.join(', '), JSON.stringify(String(given).slice(0, 100)));
  }
  if (names.includes('name')) return answers.includes('classify') ? 'classify' : 'embed';
  const ends = names.filter((name) => name === 'head' || name === 'tail').length;
  if (ends > 0) return ends === 2 ? 'score' : 'rank';
  throw invalid(
    'inputs',
    'tensors named head and tail, one of them, or name',
    names.join(', ').slice(0, 200),
  );
}

/** Returns the body of the plain route for the inputs of a request. */
export function bodyOf(
  operation: TensorOperation,
  inputs: readonly Tensor[],
  parameters: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const mapping = mappings[operation];
  const columns = inputs.map((input, i) => ({ name: input.name, values: valuesOf(input, `inputs[${i}]`) }));
  for (const [i, { name, values }] of columns.entries()) {
    const names = mapping.inputs.map((form) => form.name);
    if (!names.includes(name) || columns.findIndex((other) => other.name === name) !== i)
      throw invalid(`inputs[${i}].name`, `each of ${names.join(', ')} once at most`, JSON.stringify(name));
    if (values.length !== columns[0].values.length)
      throw invalid(
        `inputs[${i}].shape`,
        `${columns[0].values.length} rows as inputs[0]`,
        `${values.length}`,
      );
  }
  // Scores of skipped edges are null, which a tensor cannot have.
  if (parameters['unknown'] === 'skip')
    throw new HttpError(400, 'invalid', 'parameters.unknown: expected error, got "skip". Ask POST /score.');
  const rows =
    mapping.rows === 'names'
      ? columns[0].values
      : columns[0].values.map((_, i) =>
          Object.fromEntries(columns.map(({ name, values }) => [name, values[i]])),
        );
  return { ...parameters, [mapping.rows]: rows };
}

const numeric = /^(U?INT(8|16|32|64)|FP(16|32|64))$/;

/** Values that the data of a tensor may have. */
interface ValueRule {
  readonly what: string;
  fits(value: unknown): boolean;
}

const text: ValueRule = { what: 'a string', fits: (value) => typeof value === 'string' };
const float: ValueRule = { what: 'a number', fits: (value) => typeof value === 'number' };
/** Larger integers have been rounded when JSON was parsed, so that different names would become one. */
const integer: ValueRule = { what: 'an integer up to 2^53 - 1', fits: Number.isSafeInteger };

/** Returns the values of a column, whose data may be nested as its shape. */
function valuesOf({ shape, datatype, data }: Tensor, at: string): readonly unknown[] {
  if (datatype !== 'BYTES' && !numeric.test(datatype))
    throw invalid(`${at}.datatype`, 'BYTES, or a type of numbers such as INT64', JSON.stringify(datatype));
  const [length, width = 1] = shape;
  if (width !== 1 || shape.length > 2) throw invalid(`${at}.shape`, '[n] or [n, 1]', JSON.stringify(shape));
  const values = shape.length === 2 && data.every(Array.isArray) ? data.flat() : data;
  if (values.length !== length)
    throw invalid(`${at}.data`, `${length} values as in its shape`, `${values.length}`);
  const { what, fits } = datatype === 'BYTES' ? text : datatype.startsWith('FP') ? float : integer;
  const wrong = values.findIndex((value) => !fits(value));
  if (wrong >= 0)
    throw invalid(
      `${at}.data[${wrong}]`,
      `${what} for ${datatype}`,
      JSON.stringify(values[wrong]).slice(0, 100),
    );
  return values;
}
