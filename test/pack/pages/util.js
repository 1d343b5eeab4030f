/** Random numbers and errors; a line fitted without an optimiser. */
import { Random, ValueError } from 'skein/util';
import { leave } from './fit.js';

const random = new Random(1);
const x = Float64Array.from({ length: 100 }, () => random.nextFloat());
let slope = 0;
const losses = Array.from({ length: 100 }, () => {
  let [loss, gradient] = [0, 0];
  for (const value of x) {
    const error = slope * value - 3 * value;
    loss += error * error;
    gradient += 2 * error * value;
  }
  slope -= gradient / x.length;
  return loss;
});
try {
  new Random('nothing');
} catch (error) {
  if (!(error instanceof ValueError)) throw error;
  leave(losses);
}
