import type { ServiceProcess } from './service-process.ts'

const MAX_ATTEMPTS = 5
/** What a service ends with that cannot listen; one that is stopped ends with 0 or a signal. */
const EXIT_FAILED = '1'

/**
 * Starts a service and waits until it is ready or has failed. Another process may take its port between the choice of
 * the port and the start: then the service is started again, at most five times in all.
 */
export async function startOnFreePorts(
  start: () => ServiceProcess | Promise<ServiceProcess>,
  hasLostPort: (service: ServiceProcess) => Promise<boolean>,
): Promise<ServiceProcess> {
  for (let attempt = 1; ; attempt++) {
    const service = await start()
    const isReady = await service.ready.then(
      () => true,
      () => false,
    )
    if (isReady || attempt === MAX_ATTEMPTS || !(await hasLostPort(service))) return service
    process.stdout.write(`${service.name} is started again on another port.\n`)
  }
}

/** Starts a service on `port`; on 0, for which the system chooses one, when another process has that port or takes it. */
export function startOnPort(
  { port, isFree }: { port: number; isFree: () => Promise<boolean> },
  start: (port: number) => ServiceProcess,
): Promise<ServiceProcess> {
  let chosen = 0
  return startOnFreePorts(
    async () => {
      chosen = (await isFree()) ? port : 0
      return start(chosen)
    },
    async ({ exited }) => chosen === port && (await exited) === EXIT_FAILED && !(await isFree()),
  )
}
