import { defineExtension } from '@latchkey/shared/extensions/extension.ts'

export default defineExtension({ routes: () => import('./routes.ts') })
