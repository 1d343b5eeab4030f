/** The tables of `preprocess` as files that the readers of text and of .npy read. */
import type { TableFiles } from '../formats/table-files.js';
import type { TableKind, TableRequest, TableSource } from '../formats/table-source.js';
import { isTableQuery } from '../formats/table-source.js';
import { checkExists } from './check-exists.js';
import { listOf, type PreprocessOptions } from './preprocess-options.js';

/** Options whose value is a table about nodes. */
const nodeOptions = [
  'nodes',
  'nodeFeatures',
  'nodeTable',
  'nodeLabels',
  'trainNodes',
  'validNodes',
  'testNodes',
] as const;
type NodeOption = (typeof nodeOptions)[number];

/** Options whose tables are files. */
export type TextInput = Omit<PreprocessOptions, NodeOption | 'edges' | 'query'> & {
  readonly edges: readonly string[];
} & { readonly [K in NodeOption]?: string };

/** Writes the tables that are not text as files, and returns the options with the paths of all. */
export async function textInput(options: PreprocessOptions, tables: TableFiles): Promise<TextInput> {
  const { edges: files, query, ...rest } = options;
  const queries = listOf(query).map((text): TableSource => ({ query: text }));
  const edges: string[] = [];
  for (const [i, source] of [...queries, ...listOf(files)].entries())
    edges.push(
      await fileOf(tables, source, 'edges', {
        ...{ name: `query ${i + 1}`, format: options.format, literals: options.literals },
      }),
    );
  const paths: Partial<Record<NodeOption, string>> = {};
  for (const option of nodeOptions) {
    const source = options[option];
    if (source !== undefined)
      paths[option] = await fileOf(tables, source, 'nodes', { name: `query of ${option}` });
  }
  return { ...(rest as Omit<typeof rest, NodeOption>), edges, ...paths };
}

function fileOf(
  tables: TableFiles,
  source: TableSource,
  kind: TableKind,
  { name, ...given }: Pick<TableRequest, 'name' | 'format' | 'literals'>,
): Promise<string> {
  if (isTableQuery(source)) return tables.textOf({ source, kind, name });
  const path = checkExists(source);
  // A matrix of NumPy has a reader of its own.
  if (path.endsWith('.npy')) return Promise.resolve(path);
  return tables.textOf({ source: path, kind, name: path, ...given });
}
