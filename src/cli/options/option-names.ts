/** Translates option names in the library's errors into those of the command line: `noRemapIds` to `--no-remap-ids`. */

/** Options of `preprocess` whose name differs in the library. */
const options: Readonly<Record<string, string>> = {
  outputDir: '--output-directory',
  delimiter: '--delim',
  source: '--src-column',
  target: '--dst-column',
  edgeType: '--edge-type-column',
  edgeWeight: '--edge-weight-column',
  split: '--dataset-split',
  partitions: '--num-partitions',
};
const sameName = [
  ...['edges', 'query', 'setup', 'format', 'header', 'comment', 'nodes', 'threads', 'overwrite', 'seed'],
  ...['partitionedEval', 'noRemapIds', 'numNodes', 'numRelations', 'sequentialTrainNodes', 'nodeTypes'],
  ...['nodeTable', 'idColumn', 'labelColumn', 'ignoreColumns', 'textColumns', 'nodeFeatures', 'nodeLabels'],
  ...['trainNodes', 'validNodes', 'testNodes', 'nodeSplit', 'memoryLimit', 'literals'],
];
const names = new Map([
  ...Object.entries(options),
  ...sameName.map((name) => [name, `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`]),
] as [string, string][]);

/** Names in camel case are not English words, so they are options wherever they occur. */
const camelCase = /(?<![\w/."'-])[a-z]+(?:[A-Z][a-z]+)+(?![\w/."'-]*[\w/"'-])/g;
/** Other names are options only where a message names the wrong option. */
const wrongOption = /(?<=\bfor (?:a fraction of )?)([a-z]+)( and [a-z]+|)(?=, got )/g;

/** Returns a message with the names of options as they are typed. */
export function toOptionNames(message: string): string {
  const typed = (name: string): string => names.get(name) ?? name;
  return message
    .replaceAll(/\b\w+ \((--[\w-]+)\)/g, '$1')
    .replaceAll(camelCase, typed)
    .replaceAll(wrongOption, (_, first: string, second: string) =>
      second === '' ? typed(first) : `${typed(first)} and ${typed(second.slice(5))}`,
    );
}

/** Rethrows an error with the names of options as they are typed. */
export function rethrowWithOptionNames(error: unknown): never {
  if (error instanceof Error) error.message = toOptionNames(error.message);
  throw error;
}
