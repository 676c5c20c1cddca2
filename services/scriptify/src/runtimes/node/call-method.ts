// The program that calls a method: call-method.ts [options] -- module.ts#Class::method [argument …]
import { obey } from './method/caller.ts'
import { readOrders } from './method/orders.ts'

// Not awaited: a method that never settles would end the process with Node's own code and words.
void obey(readOrders(process.argv.slice(2)))
