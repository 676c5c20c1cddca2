/** Tells the benchmark where a peer listens, and ends the peer with it. */
export function announce(address: string): void {
  process.send?.({ ready: true, address })
  process.once('disconnect', () => process.exit(0))
  process.once('SIGTERM', () => process.exit(0))
}
