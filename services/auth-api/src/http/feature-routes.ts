import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { Config } from '../config.ts'
import type { Core } from '../core.ts'

/** The routes of a feature, which creates its use cases from the core and its settings, or from the options named here. */
export type FeatureRoutes<Options extends object = { core: Core; config: Config }> =
  FastifyPluginAsyncZod<Options>
