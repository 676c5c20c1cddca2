/**
 * @typedef {Partial<import('@latchkey/client/types/openapi.d.ts').components['schemas']['Problem']>} Members
 */

/** The reason for which a call or a ceremony has failed; without a `slug` there was no answer of the API. */
export class Problem extends Error {
  /**
   * @param {string | undefined} slug The last part of the problem's `type` (RFC 9457), or a name of the pages' own.
   * @param {Members} members
   * @param {number} retryAfterSeconds
   */
  constructor(slug, members = {}, retryAfterSeconds = 0) {
    super(members.title ?? slug)
    this.slug = slug
    this.members = members
    this.retryAfterSeconds = retryAfterSeconds
  }
}
