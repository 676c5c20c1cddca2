/** The name of an identity provider, in OIDC_PROVIDERS and in addresses. */
export const PROVIDER_NAME = /^[a-z][a-z0-9-]{0,19}$/
