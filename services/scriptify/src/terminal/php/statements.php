<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Terminal;

/** The top-level statements of typed text. */
final class Statements
{
    private const DECLARES = [T_CLASS, T_INTERFACE, T_TRAIT, T_ENUM];
    private const BLOCKS = [
        T_IF, T_FOR, T_FOREACH, T_WHILE, T_DO, T_SWITCH, T_TRY, T_NAMESPACE, T_DECLARE, T_ABSTRACT, T_FINAL, T_READONLY,
        T_ATTRIBUTE, '{', ...self::DECLARES,
    ];

    /**
     * Cuts text into its top-level statements.
     *
     * @return list<string>
     */
    public static function split(string $code): array
    {
        $statements = [];
        $current = '';
        $depth = 0;
        $tokens = Tokens::tokens(Tokens::withoutOpenTag($code));
        foreach ($tokens as $index => $token) {
            if (trim($current) === '') {
                $token->text = match ($token->id) {
                    T_INLINE_HTML => "?>{$token->text}",
                    T_OPEN_TAG_WITH_ECHO => 'echo ',
                    T_OPEN_TAG, T_CLOSE_TAG => str_repeat("\n", substr_count($token->text, "\n")),
                    default => $token->text,
                };
            }
            $current .= $token->text;
            $depth += Tokens::depthChange($token);
            if ($depth === 0 && self::endsStatement($token, $current, $tokens, $index)) {
                $statements[] = $current;
                $current = '';
            }
        }
        return trim($current) === '' ? $statements : [...$statements, $current];
    }

    /** @param list<\PhpToken> $tokens */
    private static function endsStatement(\PhpToken $token, string $statement, array $tokens, int $index): bool
    {
        if ($token->id === T_INLINE_HTML && str_starts_with(ltrim($statement), '?>')) {
            return true;
        }
        if (!in_array($token->text, [';', '}'], true) && $token->id !== T_CLOSE_TAG) {
            return false;
        }
        if ($token->text === '}') {
            $next = Tokens::nextSignificant($tokens, $index);
            $first = Tokens::significant($statement)[0] ?? null;
            if (
                $first === null || !self::isBlock($statement) || $next?->is([T_ELSE, T_ELSEIF, T_CATCH, T_FINALLY])
                || ($first->id === T_DO && $next?->id === T_WHILE)
            ) {
                return false;
            }
        }
        return Tokens::parseError(Tokens::withoutOpenTag($statement)) === null;
    }

    private static function isBlock(string $statement): bool
    {
        $tokens = Tokens::significant($statement);
        if ($tokens[0]->is(self::BLOCKS)) {
            return true;
        }
        return $tokens[0]->id === T_FUNCTION && ($tokens[1] ?? null)?->is([T_STRING, '&'])
            && ($tokens[1]->id === T_STRING || ($tokens[2] ?? null)?->id === T_STRING);
    }

    /** @return list<string> the function and class declarations in the text, as typed */
    public static function declarations(string $code): array
    {
        $found = [];
        foreach (self::split($code) as $statement) {
            $tokens = array_values(array_filter(
                Tokens::significant($statement),
                static fn (\PhpToken $token): bool => !$token->is([T_ABSTRACT, T_FINAL, T_READONLY]),
            ));
            $first = $tokens[0] ?? null;
            if ($first?->is([...self::DECLARES, T_ATTRIBUTE]) || ($first?->id === T_FUNCTION && self::isBlock($statement))) {
                $found[] = trim($statement);
            }
        }
        return $found;
    }

    /** @return list<string> the `use`, `namespace` and `declare` statements in the text, the last one first */
    public static function imports(string $code): array
    {
        $isImport = static fn (string $statement): bool =>
            (Tokens::significant($statement)[0] ?? null)?->is([T_USE, T_NAMESPACE, T_DECLARE]) === true;
        return array_reverse(array_map(trim(...), array_values(array_filter(self::split($code), $isImport))));
    }

    /** Blanks out `use`, `namespace X;` and `declare(strict_types=…);`, which the session keeps for later statements. */
    public static function takeImports(string $code, Imports $imports): string
    {
        $rest = '';
        foreach (self::split(Tokens::withoutOpenTag($code)) as $statement) {
            $rest .= $imports->take(Tokens::significant($statement)) ? str_repeat("\n", substr_count($statement, "\n")) : $statement;
        }
        return $rest;
    }
}
