/** The CPU's neighbour sampler with the interface of `GPUSampler`, used without a device. Same batches, bit for bit. */
import type { Graph } from '../../graph/index.js';
import type { Batch } from '../../sample/batch.js';
import { NeighborSampler, type NeighborSamplerOptions } from '../../sample/neighbor-sampler.js';
import type { SampleTime } from '../../sample/sampler.js';
import type { Ids } from '../../tensor/index.js';
import { StateError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { asGraph, type CsrLike } from './csr-source.js';
import type { GPUSamplerOptions } from './gpu-sampler.js';
import { HostSample } from './host-sample.js';

const name = 'HostSampler';

/** The interface of samplers on any engine. */
export interface GraphSampler {
  readonly numNodes: number;
  setSize(sizes: readonly number[]): this;
  sample(seeds: Ids, at?: SampleTime): Promise<HostSample>;
  sampleAsync(seeds: Ids, at?: SampleTime): Promise<Batch>;
  release(): void;
}

export class HostSampler implements GraphSampler {
  readonly #graph: Graph;
  readonly #rules: Omit<NeighborSamplerOptions, 'fanouts'>;
  #sampler: NeighborSampler | null = null;
  #nextStep = 0;

  constructor(csr: CsrLike, options: GPUSamplerOptions = {}) {
    checkOptionNames('HostSampler', options, {
      direction: true,
      weights: true,
      sizes: true,
      replace: true,
      dropout: true,
      seed: true,
      table: true,
      segmentBytes: true,
      reserveEdges: true,
    });
    this.#graph = asGraph(name, csr);
    const { sizes, dropout = 0, table: _, segmentBytes: __, reserveEdges: ___, ...rules } = options;
    this.#rules = dropout === 0 ? rules : { ...rules, strategy: 'dropout', rate: dropout };
    if (sizes !== undefined) this.setSize(sizes);
  }

  get numNodes(): number {
    return this.#graph.numNodes;
  }

  setSize(sizes: readonly number[]): this {
    this.#sampler = new NeighborSampler(this.#graph, { ...this.#rules, fanouts: sizes });
    return this;
  }

  async sample(seeds: Ids, at?: SampleTime): Promise<HostSample> {
    return new HostSample(await this.sampleAsync(seeds, at));
  }

  async sampleAsync(seeds: Ids, at?: SampleTime): Promise<Batch> {
    if (this.#sampler === null)
      throw new StateError(`${name}: expected sizes, got none. Call setSize([25, 10]) or pass \`sizes\`.`);
    return this.#sampler.sampleAsync(seeds, at ?? { step: this.#nextStep++ });
  }

  /** Does nothing: no device memory is used. */
  release(): void {}
}
