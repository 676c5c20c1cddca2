<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Terminal;

/** Finds errors that would end the process. */
final class FatalCheck
{
    public static function of(string $code): ?string
    {
        foreach (Statements::split($code) as $statement) {
            $tokens = Tokens::significant($statement);
            $error = self::ofStatement($tokens);
            if ($error !== null) {
                return $error;
            }
        }
        return null;
    }

    /** @param list<\PhpToken> $tokens */
    private static function ofStatement(array $tokens): ?string
    {
        $first = $tokens[0] ?? null;
        if ($first === null) {
            return null;
        }
        if ($first->is([T_BREAK, T_CONTINUE])) {
            return "Error: '{$first->text}' not in the 'loop' or 'switch' context";
        }
        if ($first->is([T_YIELD, T_YIELD_FROM])) {
            return 'Error: yield can only be used inside a function';
        }
        if ($first->id === T_HALT_COMPILER) {
            return 'Error: __halt_compiler() cannot be used in a terminal';
        }
        $name = $tokens[$first->id === T_FUNCTION && ($tokens[1]->text ?? '') === '&' ? 2 : 1] ?? null;
        if ($first->id === T_FUNCTION && $name?->id === T_STRING && function_exists($name->text)) {
            return "Error: the function {$name->text}() is already declared; choose another name, or .clear first";
        }
        return null;
    }
}
