/** Message passing as tensor functions: gradients, twins, threads. */
import { runOpCases } from '../ops/run-cases.js';
import { graphCases } from './op-cases.js';

runOpCases(graphCases);
