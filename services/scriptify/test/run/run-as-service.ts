// run-as-service.ts <reference> [seconds between calls]: calls a method by the command that install writes into a unit.
import { spawnSync } from 'node:child_process'
import { findServiceCommand } from '../../src/services/install/service-command.ts'

const [reference = '', seconds] = process.argv.slice(2)
const { command, rootdir } = await findServiceCommand(
  { name: 'failing', class: reference, root: '/' },
  {
    interval: seconds === undefined ? undefined : Number(seconds),
    environment: {},
    account: undefined,
    env: process.env,
  },
)
const [file, ...words] = command
process.exitCode = spawnSync(file, words, { cwd: rootdir, stdio: 'inherit' }).status ?? 1
