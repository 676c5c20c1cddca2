<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Terminal;

/** What the engine's own scanner and parser say about typed text. Nothing here executes it. */
final class Input
{
    private const OPENERS = ['{', '(', '[', T_CURLY_OPEN, T_DOLLAR_OPEN_CURLY_BRACES, T_ATTRIBUTE];
    private const CLOSERS = ['}', ')', ']'];
    private const ASSIGNMENTS = [
        '=', T_PLUS_EQUAL, T_MINUS_EQUAL, T_MUL_EQUAL, T_POW_EQUAL, T_DIV_EQUAL, T_CONCAT_EQUAL, T_MOD_EQUAL,
        T_AND_EQUAL, T_OR_EQUAL, T_XOR_EQUAL, T_SL_EQUAL, T_SR_EQUAL, T_COALESCE_EQUAL,
    ];
    private const DECLARES = [T_CLASS, T_INTERFACE, T_TRAIT, T_ENUM];
    private const BLOCKS = [
        T_IF, T_FOR, T_FOREACH, T_WHILE, T_DO, T_SWITCH, T_TRY, T_NAMESPACE, T_DECLARE, T_ABSTRACT, T_FINAL, T_READONLY,
        T_ATTRIBUTE, '{', ...self::DECLARES,
    ];

    /** Tells whether the statement needs more lines. */
    public static function isIncomplete(string $code): bool
    {
        $code = self::withoutOpenTag($code);
        $message = self::parseError($code . "\n");
        if ($message === null) {
            return self::isBareTry($code);
        }
        if (str_starts_with($message, 'syntax error, unexpected end of file')) {
            if (self::parseError($code . "\n;") !== null) {
                return true;
            }
            $first = self::significant($code)[0] ?? null;
            return self::parseError($code . "\n{}") === null && $first?->is([T_NAMESPACE, T_DECLARE]) !== true;
        }
        if (preg_match("/^Unclosed '[(\\[{]'/", $message) === 1) {
            return !str_contains($message, 'does not match');
        }
        return str_starts_with($message, 'Unterminated comment') || self::isOpenSingleQuote($code, $message);
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

    private static function isOpenSingleQuote(string $code, string $message): bool
    {
        if (!str_contains($message, 'unexpected string content')) {
            return false;
        }
        $tokens = self::tokens($code);
        $last = end($tokens);
        if ($last === false || $last->id !== T_ENCAPSED_AND_WHITESPACE || !str_starts_with($last->text, "'")) {
            return false;
        }
        preg_match('/\\\\*\z/', $code, $slashes);
        $closed = $code . (strlen($slashes[0]) % 2 === 1 ? '\\' : '') . "'";
        foreach ([$closed, "{$closed}\n;"] as $candidate) {
            $next = self::parseError($candidate);
            if ($next === null || str_contains($next, 'end of file') || str_starts_with($next, 'Unclosed')) {
                return true;
            }
        }
        return false;
    }

    /** `try { }` alone parses but is a compile fatal: its catch is still to come. */
    private static function isBareTry(string $code): bool
    {
        $statements = self::statements($code);
        $tokens = self::significant(end($statements)['code'] ?? '');
        if ($tokens === [] || $tokens[0]->id !== T_TRY) {
            return false;
        }
        $depth = 0;
        foreach ($tokens as $token) {
            $depth += self::depthChange($token);
            if ($depth === 0 && $token->is([T_CATCH, T_FINALLY])) {
                return false;
            }
        }
        return true;
    }

    /**
     * Cuts text into its top-level statements, each with the line it begins on.
     *
     * @return list<array{code: string, line: int}>
     */
    public static function statements(string $code): array
    {
        $statements = [];
        $current = '';
        $line = 1;
        $depth = 0;
        $tokens = self::tokens($code);
        foreach ($tokens as $index => $token) {
            if ($current === '') {
                $line = $token->line;
            }
            $current .= $token->text;
            $depth += self::depthChange($token);
            if ($depth === 0 && self::endsStatement($token, $current, $tokens, $index)) {
                $statements[] = ['code' => $current, 'line' => $line];
                $current = '';
            }
        }
        return trim($current) === '' ? $statements : [...$statements, ['code' => $current, 'line' => $line]];
    }

    /** @param list<\PhpToken> $tokens */
    private static function endsStatement(\PhpToken $token, string $statement, array $tokens, int $index): bool
    {
        if ($token->id === T_WHITESPACE && str_contains($token->text, "\n")) {
            return self::endsAtLine($statement, self::nextSignificant($tokens, $index));
        }
        if (!in_array($token->text, [';', '}'], true) && $token->id !== T_CLOSE_TAG) {
            return false;
        }
        if ($token->text === '}') {
            $next = self::nextSignificant($tokens, $index);
            $first = self::significant($statement)[0] ?? null;
            if ($first === null || !self::isBlock($statement) || $next?->is([T_ELSE, T_ELSEIF, T_CATCH, T_FINALLY])
                || ($first->id === T_DO && $next?->id === T_WHILE)) {
                return false;
            }
        }
        return self::parseError(self::withoutOpenTag($statement)) === null;
    }

    /** As at the prompt, a line may end an expression without a semicolon, if the next line cannot go on with it. */
    private static function endsAtLine(string $statement, ?\PhpToken $next): bool
    {
        if ($next === null || self::significant($statement) === [] || self::parseError("{$statement}\n;") !== null) {
            return false;
        }
        $message = self::parseError("{$statement} {$next->text}");
        return $message !== null && preg_match('/unexpected end of file|^Unclosed|^Unterminated/', $message) !== 1;
    }

    private static function isBlock(string $statement): bool
    {
        $tokens = self::significant($statement);
        if ($tokens[0]->is(self::BLOCKS)) {
            return true;
        }
        return $tokens[0]->id === T_FUNCTION && ($tokens[1] ?? null)?->is([T_STRING, '&'])
            && ($tokens[1]->id === T_STRING || ($tokens[2] ?? null)?->id === T_STRING);
    }

    /**
     * Rewrites a last expression into a `return`, so that its value can be shown.
     *
     * @return array{code: string, shows: 'value'|'non-null'|'nothing'}
     */
    public static function withReturn(string $code): array
    {
        $code = self::withoutOpenTag($code);
        if (preg_match('/;\s*;\s*\z/', $code) === 1) {
            return ['code' => $code, 'shows' => 'nothing'];
        }
        $cuts = self::topLevelCuts($code);
        if (self::hasInteriorSemicolon($code, $cuts) === false && self::returns('', $code)) {
            return self::returning('', $code);
        }
        foreach (array_reverse($cuts) as $cut) {
            [$head, $tail] = [substr($code, 0, $cut), substr($code, $cut)];
            if (self::significant($tail) !== [] && self::returns($head, $tail)) {
                return self::returning($head, $tail);
            }
        }
        $ended = self::parseError($code) === null ? $code : "{$code}\n;";
        return ['code' => $ended, 'shows' => 'nothing'];
    }

    private static function returns(string $head, string $tail): bool
    {
        return trim($tail) !== '' && self::significant($tail) !== [] && self::parseError("{$head}return {$tail}\n;") === null;
    }

    /** @return array{code: string, shows: 'value'|'non-null'|'nothing'} */
    private static function returning(string $head, string $tail): array
    {
        $tokens = self::significant($tail);
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
            $depth += self::depthChange($token);
            if ($depth === 0 && $token->is(self::ASSIGNMENTS)) {
                return true;
            }
        }
        return false;
    }

