import { hash } from 'node:crypto'

/** A user may type capitals, spaces, and the letters that the alphabet leaves out for the digits that they look like. */
const normalize = (code: string): string =>
  code.toLowerCase().replaceAll(/[\s-]/g, '').replaceAll('o', '0').replaceAll(/[il]/g, '1')

/** A hash is sealed, and of 60 random bits: the comparison need not take equal time. */
export const hashRecoveryCode = (code: string): string => hash('sha256', normalize(code), 'base64url')
