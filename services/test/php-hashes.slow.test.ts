import { getScheme, PASSWORD_SCHEMES } from '@latchkey/shared/passwords/schemes.ts'
import { docker } from '@latchkey/test-support/images.ts'
import { HARDENED, IMAGE } from '@latchkey/test-support/scriptify-image.ts'
import { builtScriptifyImage } from '@latchkey/test-support/servers/shared-server.ts'
import { beforeAll, expect, it } from 'vitest'

const PASSWORDS = ['c0rrect-Horse!', 'Пароль-Корот7!']

beforeAll(builtScriptifyImage)

/** Runs PHP code with the passwords, and more words, in `$argv`; it writes JSON. */
async function php(code: string, ...words: string[]): Promise<unknown> {
  const output = await docker(
    'run',
    '--rm',
    ...HARDENED,
    '--entrypoint',
    'php',
    IMAGE,
    '-r',
    code,
    '--',
    ...words,
  )
  return JSON.parse(output)
}

it('verifies what password_hash of PHP stores, with the parameters that it has by default', async () => {
  const code = `echo json_encode(array_map(fn ($password) => [
    'sha1' => sha1($password),
    'bcrypt' => password_hash($password, PASSWORD_BCRYPT),
    'argon2i' => password_hash($password, PASSWORD_ARGON2I),
    'argon2id' => password_hash($password, PASSWORD_ARGON2ID),
  ], array_slice($argv, 1)));`
  const stored = (await php(code, ...PASSWORDS)) as Record<string, string>[]
  for (const [index, password] of PASSWORDS.entries())
    for (const [name, scheme] of Object.entries(PASSWORD_SCHEMES)) {
      const hash = stored[index]?.[name] ?? ''
      expect([scheme.recognises(hash), scheme.findFault(hash)], name).toEqual([true, undefined])
      expect(await scheme.verify(password, hash), name).toBe(true)
    }
})

it('stores what password_verify of PHP verifies', async () => {
  const schemes = ['bcrypt', 'argon2i', 'argon2id']
  const [password = ''] = PASSWORDS
  const code =
    'echo json_encode(array_map(fn ($hash) => password_verify($argv[1], $hash), array_slice($argv, 2)));'
  const stored = await Promise.all(schemes.map((name) => getScheme(name).hash(password)))
  expect(await php(code, password, ...stored)).toEqual([true, true, true])
})