    /** @return list<int> offsets just after each top-level `;` and `}` */
    private static function topLevelCuts(string $code): array
    {
        $depth = 0;
        $cuts = [];
        foreach (self::tokens($code) as $token) {
            $depth += self::depthChange($token);
            if ($depth === 0 && in_array($token->text, [';', '}'], true)) {
                $cuts[] = $token->pos - 6 + 1;
            }
        }
        return $cuts;
    }

    /** @param list<int> $cuts */
    private static function hasInteriorSemicolon(string $code, array $cuts): bool
    {
        foreach ($cuts as $cut) {
            if ($code[$cut - 1] === ';' && self::significant(substr($code, $cut)) !== []) {
                return true;
            }
        }
        return false;
    }

    /** Blanks out `use`, `namespace X;` and `declare(strict_types=…);`, which the session keeps for later inputs. */
    public static function takeImports(string $code, Imports $imports): string
    {
        $rest = '';
        foreach (self::statements(self::withoutOpenTag($code)) as ['code' => $statement]) {
            $rest .= $imports->take(self::significant($statement)) ? str_repeat("\n", substr_count($statement, "\n")) : $statement;
        }
        return $rest;
    }

    /** @return list<string> the function and class declarations in the text, as typed */
    public static function declarations(string $code): array
    {
        $found = [];
        foreach (self::statements($code) as ['code' => $statement]) {
            $tokens = array_values(array_filter(
                self::significant($statement),
                static fn (\PhpToken $token): bool => !$token->is([T_ABSTRACT, T_FINAL, T_READONLY]),
            ));
            if ($tokens !== [] && ($tokens[0]->is([...self::DECLARES, T_ATTRIBUTE]) || ($tokens[0]->id === T_FUNCTION && self::isBlock($statement)))) {
                $found[] = trim($statement);
            }
        }
        return $found;
    }

    public static function withoutOpenTag(string $code): string
    {
        return (string) preg_replace('/\A\s*<\?php(?=\s|\z)/', '', $code);
    }

    /** @return list<\PhpToken> tokens after the opening tag */
    private static function tokens(string $code): array
    {
        return array_slice(\PhpToken::tokenize("<?php {$code}"), 1);
    }

    /** @return list<\PhpToken> tokens without space and comments */
    public static function significant(string $code): array
    {
        return array_values(array_filter(self::tokens($code), static fn (\PhpToken $token): bool => !$token->isIgnorable()));
    }

    /** @param list<\PhpToken> $tokens */
    private static function nextSignificant(array $tokens, int $index): ?\PhpToken
    {
        for ($next = $index + 1; $next < count($tokens); $next++) {
            if (!$tokens[$next]->isIgnorable()) {
                return $tokens[$next];
            }
        }
        return null;
    }

    private static function depthChange(\PhpToken $token): int
    {
        return match (true) {
            $token->is(self::OPENERS) => 1,
            $token->is(self::CLOSERS) => -1,
            default => 0,
        };
    }
}
