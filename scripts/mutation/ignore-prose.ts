import { declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin'
import type { babel } from '@stryker-mutator/core'

/** Keys of the OpenAPI document that no client acts on. */
const PROSE_KEYS = ['summary', 'description', 'tags', 'examples']
/** Names of texts for people, as properties and as variables. */
const PROSE_NAMES = ['consequence']
/** Methods whose text is for people: `describe` of Zod, and the levels of the log. */
const PROSE_METHODS = ['describe', 'debug', 'info', 'warn', 'error']

/** Leaves out the text that no behaviour depends on: descriptions of the API, log messages, names of prepared statements. */
const ignoreProse = {
  shouldIgnore(path: babel.NodePath): string | undefined {
    if (isProseProperty(path) || isProseArgument(path) || isProseText(path)) return 'text for people'
    if (isStatementName(path)) return 'the name of a prepared statement'
    return isPluginMetadata(path) ? 'the name of a plugin' : undefined
  },
}

export const strykerPlugins = [declareValuePlugin(PluginKind.Ignore, 'prose', ignoreProse)]

const isProseProperty = (path: babel.NodePath): boolean => PROSE_KEYS.includes(keyOf(path) ?? '')

function isProseArgument({ node, parent, listKey }: babel.NodePath): boolean {
  if (!isText(node)) return false
  if (listKey !== 'arguments' || parent?.type !== 'CallExpression') return false
  const { callee } = parent
  if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return false
  return PROSE_METHODS.includes(callee.property.name)
}

/** A text under one of the names, or one that a condition chooses: the condition is code. */
function isProseText(path: babel.NodePath): boolean {
  if (!isText(path.node)) return false
  const holder = path.findParent(({ node }) => node.type !== 'ConditionalExpression')
  return holder !== null && PROSE_NAMES.includes(keyOf(holder) ?? variableOf(holder) ?? '')
}

function isStatementName(path: babel.NodePath): boolean {
  if (keyOf(path) !== 'name' || path.parent?.type !== 'ObjectExpression') return false
  return path.parent.properties.some(
    (each) => each.type === 'ObjectProperty' && each.key.type === 'Identifier' && each.key.name === 'text',
  )
}

/** What fastify-plugin reports when plugins are registered in another order. */
const isPluginMetadata = ({ node, parent, key }: babel.NodePath): boolean =>
  node.type === 'ObjectExpression' &&
  key === 1 &&
  parent?.type === 'CallExpression' &&
  parent.callee.type === 'Identifier' &&
  parent.callee.name === 'fp'

function keyOf({ node }: babel.NodePath): string | undefined {
  return node.type === 'ObjectProperty' && node.key.type === 'Identifier' ? node.key.name : undefined
}

const variableOf = ({ node }: babel.NodePath): string | undefined =>
  node.type === 'VariableDeclarator' && node.id.type === 'Identifier' ? node.id.name : undefined

const isText = ({ type }: babel.NodePath['node']): boolean =>
  type === 'StringLiteral' || type === 'TemplateLiteral'
