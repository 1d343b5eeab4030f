/** Destinations that an event might have had instead. */
export {
  type DrawOptions,
  type NegativeStrategy,
  TemporalNegatives,
  type TemporalNegativesOptions,
} from './temporal-negatives.js';
