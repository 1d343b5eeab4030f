/** Negatives: other destinations for events. */
export {
  type NegativeStrategy,
  TemporalNegatives,
  type TemporalNegativesOptions,
} from './temporal-negatives.js';
