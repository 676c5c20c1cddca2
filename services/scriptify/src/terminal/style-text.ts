/** That of node:util: importing the module evaluates all it exports, and a prompt waits 2 ms for that. */
export const { styleText } = process.getBuiltinModule('node:util')
