/** Reads the env-file grammar that sh, dash, bash and systemd agree on: NAME="value" with \ " $ ` escaped. */
export function parseEnvFile(text: string): Record<string, string> {
  const entry = /^([A-Za-z_]\w*)=(?:"((?:[^"\\]|\\[\s\S])*)"|([^\n]*))$/gm
  return Object.fromEntries(
    [...text.matchAll(entry)].map(([, name = '', quoted, plain = '']) => [
      name,
      quoted === undefined ? plain.trim() : quoted.replace(/\\([\\"$`])/g, '$1'),
    ]),
  )
}
