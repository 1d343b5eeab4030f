/**
 * RDF entity classification (AIFB and similar datasets): an N-Triples file and three tables of labelled entities.
 * Ristoski, de Vries, Paulheim: "A collection of benchmark datasets for systematic evaluations of machine learning on
 * the semantic web", ISWC 2016; prepared as for R-GCN, without the relations that imply the label.
 *
 * Statements are not changed: the model adds inverse relations and self loops.
 */
import { FormatError } from '../../util/errors.js';
import { NameNumbers, type Triples } from '../triples.js';
import { readNTriples } from './n-triples.js';
import { readTable } from './tsv.js';

export interface EntityData extends Triples {
  /** Class of each entity; −1 for entities without a label. */
  readonly labels: Int32Array;
  readonly numClasses: number;
  readonly classNames: readonly string[];
  readonly splits: { readonly train: Int32Array; readonly test: Int32Array };
}

export interface EntityFiles {
  readonly triples: string;
  /** All labelled entities; classes are numbered in order of appearance here. */
  readonly complete: string;
  readonly train: string;
  readonly test: string;
  /** Columns of the entity and of its class. */
  readonly entity: string;
  readonly label: string;
}

export async function readEntityClassification(files: EntityFiles): Promise<EntityData> {
  const triples = await readNTriples(files.triples);
  const ids = new Map(triples.entities.map((name, id) => [name, id]));
  const classes = new NameNumbers();
  for (const row of await readTable(files.complete, [files.label])) classes.add(row[files.label] as string);
  const labels = new Int32Array(triples.entities.length).fill(-1);

  const readSplit = async (path: string): Promise<Int32Array> => {
    const split: number[] = [];
    for (const row of await readTable(path, [files.entity, files.label])) {
      const id = ids.get(row[files.entity] as string);
      const label = classes.get(row[files.label] as string);
      const problem = entityProblem(id, label, labels);
      if (problem !== null) {
        throw new FormatError(`${path}:${row.line}: expected ${problem}, got ${row[files.entity]}.`, {
          path,
          line: row.line,
        });
      }
      labels[id as number] = label as number;
      split.push(id as number);
    }
    return Int32Array.from(split).sort();
  };
  const splits = { train: await readSplit(files.train), test: await readSplit(files.test) };
  return { ...triples, labels, numClasses: classes.names.length, classNames: classes.names, splits };
}

function entityProblem(id: number | undefined, label: number | undefined, labels: Int32Array): string | null {
  if (id === undefined) return 'an entity of the graph';
  if (label === undefined) return 'a class of the complete table';
  return labels[id] === -1 ? null : 'each entity in one split only';
}
