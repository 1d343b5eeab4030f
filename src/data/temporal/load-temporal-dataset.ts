/** `loadTemporalDataset`: loads an event stream of the catalogue by name, for a temporal graph. */
import { expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { type LoadDatasetOptions, loadDataset } from '../load-dataset.js';
import { makeTemporalData } from './make-temporal-data.js';
import type { TemporalData } from './temporal-data.js';

export type TemporalDatasetName = 'wikipedia' | 'collegemsg' | 'mathoverflow' | 'reddit' | 'mooc' | 'lastfm';

export const temporalDatasetNames: readonly TemporalDatasetName[] = [
  ...(['wikipedia', 'collegemsg', 'mathoverflow', 'reddit', 'mooc', 'lastfm'] as const),
];

/**
 * Loads an event dataset; files are found and checked as by `loadDataset`.
 *
 * @example
 * const { events, numNodes, dstPool } = await loadTemporalDataset('wikipedia', { root: './data' });
 */
export async function loadTemporalDataset(
  name: TemporalDatasetName,
  options: LoadDatasetOptions = {},
): Promise<TemporalData> {
  checkOptionNames('loadTemporalDataset', options, { root: true, download: true, mirror: true });
  if (!temporalDatasetNames.includes(name)) {
    const names = temporalDatasetNames.join(', ');
    throw new ValueError(expected('loadTemporalDataset', `one of ${names}`, 'name', name));
  }
  const data = await loadDataset(name, options);
  const {
    src,
    dst,
    time,
    type,
    features,
    numNodes,
    featureWidth,
    labels,
    typeNames,
    names,
    nodes,
    numSources,
  } = data;
  const events = {
    ...{ src, dst, time },
    ...(type === null ? {} : { types: type }),
    ...(features === null ? {} : { features }),
  };
  const bipartite = numSources !== null;
  const fields = { name, events, numNodes, featureWidth, labels, typeNames, names, nodes, bipartite };
  return makeTemporalData(fields);
}
