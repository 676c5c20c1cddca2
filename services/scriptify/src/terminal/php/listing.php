<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Terminal;

/** Writes the lists that `.ls` prints. */
final class Listing
{
    /**
     * @param array<string, mixed> $variables
     * @param ?string $libraries the folder whose functions are not listed
     */
    public static function variables(array $variables, ?string $libraries): string
    {
        $lines = [];
        foreach ($variables as $name => $value) {
            $lines[] = "\${$name}  " . get_debug_type($value) . (is_array($value) ? '(' . count($value) . ')' : '');
        }
        $functions = array_map(static fn (\ReflectionFunction $f): string => $f->getName() . '()', self::ownFunctions($libraries));
        $classes = array_filter(get_declared_classes(), static fn (string $c): bool => self::isTyped($c));
        return implode("\n", [...$lines, ...$functions, ...array_map(static fn (string $c): string => "class {$c}", $classes)]);
    }

    /** @return list<\ReflectionFunction> */
    private static function ownFunctions(?string $libraries): array
    {
        $functions = array_map(static fn (string $f): \ReflectionFunction => new \ReflectionFunction($f), get_defined_functions()['user']);
        $isOwn = static fn (\ReflectionFunction $f): bool =>
            $libraries === null || !str_starts_with((string) $f->getFileName(), $libraries);
        return array_values(array_filter($functions, $isOwn));
    }

    private static function isTyped(string $class): bool
    {
        $about = new \ReflectionClass($class);
        return !$about->isAnonymous() && $about->getFileName() === CodeStream::NAME;
    }
}
