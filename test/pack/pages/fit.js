/** Takes optimiser steps and sets the first and the last loss for the test; imports nothing, to keep pages minimal. */
export function takeSteps(optimizer, loss, steps = 60) {
  const losses = Array.from({ length: steps }, () => {
    optimizer.zeroGrad();
    const value = loss();
    value.backward();
    optimizer.step();
    return value.item();
  });
  leave(losses);
}

export function leave(losses) {
  globalThis.skeinResult = { before: losses[0], after: losses[losses.length - 1] };
}
