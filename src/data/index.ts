/** Datasets. */
export { type KarateClub, karateClub } from './karate-club.js';
