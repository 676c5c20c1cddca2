throw new Error('no luck')
