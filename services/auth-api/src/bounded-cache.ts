/**
 * Options of an lru-cache with `entries` at most. By `max` it would allocate the room for all of them when it is created:
 * a megabyte and more for each of the limits, of which most never fill.
 */
export const boundedTo = (entries: number) => ({ maxSize: entries, sizeCalculation: () => 1 })
