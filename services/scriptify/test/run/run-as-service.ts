// run-as-service.ts <reference> [seconds between calls]: calls a method by the command that install writes into a unit.
import { spawnSync } from 'node:child_process'
import { completeRequest } from '../../src/units/install/install-request.ts'
import { findServiceCommand } from '../../src/units/install/service-command.ts'
import { systemd } from '../../src/units/systems/systemd.ts'

const [reference = '', seconds] = process.argv.slice(2)
const given = { name: 'failing', system: systemd, class: reference, root: '/', env: [], settings: {} }
const no = { enable: false, start: false, check: false, dryRun: true, force: false }
const { command, rootdir } = await findServiceCommand(completeRequest({ ...given, ...no }, undefined), {
  interval: seconds === undefined ? undefined : Number(seconds),
  environment: {},
  account: undefined,
  env: process.env,
})
const [file, ...words] = command
process.exitCode = spawnSync(file, words, { cwd: rootdir, stdio: 'inherit' }).status ?? 1
