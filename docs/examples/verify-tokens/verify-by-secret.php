<?php

// Prints the user and the role of a token of Latchkey that JWT_SECRET verifies.

declare(strict_types=1);

/** The claims of a valid token of Latchkey; throws UnexpectedValueException. */
function verify_token(string $token, string $secret, string $issuer): array
{
    $parts = explode('.', $token);
    if (count($parts) !== 3) {
        throw new UnexpectedValueException('It is not a token');
    }
    [$header, $payload, $signature] = $parts;
    $expected = base64url_encode(hash_hmac('sha512', "$header.$payload", $secret, true));
    if (!hash_equals($expected, $signature)) {
        throw new UnexpectedValueException('The signature is wrong');
    }

    $alg = decode_part($header)['alg'] ?? null;
    if ($alg !== 'HS512') {
        throw new UnexpectedValueException('The algorithm is not HS512');
    }
    $claims = decode_part($payload);
    if (($claims['iss'] ?? null) !== $issuer) {
        throw new UnexpectedValueException('The token is of another issuer');
    }
    if (isset($claims['aud'])) {
        throw new UnexpectedValueException('The token is for another service');
    }
    $now = time();
    if (!is_int($claims['exp'] ?? null) || $claims['exp'] <= $now) {
        throw new UnexpectedValueException('The token has expired');
    }
    if (!is_int($claims['nbf'] ?? null) || $claims['nbf'] > $now + 5) {
        throw new UnexpectedValueException('The token is not valid yet');
    }
    return $claims;
}

function base64url_encode(string $bytes): string
{
    return rtrim(strtr(base64_encode($bytes), '+/', '-_'), '=');
}

function decode_part(string $part): array
{
    $decoded = json_decode((string) base64_decode(strtr($part, '-_', '+/'), true), true);
    return is_array($decoded) ? $decoded : throw new UnexpectedValueException('It is not a token');
}

$secret = base64_decode((string) getenv('JWT_SECRET'), true);
if ($secret === false || strlen($secret) < 64) {
    throw new RuntimeException('JWT_SECRET is not 64 bytes of base64');
}
$claims = verify_token($argv[1], $secret, (string) getenv('API_SERVER'));
echo $claims['data']['userid'], ' ', $claims['data']['role'], PHP_EOL;
