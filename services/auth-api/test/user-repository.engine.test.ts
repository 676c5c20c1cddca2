import { describeUserRepository } from '@latchkey/shared/users/test/user-repository.suite.ts'
import { createTestDatabase } from './support/test-database.ts'

describeUserRepository(createTestDatabase)
