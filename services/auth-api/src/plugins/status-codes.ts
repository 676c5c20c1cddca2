/** Imported, node:http would load its WebSocket, and with it all of undici: 14 MiB of memory. */
export const { STATUS_CODES } = process.getBuiltinModule('node:http')
