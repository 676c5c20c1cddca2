<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Run;

/** The documentation of a method. */
final class Docs
{
    /** The comment, and a line that shows how to call what $as refers to. */
    public static function of(\ReflectionMethod $method, string $as): string
    {
        $text = self::text((string) $method->getDocComment());
        return ($text === '' ? '' : $text . "\n\n") . rtrim("Usage: scriptify run '{$as}' " . self::parameters($method)) . "\n";
    }

    /** @param list<\ReflectionMethod> $methods each with the first line of its comment */
    public static function ofMethods(array $methods, string $as): string
    {
        $names = array_map(static fn (\ReflectionMethod $method): string => "{$as}::{$method->getName()}", $methods);
        $width = max(0, ...array_map(strlen(...), $names));
        $summarize = static fn (\ReflectionMethod $method): string =>
            (string) strtok(self::text((string) $method->getDocComment()), "\n");
        $line = static fn (string $name, string $summary): string => rtrim(str_pad($name, $width) . "  {$summary}") . "\n";
        return implode('', array_map($line, $names, array_map($summarize, $methods)));
    }

    /** `--arg <count: int> [--arg <name: string = 'x'>]` */
    public static function parameters(\ReflectionMethod $method): string
    {
        $words = [];
        foreach ($method->getParameters() as $parameter) {
            $word = '--arg <' . self::parameter($parameter) . '>';
            $words[] = match (true) {
                $parameter->isVariadic() => "[{$word} …]",
                $parameter->isOptional() => "[{$word}]",
                default => $word,
            };
        }
        return implode(' ', $words);
    }

    public static function parameter(\ReflectionParameter $parameter): string
    {
        $type = $parameter->hasType() ? ': ' . $parameter->getType() : '';
        return $parameter->getName() . $type . self::default($parameter);
    }

    private static function default(\ReflectionParameter $parameter): string
    {
        if (!$parameter->isDefaultValueAvailable()) {
            return '';
        }
        // The constant's name, and no constructor of a default like `new Clock()`.
        $constant = $parameter->isDefaultValueConstant() ? $parameter->getDefaultValueConstantName() : null;
        if ($constant !== null) {
            return " = {$constant}";
        }
        preg_match('/ = (.*) \]$/s', (string) $parameter, $matches);
        return ' = ' . ($matches[1] ?? '…');
    }

    /** The comment without its marks. */
    private static function text(string $comment): string
    {
        $lines = explode("\n", preg_replace('~^/\*\*|\*/$~', '', $comment) ?? '');
        return trim(implode("\n", array_map(static fn (string $line) => rtrim(preg_replace('~^\s*\* ?~', '', $line) ?? ''), $lines)));
    }
}
