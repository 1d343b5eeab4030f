/** Negatives: other destinations for events. */
export {
  type DrawOptions,
  type NegativeStrategy,
  TemporalNegatives,
  type TemporalNegativesOptions,
} from './temporal-negatives.js';
