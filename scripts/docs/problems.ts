import { AppError, type ErrorCode } from '@latchkey/shared/app-error.ts'
import {
  fromStatus,
  PROBLEMS,
  type Problem,
  toProblem,
} from '../../services/auth-api/src/plugins/problem-details.ts'
import { code, formatTable } from './markdown.ts'

/** What Fastify and Node refuse before a route handles the request. */
const PROTOCOL_STATUSES = [400, 404, 405, 408, 413, 415, 417, 431, 500]

/** One row for each error of the service's own. */
export const formatProblems = (): string =>
  formatTypes(Object.keys(PROBLEMS).map((name) => toProblem(new AppError(name as ErrorCode, ''))))

/** One row for each refusal that only a status describes. */
export const formatProtocolProblems = (): string =>
  formatTypes(PROTOCOL_STATUSES.map((status) => fromStatus(status)))

const formatTypes = (problems: readonly Problem[]): string =>
  formatTable(
    ['type', 'status', 'title'],
    problems.map(({ type, status, title }) => [code(type), String(status), title]),
  )
