import { expect, it } from 'vitest'
import { createFuzz, fuzzOptions, startFuzzedApp } from './fuzz-app.ts'

const options = fuzzOptions(5_000)

it(`answers any request as its document says: FUZZ_SEED=${options.seed}`, async () => {
  await using app = await startFuzzedApp()
  const { statuses, succeeded } = await (await createFuzz(app))(options)
  // Otherwise the requests do not reach what they are to test.
  expect(Object.keys(statuses).map(Number)).toEqual(
    expect.arrayContaining([200, 400, 401, 403, 404, 405, 413, 415, 422]),
  )
  expect([...succeeded]).toEqual(
    expect.arrayContaining([
      ...['/login', '/refreshtoken', '/logout', '/profile', '/profile/password'],
      ...['/signup', '/signup/confirm'],
      ...['/login/resetrequest', '/login/confirmcode', '/login/resetpassword'],
    ]),
  )
})
