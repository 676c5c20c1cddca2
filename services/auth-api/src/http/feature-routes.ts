import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { Config } from '../config.ts'
import type { Core } from '../core.ts'
import type { SecondFactor } from '../features/second-factor/second-factor.ts'

/** The routes of a feature, which creates its use cases from the core and its settings. */
export type FeatureRoutes = FastifyPluginAsyncZod<{ core: Core; config: Config }>

/** The routes of a kind of second factor, which uses what all kinds share. */
export type FactorRoutes = FastifyPluginAsyncZod<{ secondFactor: SecondFactor; config: Config }>
