export function xdgFolder(
  env: NodeJS.ProcessEnv,
  variable: 'XDG_CACHE_HOME' | 'XDG_STATE_HOME',
): string | undefined
