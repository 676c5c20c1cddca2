<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Terminal;

/** Typed text as the engine's scanner and parser see it. Nothing here executes it. */
final class Tokens
{
    private const OPENERS = ['{', '(', '[', T_CURLY_OPEN, T_DOLLAR_OPEN_CURLY_BRACES, T_ATTRIBUTE];
    private const CLOSERS = ['}', ')', ']'];

    /** @return list<\PhpToken> tokens after the opening tag */
    public static function tokens(string $code): array
    {
        return array_slice(\PhpToken::tokenize("<?php {$code}"), 1);
    }

    /** @return list<\PhpToken> tokens without space and comments */
    public static function significant(string $code): array
    {
        return array_values(array_filter(self::tokens($code), static fn (\PhpToken $token): bool => !$token->isIgnorable()));
    }

    /** @param list<\PhpToken> $tokens */
    public static function nextSignificant(array $tokens, int $index): ?\PhpToken
    {
        for ($next = $index + 1; $next < count($tokens); $next++) {
            if (!$tokens[$next]->isIgnorable()) {
                return $tokens[$next];
            }
        }
        return null;
    }

    public static function depthChange(\PhpToken $token): int
    {
        return match (true) {
            $token->is(self::OPENERS) => 1,
            $token->is(self::CLOSERS) => -1,
            default => 0,
        };
    }

    public static function withoutOpenTag(string $code): string
    {
        return (string) preg_replace('/\A\s*<\?php(?=\s|\z)/', '', $code);
    }

    /** The engine's message for text that does not parse, else null. */
    public static function parseError(string $code): ?string
    {
        try {
            \PhpToken::tokenize("<?php {$code}", TOKEN_PARSE);
            return null;
        } catch (\ParseError $error) {
            return $error->getMessage();
        }
    }
}
