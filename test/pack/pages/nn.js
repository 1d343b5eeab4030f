/** A network that separates two rings. */
import { Adam, crossEntropy, MLP } from 'skein/nn';
import { manualSeed, tensor } from 'skein/tensor';
import { takeSteps } from './fit.js';

manualSeed(1);
const labels = Int32Array.from({ length: 60 }, (_, i) => i % 2);
const x = tensor(
  Array.from(labels, (label, i) => [(1 + label) * Math.cos(i / 9), (1 + label) * Math.sin(i / 9)]),
);
const model = new MLP([2, 16, 2]);
takeSteps(new Adam(model.parameters(), { lr: 0.05 }), () => crossEntropy(model.forward(x), labels));
