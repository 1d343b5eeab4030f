/** Takes steps and leaves the first and the last loss for the test; imports nothing, so that a page has only its own parts. */
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
