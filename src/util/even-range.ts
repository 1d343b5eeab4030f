/** Part `part` of `count` things that are cut into consecutive parts, as long as each other within one. */
export function evenRange(
  count: number,
  part: number,
  parts: number,
): { readonly start: number; readonly end: number } {
  return { start: Math.floor((part * count) / parts), end: Math.floor(((part + 1) * count) / parts) };
}
