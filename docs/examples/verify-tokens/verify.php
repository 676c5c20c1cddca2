<?php

// Prints the user and the role of a token of Latchkey that the public keys verify.

declare(strict_types=1);

/** The public keys by their kid. Keep them for five minutes, for example in APCu. */
function fetch_keys(string $issuer): array
{
    $set = json_decode((string) file_get_contents("$issuer/.well-known/jwks.json"), true);
    $keys = array_filter($set['keys'] ?? [], fn (array $key) => $key['alg'] === 'EdDSA');
    return array_map(base64url_decode(...), array_column($keys, 'x', 'kid'));
}

/** The claims of a valid token of Latchkey; throws UnexpectedValueException or SodiumException. */
function verify_token(string $token, array $keys, string $issuer): array
{
    $parts = explode('.', $token);
    if (count($parts) !== 3) {
        throw new UnexpectedValueException('It is not a token');
    }
    [$header, $payload, $signature] = $parts;
    ['alg' => $alg, 'kid' => $kid] = decode_part($header) + ['alg' => null, 'kid' => null];
    if ($alg !== 'EdDSA') {
        throw new UnexpectedValueException('The algorithm is not EdDSA');
    }
    $key = is_string($kid) ? $keys[$kid] ?? null : null;
    if ($key === null) {
        throw new UnexpectedValueException('The token is signed with another key');
    }
    if (!sodium_crypto_sign_verify_detached(base64url_decode($signature), "$header.$payload", $key)) {
        throw new UnexpectedValueException('The signature is wrong');
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

function base64url_decode(string $text): string
{
    return sodium_base642bin($text, SODIUM_BASE64_VARIANT_URLSAFE_NO_PADDING);
}

function decode_part(string $part): array
{
    $decoded = json_decode(base64url_decode($part), true);
    return is_array($decoded) ? $decoded : throw new UnexpectedValueException('It is not a token');
}

$issuer = (string) getenv('API_SERVER');
$claims = verify_token($argv[1], fetch_keys($issuer), $issuer);
echo $claims['data']['userid'], ' ', $claims['data']['role'], PHP_EOL;
