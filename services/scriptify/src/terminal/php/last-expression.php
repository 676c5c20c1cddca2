<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Terminal;

/** The value of typed text: its last expression. */
final class LastExpression
{
    private const ASSIGNMENTS = [
        '=', T_PLUS_EQUAL, T_MINUS_EQUAL, T_MUL_EQUAL, T_POW_EQUAL, T_DIV_EQUAL, T_CONCAT_EQUAL, T_MOD_EQUAL,
        T_AND_EQUAL, T_OR_EQUAL, T_XOR_EQUAL, T_SL_EQUAL, T_SR_EQUAL, T_COALESCE_EQUAL,
    ];

    /**
     * Rewrites a last expression into a `return`, so that its value can be shown.
     *
     * @return array{code: string, shows: 'value'|'non-null'|'nothing'}
     */
    public static function withReturn(string $code): array
    {
        $code = Tokens::withoutOpenTag($code);
        if (Tokens::endsInHtml($code)) {
            return ['code' => $code, 'shows' => 'nothing'];
        }
        if (preg_match('/;\s*;\s*\z/', $code) === 1) {
            return ['code' => $code, 'shows' => 'nothing'];
        }
        $statements = Statements::split($code);
        $tail = (string) array_pop($statements);
        $head = implode('', $statements);
        if (self::returns($head, $tail)) {
            return self::returning($head, $tail);
        }
        if ((Tokens::significant($tail)[0] ?? null)?->is(T_RETURN)) {
            return ['code' => Tokens::ended($code), 'shows' => 'non-null'];
        }
        return ['code' => Tokens::ended($code), 'shows' => 'nothing'];
    }

    private static function returns(string $head, string $tail): bool
    {
        return Tokens::significant($tail) !== [] && Tokens::parseError("{$head}return {$tail}\n;") === null;
    }

    /** @return array{code: string, shows: 'value'|'non-null'|'nothing'} */
    private static function returning(string $head, string $tail): array
    {
        $tokens = Tokens::significant($tail);
        $last = end($tokens);
        $isEnded = $last !== false && $last->text === ';';
        $value = $isEnded ? array_slice($tokens, 0, -1) : $tokens;
        $shows = match (true) {
            $isEnded && self::isAssignment($value) => 'nothing',
            (end($value) ?: null)?->text === ')' => 'non-null',
            default => 'value',
        };
        return ['code' => "{$head}return {$tail}\n;", 'shows' => $shows];
    }

    /** @param list<\PhpToken> $tokens */
    private static function isAssignment(array $tokens): bool
    {
        $depth = 0;
        foreach ($tokens as $token) {
            $depth += Tokens::depthChange($token);
            if ($depth === 0 && $token->is(self::ASSIGNMENTS)) {
                return true;
            }
        }
        return false;
    }
}
