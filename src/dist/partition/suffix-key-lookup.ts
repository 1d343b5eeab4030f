/** Finds fields of a partition by the end of their names: 'labels' finds '_N/labels', whatever the type is called. */
import { fromTypedArray, Tensor } from '../../tensor/index.js';
import { expected, ShapeError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { typeOfKey } from './partition-content.js';
import type { PartitionData } from './partition-data.js';

export interface SuffixKeyOptions {
  /** Expand a field of one type to the nodes of all types, with zeros for the others. */
  readonly expandToAll?: boolean;
  /** Names of node types in the order of their numbers; default: those of the `PartitionData`. */
  readonly typeList?: readonly string[];
  /** The type of each node, as an index into `typeList`; default: those of the `PartitionData`. */
  readonly nodeTypes?: Int32Array | null;
}

/**
 * Returns the one field whose name is `key`, or else ends with it; an empty i32 tensor if there is none, because a type
 * may lack the field. `expandToAll` needs the types of nodes: pass the `PartitionData` instead of its fields.
 */
export function suffixKeyLookup(
  features: Readonly<Record<string, Tensor>> | PartitionData,
  key: string,
  options: SuffixKeyOptions = {},
): Tensor {
  checkOptionNames('suffixKeyLookup', options, { expandToAll: true, typeList: true, nodeTypes: true });
  const where = 'suffixKeyLookup';
  const data = isPartitionData(features) ? features : null;
  const fields = isPartitionData(features) ? features.nodeFeatures : features;
  const name = findKey(where, Object.keys(fields), key);
  if (name === null) return fromTypedArray(new Int32Array(0));
  if (options.expandToAll !== true) return fields[name];
  const typeList = options.typeList ?? data?.nodeTypeNames;
  if (typeList === undefined)
    throw new ValueError(expected(where, 'names of node types', 'typeList', undefined));
  const type = typeList.indexOf(typeOfKey(name));
  if (type < 0)
    throw new ValueError(expected(where, `a list with the type of ${name}`, 'typeList', typeList));
  const nodeTypes = options.nodeTypes ?? data?.nodeTypes ?? null;
  if (nodeTypes === null) {
    if (typeList.length === 1) return fields[name];
    throw new ValueError(
      expected(
        where,
        'the type of each node',
        'nodeTypes',
        null,
        'Pass the PartitionData instead of its fields.',
      ),
    );
  }
  return expandRows(where, name, fields[name], nodeTypes, type);
}

function isPartitionData(value: object): value is PartitionData {
  return 'nodeRanges' in value && Array.isArray(value.nodeRanges);
}

function findKey(where: string, names: readonly string[], key: string): string | null {
  const exact = names.filter((name) => name === key || name.slice(name.indexOf('/') + 1) === key);
  const found = exact.length > 0 ? exact : names.filter((name) => name.endsWith(key));
  if (found.length <= 1) return found[0] ?? null;
  throw new ValueError(
    expected(where, `one field that ends with ${key}`, 'key', found, 'Give a longer suffix.'),
  );
}

/** Copies the rows of one type to the rows of its nodes; the other rows are 0. */
function expandRows(where: string, name: string, rows: Tensor, nodeTypes: Int32Array, type: number): Tensor {
  const all = Tensor.allocate(rows.dtype, [nodeTypes.length, ...rows.shape.slice(1)]);
  const width = rows.shape[0] === 0 ? 0 : rows.size / rows.shape[0];
  const [from, to] = [rows.dataSync(), all.array];
  to.fill(0);
  let row = 0;
  for (let v = 0; v < nodeTypes.length; v++) {
    if (nodeTypes[v] !== type) continue;
    to.set(from.subarray(row * width, (row + 1) * width), v * width);
    row++;
  }
  if (row !== rows.shape[0])
    throw new ShapeError(expected(where, `${row} rows, one for each node of its type,`, name, rows.shape[0]));
  return all;
}
