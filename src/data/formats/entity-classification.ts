/**
 * RDF entity classification (AIFB and its kin): an N-Triples file and three tables of labelled entities.
 * Ristoski, de Vries, Paulheim: "A collection of benchmark datasets for systematic evaluations of machine learning on
 * the semantic web", ISWC 2016; prepared as for R-GCN, with the relations that give the answer left out of the file.
 *
 * Statements are kept as they are: inverse relations and self loops are the model's to add.
 */
import { FormatError } from '../../util/errors.js';
import { NameNumbers, type Triples } from '../triples.js';
import { readNTriples } from './n-triples.js';
import { readTable } from './tsv.js';

export interface EntityData extends Triples {
  /** The class of each entity; −1 for entities without a label. */
  readonly labels: Int32Array;
  readonly numClasses: number;
  readonly classNames: readonly string[];
  readonly splits: { readonly train: Int32Array; readonly test: Int32Array };
}

export interface EntityFiles {
  readonly triples: string;
  /** All labelled entities: numbers the classes, in order of appearance. */
  readonly complete: string;
  readonly train: string;
  readonly test: string;
  /** The column that names the entity, and the one that names its class. */
  readonly entity: string;
  readonly label: string;
}

export async function readEntityClassification(files: EntityFiles): Promise<EntityData> {
  const triples = await readNTriples(files.triples);
  const ids = new Map(triples.entities.map((name, id) => [name, id]));
  const classes = new NameNumbers();
  for (const row of await readTable(files.complete, [files.label])) classes.add(row[files.label] as string);
  const labels = new Int32Array(triples.entities.length).fill(-1);

  const readPart = async (path: string): Promise<Int32Array> => {
    const part: number[] = [];
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
      part.push(id as number);
    }
    return Int32Array.from(part).sort();
  };
  const splits = { train: await readPart(files.train), test: await readPart(files.test) };
  return { ...triples, labels, numClasses: classes.names.length, classNames: classes.names, splits };
}

function entityProblem(id: number | undefined, label: number | undefined, labels: Int32Array): string | null {
  if (id === undefined) return 'an entity of the graph';
  if (label === undefined) return 'a class of the complete table';
  return labels[id] === -1 ? null : 'each entity in one part only';
}
