import { describeUserRepository } from '@latchkey/shared/users/test/user-repository.suite.ts'
import { createTestDatabase } from '../../test/support/test-database.ts'

describeUserRepository(createTestDatabase)
