// The program that calls a method: call-method.ts <options as JSON> [argument …]
import { parseCallerOptions } from '../method-call.ts'
import { runTask } from './run-task.ts'

// It is not awaited: a method that never settles would end the process with Node's own exit code and message.
void runTask(parseCallerOptions(process.argv.slice(2)))
