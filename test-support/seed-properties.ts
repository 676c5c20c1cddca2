import fc from 'fast-check'

// The same cases in each run of `npm test`; other ones in each run of the soak, whose seed is printed.
fc.configureGlobal({ seed: Number(process.env.TEST_SEED) })
