process.env.BOOTSTRAPPED = 'yes'
