<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Terminal;

/** The session's `use`, `namespace` and strict_types, which the engine forgets after each eval. */
final class Imports
{
    private string $namespace = '';
    private bool $isStrict = false;

    /** @var array<string, string> a whole use statement by kind and alias, so that a new import replaces the old one */
    private array $uses = [];

    /** @param list<\PhpToken> $tokens a statement; true if it was one of these */
    public function take(array $tokens): bool
    {
        $text = implode(' ', array_map(static fn (\PhpToken $token): string => $token->text, $tokens));
        $text = preg_replace('/ ?;?\z/', ' ;', $text, 1); // at the prompt the last statement needs none
        if (preg_match('/\Anamespace(?: ([\w\\\\\x80-\xff]+))? ?;\z/', $text, $match) === 1) {
            $this->namespace = $match[1] ?? '';
            $this->uses = [];
            return true;
        }
        if (preg_match('/\Adeclare \( strict_types = ([01]) \) ;\z/', $text, $match) === 1) {
            $this->isStrict = $match[1] === '1';
            return true;
        }
        return ($tokens[0] ?? null)?->id === T_USE && $this->takeUse(substr($text, 4, -1));
    }

    /** The code that repeats the imports in an eval; on one line, which keeps line numbers. */
    public function prefix(): string
    {
        return ($this->isStrict ? 'declare(strict_types=1);' : '')
            . ($this->namespace === '' ? '' : "namespace {$this->namespace};")
            . implode('', $this->uses);
    }

    /** @return array<string, string> class names by lower-case alias */
    public function classAliases(): array
    {
        $aliases = [];
        foreach ($this->uses as $key => $use) {
            if (str_starts_with($key, ' ') && preg_match('/\Ause ([^ ]+) as (.+);\z/', $use, $match) === 1) {
                $aliases[strtolower($match[2])] = $match[1];
            }
        }
        return $aliases;
    }

    private function takeUse(string $list): bool
    {
        $kind = preg_match('/\A(function|const) /', $list, $match) === 1 ? $match[1] : '';
        $list = trim(substr($list, strlen($kind)));
        $base = '';
        if (preg_match('/\A(.+?)\\\\ ?\{(.*)\}\s*\z/s', $list, $group) === 1) {
            [, $base, $list] = $group;
            $base = trim($base) . '\\';
        }
        foreach (array_filter(array_map(trim(...), explode(',', $list))) as $item) {
            $this->add($kind, $base, $item);
        }
        return true;
    }

    private function add(string $kind, string $base, string $item): void
    {
        if (preg_match('/\A(function|const) (.+)\z/', $item, $match) === 1) {
            [, $kind, $item] = $match;
        }
        [$name, $alias] = preg_split('/ as /i', $item) + [1 => null];
        $name = ltrim($base . trim((string) $name), '\\');
        $alias ??= substr((string) strrchr("\\{$name}", '\\'), 1);
        if ($name === $alias && $this->namespace === '') {
            return; // has no effect, and the engine would warn on every later input
        }
        $this->uses["{$kind} " . ($kind === 'const' ? $alias : strtolower($alias))]
            = 'use ' . ($kind === '' ? '' : "{$kind} ") . "{$name} as {$alias};";
    }
}
