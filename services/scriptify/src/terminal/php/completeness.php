<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Terminal;

/** Finds out if typed text is a whole statement. */
final class Completeness
{
    /** Tells whether the statement needs more lines. */
    public static function isIncomplete(string $code): bool
    {
        $code = Tokens::withoutOpenTag($code);
        $message = Tokens::parseError($code . "\n");
        if ($message === null) {
            return self::isBareTry($code);
        }
        if (str_starts_with($message, 'syntax error, unexpected end of file')) {
            if (Tokens::parseError($code . "\n;") !== null) {
                return true;
            }
            $first = Tokens::significant($code)[0] ?? null;
            return Tokens::parseError($code . "\n{}") === null && $first?->is([T_NAMESPACE, T_DECLARE]) !== true;
        }
        if (preg_match("/^Unclosed '[(\\[{]'/", $message) === 1) {
            return !str_contains($message, 'does not match');
        }
        return str_starts_with($message, 'Unterminated comment') || self::isOpenSingleQuote($code, $message);
    }

    private static function isOpenSingleQuote(string $code, string $message): bool
    {
        if (!str_contains($message, 'unexpected string content')) {
            return false;
        }
        $tokens = Tokens::tokens($code);
        $last = end($tokens);
        if ($last === false || $last->id !== T_ENCAPSED_AND_WHITESPACE || !str_starts_with($last->text, "'")) {
            return false;
        }
        preg_match('/\\\\*\z/', $code, $slashes);
        $closed = $code . (strlen($slashes[0]) % 2 === 1 ? '\\' : '') . "'";
        foreach ([$closed, "{$closed}\n;"] as $candidate) {
            $next = Tokens::parseError($candidate);
            if ($next === null || str_contains($next, 'end of file') || str_starts_with($next, 'Unclosed')) {
                return true;
            }
        }
        return false;
    }

    /** `try { }` without more parses but is a compile error: its catch is still to come. */
    private static function isBareTry(string $code): bool
    {
        $statements = Statements::split($code);
        $tokens = Tokens::significant((string) end($statements));
        if ($tokens === [] || $tokens[0]->id !== T_TRY) {
            return false;
        }
        $depth = 0;
        foreach ($tokens as $token) {
            $depth += Tokens::depthChange($token);
            if ($depth === 0 && $token->is([T_CATCH, T_FINALLY])) {
                return false;
            }
        }
        return true;
    }
}
