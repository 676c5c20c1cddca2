<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Method;

/** The options of call-method.php, which src/run/caller-options.ts writes. */
final class CallerOptions
{
    /** @param list<string> $arguments byte for byte */
    private function __construct(
        public readonly string $class,
        public readonly string $method,
        public readonly array $arguments,
        /** @var list<int> indexes of the arguments that are JSON */
        public readonly array $json,
        /** @var array<string, string> */
        private readonly array $options,
    ) {
    }

    /** @param list<string> $argv */
    public static function parse(array $argv): self
    {
        $end = (int) array_search('--', $argv, true);
        $options = [];
        foreach (array_slice($argv, 1, $end - 1) as $word) {
            [$name, $value] = explode('=', substr($word, 2), 2) + [1 => ''];
            $options[$name] = $value;
        }
        [$class, $method] = explode('::', $argv[$end + 1], 2);
        $arguments = array_slice($argv, $end + 2);
        foreach (self::indexes($options['hex'] ?? '') as $index) {
            $arguments[$index] = (string) hex2bin($arguments[$index]);
        }
        return new self($class, $method, $arguments, self::indexes($options['json'] ?? ''), $options);
    }

    public function has(string $option): bool
    {
        return isset($this->options[$option]);
    }

    public function get(string $option): ?string
    {
        return $this->options[$option] ?? null;
    }

    /** @return list<int> */
    private static function indexes(string $list): array
    {
        return $list === '' ? [] : array_map(intval(...), explode(',', $list));
    }
}
