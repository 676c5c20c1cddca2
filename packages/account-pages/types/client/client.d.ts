export * from '@latchkey/client'
