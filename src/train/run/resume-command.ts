/** The command that goes on with a run, as it can be typed: told to whoever stopped one. */

export function resumeCommand(directory: string): string {
  const plain = /^[\w./:@%+,=-]+$/.test(directory);
  const shown = plain ? directory : `'${directory.replaceAll("'", "'\\''")}'`;
  return `skein train ${shown} --training.resume_training=true`;
}
