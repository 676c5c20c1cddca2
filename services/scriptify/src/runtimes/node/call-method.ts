// The program that calls a method: call-method.ts [options] -- module.ts#Class::method [argument …]
import { useCompileCache } from '../../compile-cache.ts'
import { readOrders } from './method/caller-options.ts'
import { obey } from './method/run-task.ts'

const orders = readOrders(process.argv.slice(2))
if (orders.compileCache) useCompileCache(process.env)
// Not awaited: a method that never settles would end the process with Node's own code and words.
void obey(orders)
