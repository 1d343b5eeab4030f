/** Maps of nodes as the server sends them, decoded, with the ways to colour their points. */
import type { NamedMap } from './types.js';

/** A map whose numbers have been decoded. */
export interface DecodedMap extends Omit<NamedMap, 'x' | 'y' | 'groupings' | 'degree'> {
  readonly x: Float32Array;
  readonly y: Float32Array;
  readonly degree: Int32Array;
  /** Ways to colour the points; the last is by degree. */
  readonly colourings: readonly Colouring[];
  readonly placeOf: ReadonlyMap<string, number>;
}

export interface Colouring {
  /** Its name in the address. */
  readonly key: string;
  readonly label: string;
  /** Texts of the legend, one for each colour. */
  readonly names: readonly string[];
  /** The colour of each point, or −1. */
  readonly group: Int8Array;
}

export function decodeMap(map: NamedMap): DecodedMap {
  const bytes = (text: string): ArrayBuffer =>
    Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
  const degree = new Int32Array(bytes(map.degree));
  const colourings = map.groupings.map(
    (one): Colouring => ({
      ...labelsOf(one),
      group: new Int8Array(bytes(one.group)),
    }),
  );
  const byDegree = { key: 'degree', label: 'by number of edges', names: degreeNames(degree) };
  return {
    ...map,
    x: new Float32Array(bytes(map.x)),
    y: new Float32Array(bytes(map.y)),
    degree,
    colourings: [...colourings, { ...byDegree, group: Int8Array.from(degree, degreeClass) }],
    placeOf: new Map(map.names.map((name, i) => [name, i])),
  };
}

function labelsOf({ by, relation, names }: NamedMap['groupings'][number]): Omit<Colouring, 'group'> {
  if (by === 'relation')
    return { key: by, label: 'by relation', names: names.map((name) => `head of ${name}`) };
  return by === 'tail'
    ? { key: `tail ${relation}`, label: `by ${relation}`, names }
    : { key: by, label: `by ${by}`, names };
}

/** Returns the class of a degree: 0, 1, 2 to 3, 4 to 7, … of which the last has no end. */
const degreeClass = (degree: number): number =>
  Math.min(6, degree === 0 ? 0 : 1 + Math.floor(Math.log2(degree)));

function degreeNames(degree: Int32Array): string[] {
  const most = degreeClass(degree.reduce((largest, value) => Math.max(largest, value), 0));
  const names = ['no edge', '1 edge', '2 to 3', '4 to 7', '8 to 15', '16 to 31', '32 and more'];
  return names.slice(0, most + 1);
}
