export interface SerialQueue<Item> {
  /** Adds an item; rejects with the error of the item that failed. */
  add(item: Item): Promise<void>
  isBusy(): boolean
  /** Handles nothing more. */
  close(): void
}

/** Handles items one after another; `onIdle` runs when none is left. */
export function createSerialQueue<Item>(
  handle: (item: Item) => Promise<void>,
  onIdle: () => void,
): SerialQueue<Item> {
  const waiting: Item[] = []
  let isBusy = false
  let isClosed = false
  return {
    isBusy: () => isBusy,
    close: () => {
      isClosed = true
    },
    async add(item) {
      waiting.push(item)
      if (isBusy) return
      isBusy = true
      try {
        for (let next = waiting.shift(); next !== undefined && !isClosed; next = waiting.shift())
          await handle(next)
      } finally {
        isBusy = false
      }
      if (!isClosed) onIdle()
    },
  }
}
