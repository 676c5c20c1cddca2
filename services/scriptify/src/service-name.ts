/** Tells whether name can safely be a file name, a unit name and a cron file at once. */
export const isServiceName = (name: string): boolean => /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name)
