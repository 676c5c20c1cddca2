/** Fails in the ways that a program fails; Failing.php is the same in php. */
export class Failing {
  /** By an error with a cause. */
  caused(): void {
    try {
      refuse('s3cret-password')
    } catch (cause) {
      throw new Error('could not send report', { cause })
    }
  }

  nested(): void {
    try {
      this.caused()
    } catch (cause) {
      throw new JobFailed('the nightly job', { cause })
    }
  }

  typeError(): void {
    JSON.parse('{}').user.name()
  }

  async library(): Promise<void> {
    await Promise.resolve()
    ;[1].map(() => this.caused())
  }

  aggregate(): void {
    throw new AggregateError(
      [new Error('no route', { cause: new Error('cable') }), 'timed out'],
      'no server answers',
    )
  }

  suppressed(): void {
    throw new SuppressedError(new Error('could not close'), new Error('query failed'), 'both')
  }

  /** As fetch does of a host with two addresses. */
  unreachable(): void {
    throw new Error('fetch failed', { cause: new AggregateError([new Error('refused ::1')]) })
  }

  nameless(): void {
    throw new AggregateError([new Error('refused ::1'), new Error('refused 127.0.0.1')])
  }

  causeIsText(): void {
    throw new Error('could not send', { cause: '550 no such user' })
  }

  causeIsObject(): void {
    throw new Error('could not send', { cause: { password: 's3cret-password' } })
  }

  causeShowsItself(): void {
    throw new Error('could not connect', { cause: new Connection() })
  }

  looksLikeFrames(): void {
    throw new Error('bad reply\n    at x (file:///a%2Fb.js:1:1)')
  }

  withProperties(): void {
    throw Object.assign(new Error('could not log in'), { config: { password: 's3cret-password' } })
  }

  cyclic(): void {
    const outer = new Error('outer')
    outer.cause = new Error('inner', { cause: outer })
    throw outer
  }

  endless(): void {
    let error = new Error('0')
    for (let depth = 1; depth <= 5000; depth++) error = new Error(`${depth}`, { cause: error })
    throw error
  }

  deep(depth = 5000): void {
    if (depth === 0) throw new Error('deep')
    this.deep(depth - 1)
  }

  text(): void {
    throw 'plain text'
  }
}

class JobFailed extends Error {}

class Connection {
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return 'smtp://app:s3cret-password@mail/'
  }
}

function refuse(_password: string): never {
  throw new Error('SMTP\n    refused')
}
