import { type Command, Option } from 'commander'
import { collect } from './collect.ts'
import type { OptionRow } from './plain-line.ts'

/** Gives a command the options of a table. */
export function addOptions(command: Command, rows: readonly OptionRow[]): Command {
  for (const row of rows) command.addOption(toOption(row))
  return command
}

function toOption({ flags, description, choices, isRepeatable, conflicts }: OptionRow): Option {
  const option = new Option(flags, description)
  if (choices !== undefined) option.choices(choices)
  if (isRepeatable) option.argParser(collect)
  if (conflicts !== undefined) option.conflicts(conflicts)
  return option
}
