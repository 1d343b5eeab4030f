/** The kind `graph_mixer`. */
import { fraction, integer, number, positive } from '../../../util/settings.js';
import { temporalModelKind } from '../model-kind.js';
import { GraphMixer } from './graph-mixer.js';

export const graphMixerKind = temporalModelKind({
  kind: 'graph_mixer',
  doc: 'GraphMixer: an MLP-Mixer over the latest events of a node, without memory',
  settings: {
    neighbors: integer(1, 30, 'latest events of a node that are mixed'),
    dim_out: integer(1, 100, 'width of embeddings and of mixed tokens'),
    dim_time: integer(1, 100, 'width of the fixed encoding of the age of an event'),
    layers: integer(1, 2, 'blocks of the mixer'),
    token_expansion: positive(0.5, 'hidden width of the mixing of tokens, as a multiple of neighbors'),
    channel_expansion: positive(4, 'hidden width of the mixing of channels, as a multiple of dim_out'),
    mixer_dropout: fraction(0.1, 'fraction of the hidden units that are dropped'),
    time_gap: number(
      2000,
      'age up to which sampled neighbours count for node features, in the unit of the times',
      {
        min: 0,
      },
    ),
    node_neighbors: integer(0, 0, 'latest events searched for neighbours within time_gap; 0: as neighbors'),
  },
  labels: true,
  make({ options, graph }) {
    const { neighbors, node_neighbors: searched } = options;
    const dimNode = graph.nodeFeatures?.shape[1] ?? 0;
    const model = new GraphMixer({
      ...{ neighbors, layers: options.layers, dropout: options.mixer_dropout, timeGap: options.time_gap },
      ...{ dimOut: options.dim_out, dimTime: options.dim_time, dimEdge: graph.featureWidth, dimNode },
      ...{ tokenExpansion: options.token_expansion, channelExpansion: options.channel_expansion },
    });
    const fanout = dimNode === 0 ? neighbors : Math.max(neighbors, searched);
    return { model, state: null, needs: { neighbors: { fanouts: [fanout], strategy: 'recent' } } };
  },
});
