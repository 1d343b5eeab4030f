/** Errors of the library in the words of the command line: `--no-remap-ids`, not `noRemapIds`. */

/** Options of `preprocess` that are called otherwise in programs. */
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
  ...['nodeTable', 'idColumn', 'labelColumn', 'ignoreColumns', 'nodeFeatures', 'nodeLabels'],
  ...['trainNodes', 'validNodes', 'testNodes', 'nodeSplit', 'memoryLimit'],
];
const names = new Map([
  ...Object.entries(options),
  ...sameName.map((name) => [name, `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`]),
] as [string, string][]);

/** Names in camel case are no English words, so they stand for options wherever they are. */
const camelCase = /(?<![\w/."'-])[a-z]+(?:[A-Z][a-z]+)+(?![\w/."'-]*[\w/"'-])/g;
/** Other names only where a message says which option is wrong. */
const inPlace = /(?<=\bfor (?:a share of )?)([a-z]+)( and [a-z]+|)(?=, got )/g;

/** A message with the names of options as they are typed. */
export function optionNames(message: string): string {
  const typed = (name: string): string => names.get(name) ?? name;
  return message
    .replaceAll(/\b\w+ \((--[\w-]+)\)/g, '$1')
    .replaceAll(camelCase, typed)
    .replaceAll(inPlace, (_, first: string, second: string) =>
      second === '' ? typed(first) : `${typed(first)} and ${typed(second.slice(5))}`,
    );
}

/** Throws an error again, with its message so. */
export function inOptionNames(error: unknown): never {
  if (error instanceof Error) error.message = optionNames(error.message);
  throw error;
}
