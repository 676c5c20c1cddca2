import { join } from 'node:path'

/** The folder `config/` of this checkout or image. */
export const CONFIG_DIR: string = join(import.meta.dirname, '..', '..', 'config')
