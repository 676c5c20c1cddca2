/** What the mail inbox exits with when another process has taken one of its ports: the number of Linux for EADDRINUSE. */
export const EXIT_PORT_TAKEN = 98
