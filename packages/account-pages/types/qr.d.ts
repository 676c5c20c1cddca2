export * from 'qr'
