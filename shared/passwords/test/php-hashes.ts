/** Hashes of `password_hash` and `sha1` of PHP 8.2, with the least parameters; services/test/php-hashes.test.ts asks PHP itself. */
export const PHP_HASHES = [
  {
    password: 'c0rrect-Horse!',
    hashes: {
      sha1: 'bfae1b6c85486acd1e88132f9b420ae62bfaa870',
      bcrypt: '$2y$04$vzCmHRi4m2wGyIXZpEbaEuQbCFl3O/txdamYkqdGiokR72mww0KG2',
      argon2i:
        '$argon2i$v=19$m=1024,t=4,p=1$ZGg3L0ZlWmRYRjk5UE9ROQ$cdOcf1pkg4Kp78Q+zcxxtFHPZvt3eVRaVdZuPi6qNoU',
      argon2id:
        '$argon2id$v=19$m=1024,t=4,p=1$NDBDUkxUUFZ4dTN0YXNMRQ$SOvWwIjVDNEgMtpCr1HHQ8u71xOm8UH5P7kDTTgD158',
    },
  },
  {
    password: 'Пароль-Корот7!',
    hashes: {
      sha1: '8f020d837a66c0774291156a8b6b40df3861c856',
      bcrypt: '$2y$04$NS/EcQ7OJgGrRT1awZ32vemNRDfkCCIh5brZJwFgZH17uuzP.0b.2',
      argon2i:
        '$argon2i$v=19$m=1024,t=4,p=1$TVRzTXZPUmtnNGZnL1JKTQ$IxdnOnZhRkaW2OK2iPmgea7X3yZc4LsCxX9qTqA0mHA',
      argon2id:
        '$argon2id$v=19$m=1024,t=4,p=1$aTl0bE5CNTdicnF5aFJZMQ$zQLIqHlMsVscOOOKVzoYz02muh8TnOH9FrKjUNJgdS0',
    },
  },
  {
    password: 'Pa\u0308sswo\u0308rt-1x',
    hashes: {
      sha1: '2c2961348a0e48984662cda2fc1c272791492626',
      bcrypt: '$2y$04$PxKJVPByaMJJ5LAAmYHfLeB9YyVldL7CArvRL/jos6.0qGWp/qKmO',
      argon2i:
        '$argon2i$v=19$m=1024,t=4,p=1$SVpxLmhrUU9EbE5qY0YxYw$MoPgaoIE5SH8C9yswX38ZF+4cj6MMKyrwvSDjis39PU',
      argon2id:
        '$argon2id$v=19$m=1024,t=4,p=1$cWhEQVZka3d1LkFHTEM4SQ$/GD7edf0C6f21S8GxMLchNK7ms1FdabgN9l01erP3TM',
    },
  },
] as const
