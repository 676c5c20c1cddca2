/**
 * Reports each request to stop by its reason: `SIGTERM`, `SIGINT`, or `disconnect` when the process that spawned this
 * one over IPC is gone, as `npm start` may be.
 */
export function onStopRequest(stop: (reason: string) => void): void {
  // Not `once`: without a listener a second signal ends the process in the middle of its stop.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop(signal))
  process.on('disconnect', () => stop('disconnect'))
  // The parent process may be gone already. Without IPC `connected` is undefined.
  if (process.connected === false) stop('disconnect')
}
