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
        return (int) $token->is(self::OPENERS) - (int) $token->is(self::CLOSERS);
    }

    /** Code without its opening tag. Text that begins with another tag is HTML, as in a file. */
    public static function withoutOpenTag(string $code): string
    {
        if (preg_match('/\A(?:#!.*\n)?\s*<\?php(?=\s|\z)/', $code, $tag) === 1) {
            return str_repeat("\n", substr_count($tag[0], "\n")) . substr($code, strlen($tag[0]));
        }
        return preg_match('/\A\s*<(?!<<)/', $code) === 1 ? "?>{$code}" : $code;
    }

    /** A script without its opening tag. One that begins with text, and has tags later, is not code. */
    public static function ofScript(string $script): string
    {
        $code = self::withoutOpenTag($script);
        $isText = $code === $script && str_contains($script, '<?')
            && self::parseError($script) !== null && self::parseError("?>{$script}") === null;
        return $isText ? "?>{$script}" : $code;
    }

    /** True where the text ends outside PHP, where nothing can be added to it. */
    public static function endsInHtml(string $code): bool
    {
        $tokens = self::tokens($code);
        return (end($tokens) ?: null)?->is([T_INLINE_HTML, T_CLOSE_TAG]) === true;
    }

    /** Code whose last statement needs no semicolon. */
    public static function ended(string $code): string
    {
        return self::parseError($code) === null ? $code : "{$code}\n;";
    }

    /** A file's text in which `__DIR__` is the working folder, as it is in what php reads from its standard input. */
    public static function inWorkingFolder(string $text): string
    {
        if (stripos($text, '__DIR__') === false) {
            return $text;
        }
        try {
            $tokens = \PhpToken::tokenize($text, TOKEN_PARSE);
        } catch (\ParseError) {
            return $text; // its evaluation reports it
        }
        $folder = var_export((string) getcwd(), true);
        return implode('', array_map(static fn (\PhpToken $token): string => $token->id === T_DIR ? $folder : $token->text, $tokens));
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
