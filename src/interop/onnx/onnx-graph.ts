/**
 * Builder of an ONNX model: inputs, constants, nodes, outputs, and finally the bytes (onnx.proto3). Values are identified by
 * name. Independent of graphs and layers.
 *
 * Opset 18 is the first whose scatter operations support maxima; only operations of the standard domain are used, so any
 * runtime of that opset can run the models. All floats are f32, all ids int64.
 */
import type { Tensor } from '../../tensor/index.js';
import { ValueError } from '../../util/errors.js';
import { ProtoWriter } from './proto-writer.js';

/** The name of a tensor in the model. */
export type Value = string;

/** A known size, or the name of an unknown one. */
export type Dim = number | string;

export type ElementType = 'f32' | 'i64' | 'bool';

export type Attribute =
  | { readonly int: number }
  | { readonly float: number }
  | { readonly text: string }
  /** A tensor of one f32. */
  | { readonly fill: number };

const elementCodes: Readonly<Record<ElementType, number>> = { f32: 1, i64: 7, bool: 9 };
const opset = 18;
const irVersion = 8;
/** Size limit of protocol buffers. */
const maxBytes = 2 ** 31 - 1;

export interface ModelFacts {
  readonly name: string;
  readonly producerVersion: string;
  readonly metadata: Readonly<Record<string, string>>;
}

export class OnnxGraph {
  readonly #nodes: ProtoWriter[] = [];
  readonly #constants = new Map<string, ProtoWriter>();
  readonly #inputs = new Map<string, ProtoWriter>();
  readonly #outputs: ProtoWriter[] = [];
  readonly #parameterNames: ReadonlyMap<Tensor, string>;

  /** @param parameterNames names of trained tensors. */
  constructor(parameterNames: ReadonlyMap<Tensor, string> = new Map()) {
    this.#parameterNames = parameterNames;
  }

  /** Adds an input of the model, unless it exists. */
  input(name: string, type: ElementType, dims: readonly Dim[]): Value {
    if (!this.#inputs.has(name)) this.#inputs.set(name, valueInfo(name, type, dims));
    return name;
  }

  output(name: string, value: Value, dims: readonly Dim[]): void {
    this.#nodes.push(nodeProto('Identity', [value], name, {}));
    this.#outputs.push(valueInfo(name, 'f32', dims));
  }

  /** Adds an operation and returns its result; null is an omitted input. */
  node(
    op: string,
    inputs: readonly (Value | null)[],
    attributes: Readonly<Record<string, Attribute>> = {},
  ): Value {
    const name = `${op}_${this.#nodes.length}`;
    this.#nodes.push(nodeProto(op, inputs, name, attributes));
    return name;
  }

  /** Adds a trained tensor under its name. */
  parameter(tensor: Tensor): Value {
    const name = this.#parameterNames.get(tensor) ?? `parameter_${this.#constants.size}`;
    return this.floats(tensor.dataSync() as ArrayLike<number>, tensor.shape, name);
  }

  floats(values: ArrayLike<number>, shape: readonly number[], name?: string): Value {
    const known =
      name ?? `f32_${shape.join('x')}_${values.length > 4 ? this.#constants.size : [...from(values)]}`;
    if (!this.#constants.has(known)) {
      const data = Float32Array.from(values);
      this.#constants.set(known, tensorProto(known, 'f32', shape, new Uint8Array(data.buffer)));
    }
    return known;
  }

  scalar(value: number): Value {
    return this.floats([value], []);
  }

  /** Adds a list of whole numbers, or a scalar. */
  integers(values: readonly number[] | number): Value {
    const list = typeof values === 'number' ? [values] : values;
    const shape = typeof values === 'number' ? [] : [list.length];
    const name = `i64_${shape.join('')}_${list.join('_')}`;
    if (!this.#constants.has(name)) {
      const data = BigInt64Array.from(list, BigInt);
      this.#constants.set(name, tensorProto(name, 'i64', shape, new Uint8Array(data.buffer)));
    }
    return name;
  }

  /** Returns the bytes of the model. */
  finish({ name, producerVersion, metadata }: ModelFacts): Uint8Array {
    const graph = new ProtoWriter();
    for (const node of this.#nodes) graph.message(1, node);
    graph.text(2, name);
    for (const constant of this.#constants.values()) graph.message(5, constant);
    for (const input of this.#inputs.values()) graph.message(11, input);
    for (const output of this.#outputs) graph.message(12, output);
    const model = new ProtoWriter()
      .integer(1, irVersion)
      .text(2, 'skein')
      .text(3, producerVersion)
      .message(7, graph)
      .message(8, new ProtoWriter().text(1, '').integer(2, opset));
    for (const [key, value] of Object.entries(metadata))
      model.message(14, new ProtoWriter().text(1, key).text(2, value));
    if (model.length > maxBytes)
      throw new ValueError(
        `exportOnnx: expected a model of at most ${maxBytes} bytes, got ${model.length}. ONNX files are limited to that size.`,
      );
    return model.finish();
  }
}

function from(values: ArrayLike<number>): number[] {
  return Array.from({ length: values.length }, (_, i) => values[i]);
}

function nodeProto(
  op: string,
  inputs: readonly (Value | null)[],
  output: Value,
  attributes: Readonly<Record<string, Attribute>>,
): ProtoWriter {
  const node = new ProtoWriter();
  for (const input of inputs) node.text(1, input ?? '');
  node.text(2, output).text(3, output).text(4, op);
  for (const [name, value] of Object.entries(attributes)) node.message(5, attributeProto(name, value));
  return node;
}

function attributeProto(name: string, value: Attribute): ProtoWriter {
  const proto = new ProtoWriter().text(1, name);
  if ('float' in value) return proto.float(2, value.float).integer(20, 1);
  if ('int' in value) return proto.integer(3, value.int).integer(20, 2);
  if ('text' in value) return proto.text(4, value.text).integer(20, 3);
  const bytes = new Uint8Array(Float32Array.of(value.fill).buffer);
  return proto.message(5, tensorProto('', 'f32', [1], bytes)).integer(20, 4);
}

function tensorProto(
  name: string,
  type: ElementType,
  shape: readonly number[],
  bytes: Uint8Array,
): ProtoWriter {
  const proto = new ProtoWriter();
  for (const side of shape) proto.integer(1, side);
  return proto.integer(2, elementCodes[type]).text(8, name).bytes(9, bytes);
}

function valueInfo(name: string, type: ElementType, dims: readonly Dim[]): ProtoWriter {
  const shape = new ProtoWriter();
  for (const dim of dims)
    shape.message(
      1,
      typeof dim === 'number' ? new ProtoWriter().integer(1, dim) : new ProtoWriter().text(2, dim),
    );
  const tensor = new ProtoWriter().integer(1, elementCodes[type]).message(2, shape);
  return new ProtoWriter().text(1, name).message(2, new ProtoWriter().message(1, tensor));
}
