export * from '@latchkey/client/passkeys.js'
